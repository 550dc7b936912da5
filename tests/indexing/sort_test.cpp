#include <algorithm>
#include <numeric>

#include "indexing/indexing.hpp"
#include "ops/shape/shape.hpp"
#include "ops/sort/sort.mlx.hpp"

namespace reprise::movement {
namespace {

using ops::SortAttrs;

struct Sorted {
  std::vector<Num> values;
  std::vector<Num> order;
};

Sorted sorted(const array& x, std::size_t axis, bool ascending) {
  const auto values = elements(x);
  const Shape shape = type_of(x).shape;
  Sorted out{values, std::vector<Num>(values.size())};
  Shape rows = shape;
  rows[axis] = std::min<std::int64_t>(shape[axis], 1);
  each(rows, [&](const Shape& row, std::size_t) {
    const auto at = [&](std::int64_t k) {
      Shape index = row;
      index[axis] = k;
      return position(index, shape);
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(shape[axis]));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      const Num& a = ascending ? values[at(i)] : values[at(j)];
      const Num& b = ascending ? values[at(j)] : values[at(i)];
      return !a.is_nan() && (b.is_nan() || less(a, b));
    });
    for (std::int64_t k = 0; k < shape[axis]; ++k) {
      const std::int64_t from = order[static_cast<std::size_t>(k)];
      out.values[at(k)] = values[at(from)];
      out.order[at(k)].i = from;
    }
  });
  return out;
}

void check(const array& x, std::int64_t axis) {
  const Shape shape = type_of(x).shape;
  for (const bool ascending : {true, false}) {
    const SortAttrs attrs{axis, ascending};
    const Sorted wanted = sorted(
        x, static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis), ascending);
    EXPECT_TRUE(equals(apply("sort", attrs, {x}), shape, wanted.values))
        << name(type_of(x).dtype) << to_string(shape) << " axis " << axis << " ascending " << ascending;
    EXPECT_TRUE(equals(apply("argsort", attrs, {x}), shape, wanted.order))
        << name(type_of(x).dtype) << to_string(shape) << " axis " << axis << " ascending " << ascending;
  }
}

TEST(Sort, SpecExamples) {
  const array x = make({4}, {3, 1, kNaN, 2});
  EXPECT_TRUE(equals(apply("sort", SortAttrs{0, true}, {x}), {4}, {1, 2, 3, kNaN}));
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, true}, {x}), {4}, {1, 3, 0, 2}));
  EXPECT_TRUE(equals(apply("sort", SortAttrs{0, false}, {x}), {4}, {kNaN, 3, 2, 1}));
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, false}, {x}), {4}, {2, 0, 3, 1}));
  const array y = make({4}, {2, 1, 2, 1});
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, true}, {y}), {4}, {1, 3, 0, 2}));
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, false}, {y}), {4}, {0, 2, 1, 3}));
}

TEST(Sort, Q6_S02_TrueDescendingOrder) {
  EXPECT_TRUE(equals(apply("sort", SortAttrs{0, false}, {make({4}, {0, 1, 2, 255}, uint8)}), {4}, {255, 2, 1, 0}));
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, false}, {make({3}, {0, 1, 2}, uint8)}), {3}, {2, 1, 0}));
  EXPECT_TRUE(equals(apply("sort", SortAttrs{0, false}, {make({2}, {-128, 5}, int8)}), {2}, {5, -128}));
  EXPECT_TRUE(equals(apply("sort", SortAttrs{0, false}, {make({4}, {0, 1, 0, 1}, bool_)}), {4}, {1, 1, 0, 0}));
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, false}, {make({4}, {0, 1, 0, 1}, bool_)}), {4}, {1, 3, 0, 2}));
  check(make_ints({4}, {5, INT64_MIN, INT64_MAX, -1}, int64), 0);
  check(make_unsigned({4}, {5, UINT64_MAX, std::uint64_t{1} << 63, 0}, uint64), 0);
  check(make({5}, {0, -32768, 32767, -1, 1}, int16), 0);
  check(make({5}, {0, -2147483648.0, 2147483647, -1, 1}, int32), 0);
}

TEST(Sort, B33_B34_NaN) {
  for (const DType d : kEveryFloat) {
    const array x = make({5}, {3, kNaN, -1, kNaN, 2}, d);
    EXPECT_TRUE(equals(apply("sort", SortAttrs{0, true}, {x}), {5}, {-1, 2, 3, kNaN, kNaN}));
    EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, true}, {x}), {5}, {2, 4, 0, 1, 3}));
    EXPECT_TRUE(equals(apply("sort", SortAttrs{0, false}, {x}), {5}, {kNaN, kNaN, 3, 2, -1}));
    EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, false}, {x}), {5}, {1, 3, 0, 4, 2}));
    EXPECT_TRUE(equals(apply("sort", SortAttrs{0, true}, {make({4}, {3, kNaN, -1, 2}, d)}), {4}, {-1, 2, 3, kNaN}));
    check(make({8}, {kInfinity, -kNaN, -kInfinity, kNaN, 0, -0.0, kInfinity, -1}, d), 0);
  }
}

TEST(Sort, NegativeZeroEqualsZero) {
  for (const DType d : kEveryFloat) {
    const array x = make({4}, {0.0, -0.0, 0.0, -0.0}, d);
    for (const bool ascending : {true, false}) {
      EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, ascending}, {x}), {4}, {0, 1, 2, 3})) << name(d);
      const auto values = elements(apply("sort", SortAttrs{0, ascending}, {x}));
      for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(std::signbit(values[k].re), k % 2 == 1) << name(d);
    }
  }
}

