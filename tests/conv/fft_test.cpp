// The transforms against the definition in double.
#include "ops/fft/fft.hpp"

#include <complex>
#include <numbers>

#include "run_op.hpp"

namespace reprise::movement {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> values(const array& x) {
  std::vector<Complex> out;
  const DType d = type_of(x).dtype;
  for (const Num& n : elements(x)) {
    out.emplace_back(d == bool_ || is_integer(d) ? static_cast<double>(n.i) : n.re, n.im);
  }
  return out;
}

array fft(const array& x, std::int64_t axis, std::int64_t length, bool inverse = false) {
  return run_one(inverse ? "ifft" : "fft", {{"axis", axis}, {"length", length}}, {x});
}

struct Transformed {
  Shape shape;
  std::vector<Complex> values;
};

Transformed reference(const Transformed& x, std::size_t axis, std::int64_t length, bool inverse) {
  Transformed out{x.shape, {}};
  out.shape[axis] = length;
  const double sign = inverse ? 1 : -1;
  each(out.shape, [&](const Shape& at, std::size_t) {
    Complex sum = 0;
    Shape from = at;
    for (std::int64_t k = 0; k < std::min(length, x.shape[axis]); ++k) {
      from[axis] = k;
      // Reduced first: the angle of a large product would lose bits.
      const auto turns = static_cast<double>(k * at[axis] % length) / static_cast<double>(length);
      sum += x.values[position(from, x.shape)] * std::polar(1.0, sign * 2 * std::numbers::pi * turns);
    }
    out.values.push_back(inverse ? sum / static_cast<double>(length) : sum);
  });
  return out;
}

// Relative to the root mean square of the outputs, as rounding errors of a transform are.
testing::AssertionResult close_to(const array& seen, const Transformed& wanted, double tolerance = 1e-6) {
  if (type_of(seen) != TensorType{complex64, wanted.shape}) {
    return testing::AssertionFailure() << to_string(type_of(seen)) << ", wanted " << to_string(wanted.shape);
  }
  const auto got = values(seen);
  double size = 0;
  for (const Complex& z : wanted.values) size += std::norm(z);
  size = std::max(1e-3, std::sqrt(size / static_cast<double>(std::max<std::size_t>(1, got.size()))));
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (!(std::abs(got[k] - wanted.values[k]) <= tolerance * size)) {
      return testing::AssertionFailure() << "element " << k << ": " << got[k] << ", wanted " << wanted.values[k];
    }
  }
  return testing::AssertionSuccess();
}

Transformed of(const array& x) { return {type_of(x).shape, values(x)}; }

TEST(Fft, SpecExamples) {
  const array x = make({4}, {1, 2, 3, 4});
  EXPECT_TRUE(close_to(fft(x, 0, 4), {{4}, {10, {-2, 2}, -2, {-2, -2}}}));
  EXPECT_TRUE(close_to(fft(x, 0, 2), {{2}, {3, -1}}));
  EXPECT_TRUE(close_to(fft(make({2}, {1, 2}), 0, 4), {{4}, {3, {1, -2}, -1, {1, 2}}}));
  EXPECT_TRUE(close_to(fft(make({4}, {1, 0, 0, 0}), 0, 4, true), {{4}, {.25, .25, .25, .25}}));
}

TEST(Fft, B69_Lengths6144And8193) {
  for (const std::int64_t n : {6144, 8193}) {
    std::vector<double> impulse(static_cast<std::size_t>(n), 0);
    impulse[1] = 1;
    const array x = make({n}, impulse);
    const array y = fft(x, 0, n);
    for (const Complex& z : values(y)) ASSERT_NEAR(std::abs(z), 1, 1e-5);
    const auto back = values(fft(y, 0, n, true));
    for (std::size_t k = 0; k < back.size(); ++k) ASSERT_LT(std::abs(back[k] - impulse[k]), 1e-5) << n << " " << k;
  }
}

TEST(Fft, B70_Scalars) {
  for (const char* name : {"fft", "ifft"}) {
    EXPECT_NE(error_of(name, {{"axis", 0}, {"length", 4}}, {make({}, {1}, complex64)}).find("x is c64[]"),
              std::string::npos);
  }
  const Builder::Attrs two{{"axis0", 0}, {"axis1", 1}, {"length0", 2}, {"length1", 2}};
  EXPECT_NE(error_of("fft2", two, {make({2}, {1, 2})}).find("x is f32[2]"), std::string::npos);
}

