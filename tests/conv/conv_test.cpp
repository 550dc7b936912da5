// conv_general against plain loops in double.
#include "ops/conv/conv.hpp"

#include <random>

#include "run_op.hpp"

namespace reprise::movement {
namespace {

using Ints = std::vector<std::int64_t>;

struct Setting {
  Ints strides, low, high, kernel_dilation, input_dilation;
  std::int64_t groups = 1;
};

Setting plain(std::size_t n) { return {Ints(n, 1), Ints(n, 0), Ints(n, 0), Ints(n, 1), Ints(n, 1), 1}; }

Builder::Attrs attributes(const Setting& s) {
  return {{"strides", s.strides},
          {"low", s.low},
          {"high", s.high},
          {"kernel_dilation", s.kernel_dilation},
          {"input_dilation", s.input_dilation},
          {"groups", s.groups}};
}

array conv(const array& input, const array& weight, const Setting& s) {
  return run_one("conv_general", attributes(s), {input, weight});
}

std::vector<double> values(const array& x) {
  std::vector<double> out;
  for (const Num& n : elements(x)) out.push_back(is_floating(type_of(x).dtype) ? n.re : static_cast<double>(n.i));
  return out;
}

struct Expected {
  Shape shape;
  std::vector<double> values;
};

// The definition, element by element.
Expected reference(const array& input, const array& weight, const Setting& s) {
  const std::size_t n = s.strides.size();
  const Shape in = type_of(input).shape, w = type_of(weight).shape;
  const std::vector<double> x = values(input), k = values(weight);
  Expected out;
  out.shape.push_back(in[0]);
  Shape taps;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t spread = in[i + 1] == 0 ? 0 : (in[i + 1] - 1) * s.input_dilation[i] + 1;
    const std::int64_t reach = (w[i + 1] - 1) * s.kernel_dilation[i] + 1;
    const std::int64_t room = spread + s.low[i] + s.high[i] - reach;
    out.shape.push_back(room < 0 ? 0 : room / s.strides[i] + 1);
    taps.push_back(w[i + 1]);
  }
  out.shape.push_back(w[0]);
  const std::int64_t channels = w.back();
  taps.push_back(channels);
  const std::int64_t per_group = w[0] / s.groups;
  each(out.shape, [&](const Shape& at, std::size_t) {
    double sum = 0;
    each(taps, [&](const Shape& tap, std::size_t) {
      Shape from{at[0]};
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t p = at[i + 1] * s.strides[i] + tap[i] * s.kernel_dilation[i] - s.low[i];
        if (p < 0 || p % s.input_dilation[i] != 0 || p / s.input_dilation[i] >= in[i + 1]) return;
        from.push_back(p / s.input_dilation[i]);
      }
      from.push_back(at.back() / per_group * channels + tap.back());
      Shape by{at.back()};
      by.insert(by.end(), tap.begin(), tap.end());
      sum += x[position(from, in)] * k[position(by, w)];
    });
    out.values.push_back(sum);
  });
  return out;
}

TEST(Conv, SpecExamples) {
  const array x = make({1, 4, 1}, {1, 2, 3, 4}), w = make({1, 2, 1}, {1, 10});
  Setting s = plain(1);
  EXPECT_TRUE(equals(conv(x, w, s), {1, 3, 1}, {21, 32, 43}));
  s.strides = {2};
  s.low = {1};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 2, 1}, {10, 32}));
  s = plain(1);
  s.kernel_dilation = {2};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 2, 1}, {31, 42}));
  s = plain(1);
  s.high = {1};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 4, 1}, {21, 32, 43, 4}));
  s = plain(1);
  s.low = {-1};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 2, 1}, {32, 43}));
  s = plain(1);
  s.input_dilation = {2};
  EXPECT_TRUE(equals(conv(make({1, 3, 1}, {1, 2, 3}), w, s), {1, 4, 1}, {1, 20, 2, 30}));
  s = plain(1);
  s.groups = 2;
  EXPECT_TRUE(equals(conv(make({1, 3, 2}, {1, 2, 3, 4, 5, 6}), make({2, 2, 1}, {1, 10, 1, 10}), s), {1, 2, 2},
                     {31, 42, 53, 64}));
}