TEST(Sort, Denormals) {
  check(make({5}, {0x1p-149, -0x1p-149, 0, 0x1p-140, -0x1p-140}), 0);
  check(make({4}, {0x1p-1074, -0x1p-1074, 0, -0x1p-1060}, float64), 0);
  check(make({4}, {0x1p-24, -0x1p-24, 0, -0x1p-20}, float16), 0);
}

TEST(Sort, Complex) {
  const array x = make({7}, {1, 1, kNaN, 0, 1, -0.0, 5}, complex64, {2, -1, 0, 3, -1, -3, kNaN});
  check(x, 0);
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, true}, {x}), {7}, {5, 3, 1, 4, 0, 2, 6}));
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, false}, {x}), {7}, {2, 6, 0, 1, 4, 3, 5}));
}

TEST(Sort, B36_ReversedView) {
  const array x = make({2, 3}, {3, 1, 2, 9, 7, 8});
  const array reversed = apply("reverse", ops::AxesAttrs{{1}}, {x});
  EXPECT_TRUE(equals(apply("sort", SortAttrs{1, true}, {reversed}), {2, 3}, {1, 2, 3, 7, 8, 9}));
  check(reversed, 1);
  check(reversed, 0);
}

TEST(Sort, B37_StridedView) {
  const array x = make({2, 4}, {9, 0, 7, 0, 4, 0, 6, 0}, int32);
  const array columns = mx::slice(x, {0, 0}, {2, 4}, {1, 2}, cpu_stream());
  EXPECT_TRUE(equals(apply("sort", SortAttrs{0, true}, {columns}), {2, 2}, {4, 6, 9, 7}));
}

TEST(Sort, B01_EmptyAndShortAxes) {
  const std::vector<double> none;
  for (const DType d : kEveryDType) {
    for (const bool ascending : {true, false}) {
      EXPECT_TRUE(equals(apply("sort", SortAttrs{0, ascending}, {make({0}, {}, d)}), {0}, none));
      EXPECT_TRUE(equals(apply("argsort", SortAttrs{1, ascending}, {make({2, 0}, {}, d)}), {2, 0}, none));
      EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, ascending}, {make({2, 0}, {}, d)}), {2, 0}, none));
    }
    check(sample({3, 1}, d), 1);
    check(sample({1}, d), -1);
  }
  EXPECT_TRUE(equals(apply("argsort", SortAttrs{0, true}, {make({1}, {kNaN})}), {1}, {0}));
}

TEST(Sort, EveryDTypeAndLayout) {
  for (const DType d : kEveryDType) {
    for (const array& x : operands_like(sample({3, 7, 4}, d))) {
      for (const std::int64_t axis : {0, 1, 2, -1}) check(x, axis);
    }
  }
}

// Few distinct values over a long axis, with NaN among them: what an unstable sort would mix.
TEST(Sort, StableOverLongAxes) {
  for (const DType d : kEveryDType) {
    const array dense = sample({2, 3000}, d, 5);
    const array marks = sample({2, 3000}, int8, 6);
    const array nine = mlx_backend::scalar(9, mx::int8);
    const bool has_nan = is_floating(d) || is_complex(d);
    const array x = has_nan ? mx::where(mx::equal(marks, nine, cpu_stream()), mlx_backend::scalar(kNaN, dense.dtype()),
                                        dense, cpu_stream())
                            : dense;
    check(x, 1);
  }
}

// What GPUs need, on the CPU: nothing but sorts of distinct integers.
TEST(Sort, WithoutAStableArgsort) {
  for (const DType d : kEveryDType) {
    const array x = sample({2, 500}, d, 7);
    for (const bool ascending : {true, false}) {
      EXPECT_TRUE(equals(mlx_backend::stable_order(x, 1, ascending, false, cpu_stream()), {2, 500},
                         sorted(x, 1, ascending).order))
          << name(d);
    }
  }
  const array wide = make_ints({6}, {INT64_MIN, std::int64_t{1} << 32, 1, -1, (std::int64_t{1} << 32) + 1, 0}, int64);
  EXPECT_TRUE(equals(mlx_backend::stable_order(wide, 0, true, false, cpu_stream()), {6}, {0, 3, 5, 2, 1, 4}));
}

TEST(Sort, Random) {
  with_seeds(120, [](std::mt19937& random) {
    const Shape shape = pick_shape(random, pick(random, 1, 4), 0, 6);
    const auto axis =
        pick(random, -static_cast<std::int64_t>(shape.size()), static_cast<std::int64_t>(shape.size()) - 1);
    for (const array& x : operands_like(sample(shape, pick_dtype(random), random()))) check(x, axis);
  });
}

TEST(Sort, Errors) {
  EXPECT_FALSE(types_of("sort", SortAttrs{0, true}, {{float32, {}}}).ok());
  EXPECT_FALSE(types_of("argsort", SortAttrs{2, true}, {{float32, {2, 2}}}).ok());
  EXPECT_FALSE(types_of("argsort", SortAttrs{-3, true}, {{float32, {2, 2}}}).ok());
}

}  // namespace
}  // namespace reprise::movement
