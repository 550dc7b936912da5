#include "indexing/indexing.hpp"
#include "ops/scan/scan.mlx.hpp"

namespace reprise::movement {
namespace {

using ops::ScanAttrs;

constexpr const char* kEveryScan[] = {"cumulative_sum", "cumulative_product", "cumulative_max", "cumulative_min"};

std::vector<Num> scanned(std::string_view op, const array& x, std::size_t axis, bool reverse) {
  auto values = elements(x);
  const Shape shape = type_of(x).shape;
  DType d = type_of(x).dtype;
  if (d == bool_ && op == "cumulative_sum") d = int32;
  const auto join = [&](const Num& a, const Num& b) {
    if (op == "cumulative_sum") return plus(a, b, d);
    if (op == "cumulative_product") return times(a, b, d);
    return extreme(a, b, op == "cumulative_max");
  };
  const auto step = [&](const Shape& index) {
    Shape before = index;
    before[axis] += reverse ? 1 : -1;
    if (before[axis] < 0 || before[axis] >= shape[axis]) return;
    Num& value = values[position(index, shape)];
    value = join(values[position(before, shape)], value);
  };
  // In row-major order an axis is walked from its start, whatever the other axes.
  each(shape, [&](const Shape& index, std::size_t) {
    Shape from = index;
    if (reverse) from[axis] = shape[axis] - 1 - index[axis];
    step(from);
  });
  return values;
}

void check(std::string_view op, const array& x, std::int64_t axis, double tolerance = 0) {
  const Shape shape = type_of(x).shape;
  const auto a = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
  for (const bool reverse : {false, true}) {
    EXPECT_TRUE(equals(apply(op, ScanAttrs{axis, reverse}, {x}), shape, scanned(op, x, a, reverse), tolerance))
        << op << " " << name(type_of(x).dtype) << to_string(shape) << " axis " << axis << " reverse " << reverse;
  }
}

TEST(Scan, SpecExamples) {
  const array x = make({3}, {1, 2, 3});
  EXPECT_TRUE(equals(apply("cumulative_sum", ScanAttrs{0, false}, {x}), {3}, {1, 3, 6}));
  EXPECT_TRUE(equals(apply("cumulative_sum", ScanAttrs{0, true}, {x}), {3}, {6, 5, 3}));
  EXPECT_TRUE(equals(apply("cumulative_max", ScanAttrs{0, false}, {make({3}, {1, 3, 2})}), {3}, {1, 3, 3}));
  EXPECT_TRUE(equals(apply("cumulative_max", ScanAttrs{0, true}, {make({3}, {1, 3, 2})}), {3}, {3, 3, 2}));
}

TEST(Scan, B30_NaNStays) {
  for (const DType d : kEveryFloat) {
    const array x = make({4}, {2, kNaN, 1, 9}, d);
    for (const char* op : {"cumulative_max", "cumulative_min"}) {
      EXPECT_TRUE(equals(apply(op, ScanAttrs{0, false}, {x}), {4}, {2, kNaN, kNaN, kNaN})) << op << name(d);
      const double third = std::string_view(op) == "cumulative_max" ? 9 : 1;
      EXPECT_TRUE(equals(apply(op, ScanAttrs{0, true}, {x}), {4}, {kNaN, kNaN, third, 9})) << op << name(d);
    }
    for (const char* op : {"cumulative_sum", "cumulative_product"}) check(op, x, 0);
  }
}

TEST(Scan, B31_LengthOneAxisOfASlice) {
  const array x = mx::slice(iota({1, 10}), {0, 3}, {1, 10}, cpu_stream());
  EXPECT_TRUE(equals(apply("cumulative_sum", ScanAttrs{0, false}, {x}), {1, 7}, {3, 4, 5, 6, 7, 8, 9}));
  for (const char* op : kEveryScan) check(op, x, 0);
}

TEST(Scan, B40_LengthOneAxis) {
  EXPECT_TRUE(equals(apply("cumulative_sum", ScanAttrs{0, false}, {make({1, 2}, {1, 2})}), {1, 2}, {1, 2}));
  for (const char* op : kEveryScan) check(op, make({2, 1, 2}, {1, 2, 3, 4}), 1);
}

TEST(Scan, B01_EmptyAxes) {
  for (const char* op : kEveryScan) {
    for (const DType d : kEveryDType) {
      check(op, make({0}, {}, d), 0);
      check(op, make({2, 0}, {}, d), 1);
      check(op, make({2, 0}, {}, d), 0);
    }
  }
}

TEST(Scan, Bool) {
  const array x = make({4}, {0, 1, 1, 0}, bool_);
  const array sum = apply("cumulative_sum", ScanAttrs{0, false}, {x});
  EXPECT_EQ(sum.dtype(), mx::int32);
  EXPECT_TRUE(equals(sum, {4}, {0, 1, 2, 2}));
  EXPECT_TRUE(equals(apply("cumulative_max", ScanAttrs{0, false}, {x}), {4}, {0, 1, 1, 1}));
  EXPECT_TRUE(equals(apply("cumulative_min", ScanAttrs{0, true}, {x}), {4}, {0, 0, 0, 0}));
  EXPECT_TRUE(equals(apply("cumulative_product", ScanAttrs{0, false}, {make({3}, {1, 1, 0}, bool_)}), {3}, {1, 1, 0}));
  const array many = make({600}, std::vector<double>(600, 1), bool_);
  EXPECT_EQ(elements(apply("cumulative_sum", ScanAttrs{0, false}, {many}))[599].i, 600);
}

TEST(Scan, IntegersWrap) {
  EXPECT_TRUE(
      equals(apply("cumulative_sum", ScanAttrs{0, false}, {make({3}, {100, 100, 100}, int8)}), {3}, {100, -56, 44}));
  EXPECT_TRUE(equals(apply("cumulative_sum", ScanAttrs{0, false}, {make({2}, {200, 100}, uint8)}), {2}, {200, 44}));
  EXPECT_TRUE(
      equals(apply("cumulative_product", ScanAttrs{0, false}, {make({2}, {300, 300}, int16)}), {2}, {300, 24464}));
  for (const DType d : kEveryInteger) {
    const bool has_sign = kind(d) == DTypeKind::signed_integer;
    const array big = has_sign ? make_ints({5}, {(std::int64_t{1} << (8 * size_of(d) - 1)) - 1, 3, -7, 9, 100}, d)
                               : make_unsigned({5}, {UINT64_MAX, 3, 250, UINT64_MAX, 77}, d);
    for (const char* op : kEveryScan) check(op, big, 0);
  }
}

// In their own dtype a bfloat16 count would stop at 256, a float16 one at 2048.
TEST(Scan, HalvesAreCarriedInFloat32) {
  for (const DType d : {float16, bfloat16}) {
    const auto sums =
        elements(apply("cumulative_sum", ScanAttrs{0, false}, {make({5000}, std::vector<double>(5000, 1), d)}));
    EXPECT_NEAR(sums[4999].re, 5000, 5000 * epsilon(d)) << name(d);
    const double factor = 1 + 2 * epsilon(d);
    const auto products =
        elements(apply("cumulative_product", ScanAttrs{0, false}, {make({50}, std::vector<double>(50, factor), d)}));
    EXPECT_NEAR(products[49].re, std::pow(factor, 50), epsilon(d) * std::pow(factor, 50)) << name(d);
  }
}

TEST(Scan, Complex) {
  const array x = make({6}, {1, 1, 0, kNaN, 5, 7}, complex64, {2, 3, 9, 0, kNaN, 0});
  for (const char* op : kEveryScan) check(op, x, 0);
  const auto values = elements(apply("cumulative_max", ScanAttrs{0, false}, {x}));
  EXPECT_EQ(values[2].re, 1);
  EXPECT_EQ(values[2].im, 3);
  for (std::size_t k = 3; k < 6; ++k) EXPECT_TRUE(std::isnan(values[k].re) && std::isnan(values[k].im)) << k;
}

TEST(Scan, EveryDTypeAndLayout) {
  for (const char* op : kEveryScan) {
    for (const DType d : kEveryDType) {
      for (const array& x : operands_like(sample({3, 5, 2}, d))) {
        // Products of five times 9 are beyond what 16 bits hold exactly.
        const double tolerance = op == kEveryScan[1] ? 2 * epsilon(d) : 0;
        for (const std::int64_t axis : {0, 1, 2, -2}) check(op, x, axis, tolerance);
      }
    }
  }
}

// What GPUs need, on the CPU.
TEST(Scan, ComposedExtremum) {
  for (const DType d : {float16, float32, float64, bfloat16, complex64}) {
    const array x = make({2, 4}, {2, kNaN, 1, 9, 3, -5, kInfinity, -kInfinity}, d);
    for (const bool reverse : {false, true}) {
      for (const bool greatest : {false, true}) {
        const array y = mlx_backend::composed_running_extremum(x, ScanAttrs{1, reverse}, greatest, cpu_stream());
        EXPECT_TRUE(equals(y, {2, 4}, scanned(greatest ? "cumulative_max" : "cumulative_min", x, 1, reverse)))
            << name(d);
      }
    }
  }
}

TEST(Scan, LongAxes) {
  std::mt19937 random(11);
  std::vector<double> values;
  for (int k = 0; k < 20000; ++k) values.push_back(static_cast<double>(pick(random, -1000, 1000)) / 1000);
  for (const DType d : {float32, float64}) {
    const array x = make({2, 10000}, values, d);
    check("cumulative_sum", x, 1, 64 * epsilon(d) * 10);
    check("cumulative_max", x, 1);
    check("cumulative_min", x, 0);
  }
}

TEST(Scan, Random) {
  with_seeds(150, [](std::mt19937& random) {
    const Shape shape = pick_shape(random, pick(random, 1, 4), 0, 5);
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto axis = pick(random, -rank, rank - 1);
    const auto d = pick_dtype(random);
    const char* op = kEveryScan[random() % 4];
    const double tolerance = op == kEveryScan[1] ? 4 * epsilon(d) : 0;
    for (const array& x : operands_like(sample(shape, d, random()))) check(op, x, axis, tolerance);
  });
}

TEST(Scan, Errors) {
  EXPECT_FALSE(types_of("cumulative_sum", ScanAttrs{0, false}, {{float32, {}}}).ok());
  EXPECT_FALSE(types_of("cumulative_max", ScanAttrs{2, false}, {{float32, {2, 2}}}).ok());
  EXPECT_FALSE(types_of("cumulative_max", ScanAttrs{-3, false}, {{float32, {2, 2}}}).ok());
}

}  // namespace
}  // namespace reprise::movement
