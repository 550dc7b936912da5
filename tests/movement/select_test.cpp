#include "ops/select/select.hpp"

#include <algorithm>

#include "movement/movement.hpp"

namespace reprise::movement {
namespace {

using ops::AxesAttrs;
using ops::AxisAttrs;

TEST(Select, EveryPredicate) {
  for (const DType d : kEveryDType) {
    const array pred = make({2}, {0, 1}, d);
    EXPECT_TRUE(equals(apply("select", {pred, make({}, {5}), make({}, {7})}), {2}, {7, 5})) << name(d);
  }
  for (const DType d : kEveryFloat) {
    const array pred = make({4}, {kNaN, -0.0, 0.25, 0}, d);
    EXPECT_TRUE(equals(apply("select", {pred, make({}, {1}), make({}, {0})}), {4}, {1, 0, 1, 0})) << name(d);
  }
  const array pred = make({3}, {0, 0, -0.0}, complex64, {1, 0, -0.0});
  EXPECT_TRUE(equals(apply("select", {pred, make({}, {1}), make({}, {0})}), {3}, {1, 0, 0}));
}

TEST(Select, EveryPairPromotes) {
  for (const DType t : kEveryDType) {
    for (const DType f : kEveryDType) {
      const array y = apply("select", {make({2, 1}, {1, 0}, bool_), make({3}, {0, 1, 1}, t), make({}, {1}, f)});
      EXPECT_EQ(from_mlx(y.dtype()), promote(t, f));
      EXPECT_TRUE(equals(y, {2, 3}, {0, 1, 1, 1, 1, 1})) << name(t) << name(f);
    }
  }
}

TEST(Select, EveryDTypeAndLayout) {
  for (const DType d : kEveryDType) {
    const array on_true = sample({2, 3}, d, 1);
    const array on_false = sample({2, 3}, d, 2);
    const array pred = sample({2, 3}, bool_, 3);
    std::vector<Num> wanted;
    for (std::size_t k = 0; k < 6; ++k) wanted.push_back(elements(elements(pred)[k].i != 0 ? on_true : on_false)[k]);
    const auto ps = layouts(pred);
    const auto ts = layouts(on_true);
    const auto fs = layouts(on_false);
    for (std::size_t k = 0; k < ps.size(); ++k) {
      const array y = apply("select", {ps[k], ts[(k + 1) % ts.size()], fs[(k + 2) % fs.size()]});
      EXPECT_TRUE(equals(y, {2, 3}, wanted)) << name(d);
    }
  }
  EXPECT_TRUE(
      equals(apply("select", {make({0}, {}, bool_), make({1}, {1}), make({}, {2})}), {0}, std::vector<double>{}));
}

TEST(Clip, EveryDTypeAndLayout) {
  for (const DType d : kEveryDType) {
    const array x = sample({3, 4}, d);
    const array low = make({}, {1}, d);
    const array high = make({4}, {5, 0, 3, 1}, d);
    std::vector<Num> wanted;
    const auto vx = elements(x);
    const auto vh = elements(high);
    for (std::size_t k = 0; k < 12; ++k) {
      const Num raised = less(vx[k], num(1, d)) ? num(1, d) : vx[k];
      wanted.push_back(less(vh[k % 4], raised) ? vh[k % 4] : raised);  // high wins
    }
    for (const array& view : layouts(x)) {
      EXPECT_TRUE(equals(apply("clip", {view, low, high}), {3, 4}, wanted)) << name(d);
    }
  }
}

TEST(Clip, NaNAndPromotion) {
  for (const DType d : kEveryFloat) {
    const array x = make({3}, {kNaN, kInfinity, -kInfinity}, d);
    EXPECT_TRUE(equals(apply("clip", {x, make({}, {-1}, d), make({}, {2}, d)}), {3}, {kNaN, 2, -1})) << name(d);
  }
  const array y = apply("clip", {make({2}, {200, 3}, uint8), make({}, {-1}, int8), make({}, {100.5})});
  EXPECT_EQ(y.dtype(), mx::float32);
  EXPECT_TRUE(equals(y, {2}, {100.5, 3}));
  EXPECT_TRUE(equals(apply("clip", {iota({0, 2}), make({}, {0}), make({2}, {1, 1})}), {0, 2}, std::vector<double>{}));
}

// The index rule, in 128 bits.
std::int64_t held(Int128 index, std::int64_t size) {
  if (index < 0) index += size;
  return static_cast<std::int64_t>(std::clamp<Int128>(index, 0, size - 1));
}

// Indices that `d` can hold, at and beyond the bounds of an axis of 3.
array awkward_indices(DType d, const Shape& shape) {
  std::vector<std::int64_t> values{0, 2, 1, 3, 7, 127, 128, 200, 255, 65535, 4294967295, 4294967297, INT64_MAX};
  if (kind(d) == DTypeKind::signed_integer) {
    values.insert(values.end(), {-1, -3, -4, -128, -32768, -2147483648, INT64_MIN, INT64_MIN + 1});
  }
  // Narrowing drops high bits; the reference reads back what is left.
  std::vector<std::int64_t> filled;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count(shape)); ++k) filled.push_back(values[k % values.size()]);
  return make_ints(shape, filled, d);
}

