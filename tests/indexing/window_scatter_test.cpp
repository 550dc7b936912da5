#include "indexing/indexing.hpp"
#include "ops/window/window.hpp"

namespace reprise::movement {
namespace {

using ops::WindowScatterAttrs;

constexpr const char* kBoth[] = {"window_scatter_max", "window_scatter_min"};

Shape window_counts(const Shape& shape, const WindowScatterAttrs& a) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t padded = shape[i] + a.low[i] + a.high[i];
    out.push_back(a.sizes[i] > padded ? 0 : (padded - a.sizes[i]) / a.strides[i] + 1);
  }
  return out;
}

std::vector<Num> scattered(const array& x, const array& source, const array& init, const WindowScatterAttrs& a,
                           bool greatest) {
  const auto values = elements(x);
  const auto sources = elements(source);
  const Num fill = elements(init)[0];
  const Shape shape = type_of(x).shape;
  const DType d = type_of(x).dtype;
  std::vector<Num> out(values.size(), fill);
  each(window_counts(shape, a), [&](const Shape& o, std::size_t w) {
    Num best;
    bool best_inside = false, first_inside = false, any_nan = false;
    std::size_t best_at = 0, first_at = 0;
    each(a.sizes, [&](const Shape& k, std::size_t n) {
      Shape at;
      bool inside = true;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        at.push_back(o[i] * a.strides[i] + k[i] - a.low[i]);
        inside = inside && at[i] >= 0 && at[i] < shape[i];
      }
      const std::size_t place = inside ? position(at, shape) : 0;
      const Num value = inside ? values[place] : fill;
      any_nan = any_nan || value.is_nan();
      const bool better = greatest ? (value.is_nan() ? !best.is_nan() : less(best, value)) : !less(best, value);
      if (n == 0) {
        first_inside = inside;
        first_at = place;
      }
      if (n == 0 || better) {
        best = value;
        best_inside = inside;
        best_at = place;
      }
    });
    if (!greatest && any_nan) {
      best_inside = first_inside;
      best_at = first_at;
    }
    if (best_inside) out[best_at] = plus(out[best_at], sources[w], d);
  });
  return out;
}

void check(const array& x, const array& source, const array& init, const WindowScatterAttrs& a) {
  const TensorType type = type_of(x);
  for (const char* op : kBoth) {
    EXPECT_TRUE(equals(apply(op, a, {x, source, init}), type.shape, scattered(x, source, init, a, op == kBoth[0])))
        << op << " " << to_string(type) << " low " << to_string(a.low) << " high " << to_string(a.high) << " strides "
        << to_string(a.strides) << " sizes " << to_string(a.sizes);
  }
}

WindowScatterAttrs line(std::int64_t low, std::int64_t high, std::int64_t stride, std::int64_t size) {
  return {{low}, {high}, {stride}, {size}};
}