TEST(Fft, B71_OtherAxis) {
  const array x = make({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(close_to(fft(x, 0, 2), {{2, 2}, {4, 6, -2, -2}}));
  EXPECT_TRUE(close_to(fft(x, -2, 2), {{2, 2}, {4, 6, -2, -2}}));
  EXPECT_TRUE(close_to(fft(x, 1, 2), {{2, 2}, {3, -1, 7, -1}}));
}

TEST(Fft, OwnStream) {
  for (const DType d : kEveryDType) {
    for (const std::int64_t length : {2, 3, 7}) {
      const ops::FftAttrs attrs{0, length};
      expect_own_stream("fft", &attrs, {{d, {3, 2}}});
      expect_own_stream("ifft", &attrs, {{d, {3, 2}}});
      const ops::Fft2Attrs both{1, 0, length, 3};
      expect_own_stream("fft2", &both, {{d, {3, 2}}});
      expect_own_stream("ifft2", &both, {{d, {3, 2}}});
    }
  }
}

TEST(Fft, EveryDTypeAxisAndLayout) {
  unsigned seed = 1;
  for (const DType d : kEveryDType) {
    const array dense = sample({3, 4, 5}, d, ++seed);
    for (const array& x : layouts(dense)) {
      for (const std::int64_t axis : {0, 1, 2}) {
        for (const std::int64_t length : {1, 2, 4, 7}) {
          for (const bool inverse : {false, true}) {
            const auto wanted = reference(of(dense), static_cast<std::size_t>(axis), length, inverse);
            EXPECT_TRUE(close_to(fft(x, axis, length, inverse), wanted)) << name(d) << " " << axis << " " << length;
          }
        }
      }
    }
  }
}

TEST(Fft, Lengths) {
  for (const std::int64_t n : {1, 2, 3, 5, 16, 17, 31, 97, 100, 127, 243, 251, 360, 509, 1021}) {
    const array x = sample({n}, complex64, static_cast<unsigned>(n));
    const array y = fft(x, 0, n);
    EXPECT_TRUE(close_to(y, reference(of(x), 0, n, false))) << n;
    EXPECT_TRUE(close_to(fft(y, 0, n, true), of(x))) << n;
  }
}

TEST(Fft, TwoAxes) {
  for (const auto& [axis0, axis1, length0, length1] : std::vector<std::array<std::int64_t, 4>>{
           {0, 1, 3, 4}, {1, 0, 5, 2}, {2, 0, 1, 7}, {-1, -3, 4, 4}, {1, 2, 6, 3}}) {
    const array dense = sample({3, 4, 5}, complex64, 7);
    for (const array& x : layouts(dense)) {
      for (const bool inverse : {false, true}) {
        const array y = run_one(inverse ? "ifft2" : "fft2",
                                {{"axis0", axis0}, {"axis1", axis1}, {"length0", length0}, {"length1", length1}}, {x});
        const auto first = reference(of(dense), static_cast<std::size_t>((axis0 + 3) % 3), length0, inverse);
        EXPECT_TRUE(close_to(y, reference(first, static_cast<std::size_t>((axis1 + 3) % 3), length1, inverse)));
      }
    }
  }
}

TEST(Fft, NothingToTransform) {
  EXPECT_TRUE(close_to(fft(make({0, 3}, {}), 1, 4), {{0, 4}, {}}));
  EXPECT_TRUE(close_to(fft(make({2, 0}, {}), 1, 3), {{2, 3}, std::vector<Complex>(6)}));
  EXPECT_TRUE(close_to(fft(make({2, 0}, {}), 0, 3, true), {{3, 0}, {}}));
}

TEST(Fft, NarrowOperands) {
  // Converted before the transform: sums of 16-bit numbers go beyond their range.
  EXPECT_TRUE(close_to(fft(make({4}, {60000, 60000, 60000, 60000}, float16), 0, 4), {{4}, {240000, 0, 0, 0}}));
  EXPECT_TRUE(close_to(fft(make({3}, {200, 200, 200}, uint8), 0, 3), {{3}, {600, 0, 0}}));
  EXPECT_TRUE(close_to(fft(make({2}, {1, 1}, bool_), 0, 2), {{2}, {2, 0}}));
  EXPECT_TRUE(close_to(fft(make_unsigned({1}, {std::uint64_t{1} << 63}, uint64), 0, 1), {{1}, {0x1p63}}));
}

}  // namespace
}  // namespace reprise::movement