TEST(Take, SpecExample) {
  const array y = apply("take", AxisAttrs{1}, {iota({3, 4}), make({2, 2}, {0, 1, 1, 0}, int32)});
  EXPECT_TRUE(equals(y, {3, 2, 2}, {0, 1, 1, 0, 4, 5, 5, 4, 8, 9, 9, 8}));
}

TEST(Take, EveryIndexDTypeClamps) {
  for (const DType d : kEveryInteger) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const Shape shape{3, 3, 3};
      const array x = iota(shape, int32);
      const array dense = awkward_indices(d, {3, 7});
      const auto v = elements(dense);
      Shape result = shape;
      result.erase(result.begin() + axis);
      result.insert(result.begin() + axis, {3, 7});
      std::vector<Num> wanted;
      each(result, [&](const Shape& i, std::size_t) {
        const auto a = static_cast<std::size_t>(axis);
        Shape from(i.begin(), i.begin() + axis);
        from.push_back(held(v[static_cast<std::size_t>(i[a] * 7 + i[a + 1])].i, 3));
        from.insert(from.end(), i.begin() + axis + 2, i.end());
        wanted.push_back({.i = static_cast<Int128>(position(from, shape))});
      });
      for (const array& indices : layouts(dense)) {
        EXPECT_TRUE(equals(apply("take", AxisAttrs{axis}, {x, indices}), result, wanted)) << name(d) << axis;
      }
    }
  }
}

// S10 and B45: nothing outside is read; beyond 2^63 counts as beyond the end.
TEST(Take, S10_OutsideTakesTheNearest) {
  const array x = iota({3}, int32);
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {x, make_unsigned({3}, {UINT64_MAX, 1ull << 63, 1}, uint64)}), {3},
                     {2, 2, 1}));
  EXPECT_TRUE(
      equals(apply("take", AxisAttrs{0}, {x, make_ints({4}, {INT64_MIN, -4, -1, 1 << 30}, int64)}), {4}, {0, 0, 2, 2}));
  EXPECT_TRUE(
      equals(apply("take_along_axis", AxisAttrs{0}, {x, make_unsigned({2}, {UINT64_MAX, 3}, uint64)}), {2}, {2, 2}));
}

TEST(Take, B46_NarrowIndices) {
  const array x = iota({300}, int32);
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {x, make({1}, {200}, uint8)}), {1}, {200}));
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {x, make({2}, {-1, -128}, int8)}), {2}, {299, 172}));
}