TEST(WindowScatter, SpecExamples) {
  const array x = make({4, 6}, {7, 2, 5, 3, 10, 2, 3, 8, 9, 3, 4, 2, 1, 5, 7, 5, 6, 1, 0, 6, 2, 7, 2, 8});
  const array source = make({2, 2}, {2, 6, 3, 1});
  const array zero = make({}, {0});
  const WindowScatterAttrs a{{0, 0}, {0, 0}, {2, 3}, {2, 3}};
  EXPECT_TRUE(equals(apply("window_scatter_max", a, {x, source, zero}), {4, 6},
                     {0, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(equals(apply("window_scatter_min", a, {x, source, zero}), {4, 6},
                     {0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0}));
  const array two = make({2}, {10, 20});
  EXPECT_TRUE(
      equals(apply("window_scatter_max", line(0, 0, 2, 2), {make({4}, {1, 3, 3, 1}), two, zero}), {4}, {0, 10, 20, 0}));
  EXPECT_TRUE(
      equals(apply("window_scatter_min", line(0, 0, 1, 3), {make({4}, {1, 1, 3, 1}), two, zero}), {4}, {0, 10, 0, 20}));
  EXPECT_TRUE(equals(
      apply("window_scatter_max", line(1, 0, 1, 2), {make({3}, {1, 2, 3}), make({3}, {10, 20, 30}), make({}, {0.5})}),
      {3}, {10.5, 20.5, 30.5}));
}

TEST(WindowScatter, B67_Float64AndSamePadding) {
  const array x = make({4}, {1, 5, 2, 7}, float64);
  EXPECT_TRUE(
      equals(apply("window_scatter_max", line(0, 0, 2, 2), {x, make({2}, {10, 20}, float64), make({}, {0}, float64)}),
             {4}, {0, 10, 0, 20}));
  check(x, iota({4}, float64), make({}, {0}, float64), line(0, 1, 1, 2));
  check(x, iota({4}, float64), make({}, {9}, float64), line(1, 0, 1, 2));
}

TEST(WindowScatter, Q8_NaN) {
  const array source = make({3}, {1, 10, 100});
  const array zero = make({}, {0});
  // Greatest: the first NaN. Least: the window's first element.
  EXPECT_TRUE(equals(apply("window_scatter_max", line(0, 0, 1, 3), {make({5}, {1, kNaN, kNaN, 2, 9}), source, zero}),
                     {5}, {0, 11, 100, 0, 0}));
  EXPECT_TRUE(equals(apply("window_scatter_min", line(0, 0, 1, 3), {make({5}, {1, 0, kNaN, 2, 9}), source, zero}), {5},
                     {1, 10, 100, 0, 0}));
  for (std::size_t place = 0; place < 9; ++place) {
    std::vector<double> values{5, -3, 2, 2, 1, -3, 5, 8, 1};
    values[place] = kNaN;
    for (const DType d : kEveryFloat) {
      check(make({3, 3}, values, d), sample({2, 2}, d), make({}, {0}, d), {{0, 0}, {0, 0}, {1, 1}, {2, 2}});
      check(make({3, 3}, values, d), sample({3, 3}, d), make({}, {1}, d), {{1, 0}, {0, 2}, {1, 1}, {2, 3}});
      check(make({9}, values, d), sample({1}, d), make({}, {1}, d), line(0, 0, 1, 9));
    }
  }
  check(make({3}, {1, 2, 3}), make({4}, {1, 2, 3, 4}), make({}, {kNaN}), line(1, 1, 1, 2));
}

TEST(WindowScatter, PaddingTakesNothing) {
  // init is greater than all: every window that reaches the padding selects it.
  EXPECT_TRUE(
      equals(apply("window_scatter_max", line(1, 1, 1, 2), {iota({3}), iota({4}), make({}, {9})}), {3}, {9, 10, 11}));
  check(iota({3}), iota({4}), make({}, {9}), line(1, 1, 1, 2));
  check(iota({3}), iota({7}), make({}, {1}), line(3, 3, 1, 3));
  check(iota({2, 3}), iota({4, 4}), make({}, {-1}), {{2, 0}, {1, 2}, {1, 1}, {2, 2}});
}

TEST(WindowScatter, EmptyAndScalar) {
  const array init = make({}, {3});
  EXPECT_TRUE(equals(apply(kBoth[0], line(0, 0, 1, 3), {iota({2}), make({0}, {}), init}), {2}, {3, 3}));
  EXPECT_TRUE(
      equals(apply(kBoth[1], line(1, 1, 1, 2), {make({0}, {}), make({1}, {5}), init}), {0}, std::vector<double>{}));
  EXPECT_TRUE(equals(apply(kBoth[0], WindowScatterAttrs{}, {make({}, {1}), make({}, {4}), init}), {}, {7}));
  EXPECT_FALSE(types_of(kBoth[0], line(0, 0, 1, 2), {{float32, {3}}, {float32, {3}}, {float32, {}}}).ok());
  EXPECT_FALSE(types_of(kBoth[0], line(0, 0, 1, 2), {{float32, {3}}, {float32, {2}}, {float32, {1}}}).ok());
  EXPECT_FALSE(types_of(kBoth[0], line(0, 0, 1, 2), {{complex64, {3}}, {float32, {2}}, {float32, {}}}).ok());
}

TEST(WindowScatter, OperandsAreConverted) {
  EXPECT_TRUE(equals(
      apply(kBoth[0], line(0, 0, 2, 2), {make({4}, {1, 3, 3, 1}, uint8), make({2}, {300, 2.9}), make({}, {-4}, int32)}),
      {4}, {252, 251, 254, 252}));
  EXPECT_TRUE(
      equals(apply(kBoth[0], line(0, 0, 2, 2), {make({4}, {0, 1, 0, 0}, bool_), make({2}, {2, 0}), make({}, {0})}), {4},
             {0, 1, 0, 0}));
}

TEST(WindowScatter, HalvesAddUpInFloat32) {
  for (const DType d : {float16, bfloat16}) {
    std::vector<double> values(6000, 0);
    values[3000] = 1;
    const array source = make({3000}, std::vector<double>(3000, 1), d);
    const array y = apply(kBoth[0], line(0, 0, 1, 3001), {make({6000}, values, d), source, make({}, {0}, d)});
    EXPECT_NEAR(elements(y)[3000].re, 3000, 3000 * epsilon(d)) << name(d);
  }
}

TEST(WindowScatter, EveryDTypeAndLayout) {
  const WindowScatterAttrs a{{1, 0, 2}, {0, 1, 1}, {1, 2, 2}, {2, 3, 2}};
  for (const DType d : kEveryDType) {
    if (is_complex(d)) continue;
    const array dense = sample({3, 5, 4}, d);
    const auto sources = operands_like(sample(window_counts({3, 5, 4}, a), d, 3));
    const auto xs = operands_like(dense);
    for (std::size_t k = 0; k < xs.size(); ++k) {
      check(xs[k], sources[(k + 2) % sources.size()], make({}, {1}, d), a);
    }
  }
}

TEST(WindowScatter, ExtremeAttributes) {
  constexpr std::int64_t kMost = 2147483647;
  const array x = make({4}, {1, 2, 3, 4});
  const array zero = make({}, {0});
  EXPECT_TRUE(equals(apply(kBoth[0], line(kMost, 0, kMost, 1), {x, make({2}, {5, 6}), zero}), {4}, {6, 0, 0, 0}));
  EXPECT_TRUE(
      equals(apply(kBoth[0], line(kMost, 0, 1, kMost), {x, make({5}, {1, 2, 3, 4, 5}), zero}), {4}, {2, 3, 4, 5}));
  EXPECT_TRUE(equals(apply(kBoth[1], line(kMost, 0, 1, kMost), {x, make({5}, {1, 2, 3, 4, 5}), make({}, {2.5})}), {4},
                     {2.5 + 14, 2.5, 2.5, 2.5}));
}

TEST(WindowScatter, Random) {
  with_seeds(200, [](std::mt19937& random) {
    const auto rank = pick(random, 1, 4);
    const Shape shape = pick_shape(random, rank, 1, 6);
    WindowScatterAttrs a;
    for (std::int64_t i = 0; i < rank; ++i) {
      a.low.push_back(pick(random, 0, 3));
      a.high.push_back(pick(random, 0, 3));
      a.strides.push_back(pick(random, 1, 3));
      a.sizes.push_back(pick(random, 1, shape[static_cast<std::size_t>(i)] + a.low.back() + a.high.back()));
    }
    DType d = pick_dtype(random);
    if (is_complex(d)) d = float64;
    const array source = sample(window_counts(shape, a), d, random());
    const array init = sample({}, d, random());
    for (const array& x : operands_like(sample(shape, d, random()))) check(x, source, init, a);
  });
}

}  // namespace
}  // namespace reprise::movement