TEST(Conv, B63_UnevenPadding) {
  for (const DType d : kEveryFloat) {
    const array x = make({1, 4, 1}, {1, 2, 3, 4}, d), w = make({1, 2, 1}, {1, 1}, d);
    Setting s = plain(1);
    s.strides = {2};
    s.low = {1};
    EXPECT_TRUE(equals(conv(x, w, s), {1, 2, 1}, {1, 5}));
    s.low = {0};
    s.high = {1};
    EXPECT_TRUE(equals(conv(x, w, s), {1, 2, 1}, {3, 7}));
  }
}

TEST(Conv, B64_ShapeArithmetic) {
  const array x = iota({1, 8, 1}), w = iota({1, 3, 1});
  Setting s = plain(1);
  s.kernel_dilation = {1073741824};
  EXPECT_NE(error_of("conv_general", attributes(s), {x, w}).find("the kernel reaches over 2147483649"),
            std::string::npos);
  // Valid, and beyond 32 bits in between: only the middle tap of the two positions meets an element.
  s.low = {1073741824};
  s.high = {1073741824};
  s.strides = {7};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 2, 1}, {0, 7}));
  // Padding that nobody reads is not written out.
  s = plain(1);
  s.low = {2000000000};
  s.high = {2000000000};
  s.strides = {2000000000};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 3, 1}, {0, 5, 0}));
  s.groups = 2147483647;
  EXPECT_NE(error_of("conv_general", attributes(s), {x, w}).find("not multiples of 2147483647 groups"),
            std::string::npos);
}

TEST(Conv, B66_ManyPositions) {
  const mx::Stream cpu = mx::default_stream(mx::Device::cpu);
  const array out = conv(mx::ones({1, 70001, 1}, mx::float32, cpu), mx::ones({1, 2, 1}, mx::float32, cpu), plain(1));
  ASSERT_EQ(out.size(), 70000u);
  for (const Num& n : elements(out)) ASSERT_EQ(n.re, 2);
}

TEST(Conv, OwnStream) {
  for (const DType d : kEveryFloat) {
    for (const std::int64_t dilation : {1, 2}) {
      const ops::ConvAttrs attrs{{1, 2}, {-1, 1}, {0, 2}, {1, dilation}, {dilation, 1}, 1};
      expect_own_stream("conv_general", &attrs, {{d, {2, 5, 6, 2}}, {d, {3, 2, 2, 2}}});
    }
  }
}

// Small integers: every sum is exact in every dtype.
TEST(Conv, RandomAgainstLoops) {
  constexpr unsigned kSeed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int run = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto n = static_cast<std::size_t>(pick(1, 3));
    Setting s = plain(n);
    s.groups = pick(0, 2) == 0 ? pick(2, 3) : 1;
    const std::int64_t channels = pick(1, 3);
    Shape in{pick(1, 2)}, w{s.groups * pick(1, 2)};
    const bool dilates = pick(0, 1) == 0;
    for (std::size_t i = 0; i < n; ++i) {
      in.push_back(pick(1, n == 3 ? 4 : 7));
      w.push_back(pick(1, 3));
      s.strides[i] = pick(1, 3);
      s.low[i] = pick(-2, 3);
      s.high[i] = pick(-2, 3);
      if (dilates) s.kernel_dilation[i] = pick(1, 3);
      if (dilates) s.input_dilation[i] = pick(1, 3);
    }
    in.push_back(channels * s.groups);
    w.push_back(channels);
    const DType d = kEveryFloat[pick(0, 3)];
    const TensorType types[] = {{d, in}, {d, w}};
    const ops::OpDef& op = *ops::find_def("conv_general");
    const ops::ConvAttrs attrs{s.strides, s.low, s.high, s.kernel_dilation, s.input_dilation, s.groups};
    if (!op.infer({op, types}, &attrs)) continue;
    ++run;
    const auto inputs = layouts(sample(in, d, static_cast<unsigned>(trial) + 1));
    const auto weights = layouts(sample(w, d, static_cast<unsigned>(trial) + 1000));
    const Expected wanted = reference(inputs[0], weights[0], s);
    const double tolerance = d == bfloat16 ? 0x1p-8 : d == float16 ? 0x1p-11 : 0;
    EXPECT_TRUE(equals(conv(inputs[0], weights[0], s), wanted.shape, wanted.values, tolerance)) << "trial " << trial;
    const std::size_t layout = static_cast<std::size_t>(trial) % inputs.size();
    EXPECT_TRUE(
        equals(conv(inputs[layout], weights[weights.size() - 1 - layout], s), wanted.shape, wanted.values, tolerance))
        << "trial " << trial << ", layout " << layout;
  }
  EXPECT_GT(run, 200);
}