TEST(Take, EveryDTypeLayoutAndScalarIndex) {
  for (const DType d : kEveryDType) {
    const array dense = sample({2, 3}, d);
    const auto v = elements(dense);
    for (const array& x : layouts(dense)) {
      EXPECT_TRUE(equals(apply("take", AxisAttrs{1}, {x, make({}, {-1}, int64)}), {2}, std::vector<Num>{v[2], v[5]}));
      EXPECT_TRUE(equals(apply("take", AxisAttrs{-2}, {x, make({3}, {1, 0, 1}, uint8)}), {3, 3},
                         std::vector<Num>{v[3], v[4], v[5], v[0], v[1], v[2], v[3], v[4], v[5]}));
      EXPECT_TRUE(equals(apply("take_along_axis", AxisAttrs{1}, {x, make({2, 2}, {2, 0, 1, 1}, uint16)}), {2, 2},
                         std::vector<Num>{v[2], v[0], v[4], v[4]}));
    }
  }
}

TEST(Take, B43_FromATransposedSource) {
  const array t = apply("transpose", AxesAttrs{{1, 0}}, {iota({3, 4}, int32)});
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {t, make({2}, {1, 2}, int32)}), {2, 3}, {1, 5, 9, 2, 6, 10}));
}

TEST(Take, Nothing) {
  const std::vector<double> nothing;
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {iota({3, 2}), make({0}, {}, int32)}), {0, 2}, nothing));
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {iota({3, 0}), make({2}, {0, 1}, int32)}), {2, 0}, nothing));
  EXPECT_TRUE(equals(apply("take", AxisAttrs{0}, {iota({0, 2}), make({0}, {}, uint64)}), {0, 2}, nothing));
  EXPECT_TRUE(equals(apply("take_along_axis", AxisAttrs{0}, {iota({3, 2}), make({0, 2}, {}, int8)}), {0, 2}, nothing));
  EXPECT_FALSE(types_of("take", AxisAttrs{0}, {{float32, {0, 2}}, {int32, {1}}}).ok());
  EXPECT_FALSE(types_of("take", AxisAttrs{0}, {{float32, {3}}, {float32, {1}}}).ok());
  EXPECT_FALSE(types_of("take", AxisAttrs{0}, {{float32, {3}}, {bool_, {1}}}).ok());
}

TEST(TakeAlongAxis, EveryIndexDTypeAndAxis) {
  const Shape shape{3, 3, 3};
  const array x = iota(shape, int16);
  for (const DType d : kEveryInteger) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Shape result = shape;
      result[axis] = 7;
      const array dense = awkward_indices(d, result);
      const auto v = elements(dense);
      std::vector<Num> wanted;
      each(result, [&](const Shape& i, std::size_t at) {
        Shape from = i;
        from[axis] = held(v[at].i, 3);
        wanted.push_back({.i = static_cast<Int128>(position(from, shape))});
      });
      for (const array& indices : layouts(dense)) {
        const AxisAttrs attrs{static_cast<std::int64_t>(axis) - 3};
        EXPECT_TRUE(equals(apply("take_along_axis", attrs, {x, indices}), result, wanted)) << name(d) << axis;
      }
    }
  }
}

TEST(TakeAlongAxis, OtherAxesBroadcast) {
  EXPECT_TRUE(equals(apply("take_along_axis", AxisAttrs{1}, {iota({2, 3}), make({1, 2}, {2, 0}, int32)}), {2, 2},
                     {2, 0, 5, 3}));
  EXPECT_TRUE(
      equals(apply("take_along_axis", AxisAttrs{1}, {iota({1, 3}), make({2, 1}, {2, 0}, int32)}), {2, 1}, {2, 0}));
  EXPECT_FALSE(types_of("take_along_axis", AxisAttrs{1}, {{float32, {2, 3}}, {int32, {3, 2}}}).ok());
  EXPECT_FALSE(types_of("take_along_axis", AxisAttrs{1}, {{float32, {2, 3}}, {int32, {2}}}).ok());
}

TEST(TakeAlongAxis, B49_FarNegativeAxis) {
  const auto types = types_of("take_along_axis", AxisAttrs{-100}, {{float32, {2, 3, 4}}, {int32, {2, 3, 4}}});
  ASSERT_FALSE(types.ok());
  EXPECT_NE(types.error().message().find("-100"), std::string::npos);
  EXPECT_NE(types.error().message().find("3"), std::string::npos);
}

}  // namespace
}  // namespace reprise::movement