TEST(Conv, PromotesAndRefuses) {
  const array x = make({1, 4, 1}, {1, 2, 3, 4}, int32);
  EXPECT_TRUE(equals(conv(x, make({1, 2, 1}, {1, 10}, float16), plain(1)), {1, 3, 1}, {21, 32, 43}));
  EXPECT_EQ(type_of(conv(x, make({1, 2, 1}, {1, 10}, float16), plain(1))).dtype, float16);
  EXPECT_EQ(type_of(conv(make({1, 2, 1}, {1, 1}, float16), make({1, 2, 1}, {1, 10}, bfloat16), plain(1))).dtype,
            float32);
  EXPECT_NE(error_of("conv_general", attributes(plain(1)), {x, x}).find("wanted a floating dtype"), std::string::npos);
}

// Each single term is lost when the sum is kept in 16 bits.
TEST(Conv, HalfSumsInFloat32) {
  for (const DType d : {float16, bfloat16}) {
    std::vector<double> taps(4097, 1);
    taps[0] = 4096;
    const array ones = make({1, 1, 4097}, std::vector<double>(4097, 1), d);
    Setting s = plain(1);
    EXPECT_TRUE(equals(conv(ones, make({1, 1, 4097}, taps, d), s), {1, 1, 1}, {8192}));
    s.high = {1};
    s.kernel_dilation = {2};  // by the other way
    EXPECT_TRUE(equals(conv(ones, make({1, 1, 4097}, taps, d), s), {1, 2, 1}, {8192, 0}));
  }
}

TEST(Conv, Float64KeepsItsBits) {
  const array x = make({1, 2, 1}, {1, 0x1p-40}, float64);
  EXPECT_TRUE(equals(conv(x, make({1, 2, 1}, {1, 1}, float64), plain(1)), {1, 1, 1}, {1 + 0x1p-40}));
}

TEST(Conv, NothingToCompute) {
  for (const DType d : kEveryFloat) {
    const auto zeros = [d](Shape shape) {
      const auto size = static_cast<std::size_t>(count(shape));
      return make(shape, std::vector<double>(size, 1), d);
    };
    EXPECT_TRUE(equals(conv(zeros({0, 4, 1}), zeros({1, 2, 1}), plain(1)), {0, 3, 1}, {}));
    EXPECT_TRUE(equals(conv(zeros({1, 3, 0}), zeros({2, 2, 0}), plain(1)), {1, 2, 2}, {0, 0, 0, 0}));
    EXPECT_TRUE(equals(conv(zeros({1, 3, 1}), zeros({0, 2, 1}), plain(1)), {1, 2, 0}, {}));
    EXPECT_TRUE(equals(conv(zeros({1, 1, 1}), zeros({1, 2, 1}), plain(1)), {1, 0, 1}, {}));
    Setting s = plain(1);
    s.low = {1};
    s.high = {1};
    EXPECT_TRUE(equals(conv(zeros({1, 0, 1}), zeros({1, 1, 1}), s), {1, 2, 1}, {0, 0}));
    s.low = {-1};
    s.high = {-2};
    EXPECT_TRUE(equals(conv(zeros({1, 3, 1}), zeros({1, 1, 1}), s), {1, 0, 1}, {}));
    EXPECT_TRUE(equals(conv(zeros({2, 4, 1}), zeros({1, 1, 1}), s), {2, 1, 1}, {1, 1}));
    s.high = {4};
    s.low = {-5};  // all of the input is cut, padding remains
    EXPECT_TRUE(equals(conv(zeros({1, 3, 1}), zeros({1, 1, 1}), s), {1, 2, 1}, {0, 0}));
  }
}

TEST(Conv, NonFiniteElementsStayInReach) {
  const array x = make({1, 5, 1}, {1, kNaN, 1, 1, kInfinity}), w = make({1, 2, 1}, {1, 1});
  EXPECT_TRUE(equals(conv(x, w, plain(1)), {1, 4, 1}, {kNaN, kNaN, 2, kInfinity}));
  Setting s = plain(1);
  s.input_dilation = {2};
  EXPECT_TRUE(equals(conv(x, w, s), {1, 8, 1}, {1, kNaN, kNaN, 1, 1, 1, 1, kInfinity}));
}

}  // namespace
}  // namespace reprise::movement
