#include "ops/shape/shape.hpp"

#include <algorithm>

#include "movement/movement.hpp"

namespace reprise::movement {
namespace {

using ops::AxesAttrs;
using ops::AxisAttrs;
using ops::BroadcastAttrs;
using ops::PadAttrs;
using ops::ShapeAttrs;

// What a movement op does to x of any dtype and layout, against a plain map from result index to source index.
template <typename Attrs>
void check_moves(std::string_view name, const Attrs& attrs, const Shape& shape, const Shape& result,
                 const std::function<Shape(const Shape&)>& source) {
  for (const DType d : kEveryDType) {
    const array dense = sample(shape, d);
    const auto values = elements(dense);
    std::vector<Num> wanted;
    each(result, [&](const Shape& index, std::size_t) { wanted.push_back(values[position(source(index), shape)]); });
    for (const array& x : layouts(dense)) {
      EXPECT_TRUE(equals(apply(name, attrs, {x}), result, wanted)) << name << " of " << reprise::name(d);
    }
  }
}

TEST(Reshape, KeepsRowMajorOrder) {
  check_moves("reshape", ShapeAttrs{{4, 3}}, {2, 6}, {4, 3}, [](const Shape& i) -> Shape {
    const auto at = i[0] * 3 + i[1];
    return {at / 6, at % 6};
  });
  check_moves("reshape", ShapeAttrs{{2, -1}}, {2, 3, 2}, {2, 6}, [](const Shape& i) -> Shape {
    return {i[0], i[1] / 2, i[1] % 2};
  });
  check_moves("reshape", ShapeAttrs{{}}, {1, 1}, {}, [](const Shape&) -> Shape { return {0, 0}; });
  check_moves("reshape", ShapeAttrs{{1, 1}}, {}, {1, 1}, [](const Shape&) -> Shape { return {}; });
}

TEST(Reshape, OfNothing) {
  EXPECT_TRUE(equals(apply("reshape", ShapeAttrs{{4, -1}}, {iota({0, 3})}), {4, 0}, std::vector<double>{}));
  EXPECT_TRUE(equals(apply("reshape", ShapeAttrs{{0}}, {iota({2, 0, 3})}), {0}, std::vector<double>{}));
  EXPECT_FALSE(types_of("reshape", ShapeAttrs{{0, -1}}, {{float32, {0, 3}}}).ok());
  EXPECT_FALSE(types_of("reshape", ShapeAttrs{{5}}, {{float32, {2, 3}}}).ok());
}

TEST(Squeeze, DropsNamedAxesOnly) {
  check_moves("squeeze", AxesAttrs{{0, -1}}, {1, 3, 1}, {3}, [](const Shape& i) -> Shape { return {0, i[0], 0}; });
  check_moves("squeeze", AxesAttrs{}, {1, 3, 1}, {1, 3, 1}, [](const Shape& i) { return i; });
  EXPECT_FALSE(types_of("squeeze", AxesAttrs{{1}}, {{float32, {1, 3}}}).ok());
}

TEST(Transpose, Permutes) {
  check_moves("transpose", AxesAttrs{{2, 0, -2}}, {2, 3, 4}, {4, 2, 3}, [](const Shape& i) -> Shape {
    return {i[1], i[2], i[0]};
  });
  check_moves("transpose", AxesAttrs{}, {}, {}, [](const Shape& i) { return i; });
  EXPECT_TRUE(equals(apply("transpose", AxesAttrs{{1, 0}}, {iota({0, 3})}), {3, 0}, std::vector<double>{}));
}

TEST(Broadcast, SpecExamples) {
  EXPECT_TRUE(equals(apply("broadcast", BroadcastAttrs{{2, 3}, {}}, {make({}, {5})}), {2, 3}, {5, 5, 5, 5, 5, 5}));
  EXPECT_TRUE(equals(apply("broadcast", BroadcastAttrs{{2, 3}, {0}}, {make({2}, {1, 2})}), {2, 3}, {1, 1, 1, 2, 2, 2}));
  EXPECT_TRUE(
      equals(apply("broadcast", BroadcastAttrs{{2, 3}, {1}}, {make({3}, {1, 2, 3})}), {2, 3}, {1, 2, 3, 1, 2, 3}));
}

TEST(Broadcast, PlacesAxesAndRepeats) {
  check_moves("broadcast", BroadcastAttrs{{2, 3, 4}, {0, 2}}, {2, 4}, {2, 3, 4}, [](const Shape& i) -> Shape {
    return {i[0], i[2]};
  });
  check_moves("broadcast", BroadcastAttrs{{2, 3, 4}, {1, 2}}, {3, 1}, {2, 3, 4}, [](const Shape& i) -> Shape {
    return {i[1], 0};
  });
  EXPECT_TRUE(
      equals(apply("broadcast", BroadcastAttrs{{0, 3}, {0, 1}}, {iota({1, 3})}), {0, 3}, std::vector<double>{}));
}

TEST(Broadcast, AxesThatDoNotIncreaseReshape) {
  // (2, 3) laid at axes 1 and 0 of (3, 2): the data stay in order.
  check_moves("broadcast", BroadcastAttrs{{3, 2}, {1, 0}}, {2, 3}, {3, 2}, [](const Shape& i) -> Shape {
    const auto at = i[0] * 2 + i[1];
    return {at / 3, at % 3};
  });
}

TEST(Reverse, SpecExample) {
  EXPECT_TRUE(equals(apply("reverse", AxesAttrs{{1}}, {iota({2, 3})}), {2, 3}, {2, 1, 0, 5, 4, 3}));
}

TEST(Reverse, FlipsNamedAxes) {
  check_moves("reverse", AxesAttrs{{0, -1}}, {2, 3, 4}, {2, 3, 4}, [](const Shape& i) -> Shape {
    return {1 - i[0], i[1], 3 - i[2]};
  });
  check_moves("reverse", AxesAttrs{{1}}, {3, 1}, {3, 1}, [](const Shape& i) { return i; });
  check_moves("reverse", AxesAttrs{}, {3}, {3}, [](const Shape& i) { return i; });
  EXPECT_TRUE(equals(apply("reverse", AxesAttrs{{0, 1}}, {iota({0, 3})}), {0, 3}, std::vector<double>{}));
}

TEST(Reverse, B54_Repeated) {
  array x = iota({8}, int32);
  for (int k = 0; k < 4; ++k) x = apply("reverse", AxesAttrs{{0}}, {x});
  EXPECT_TRUE(equals(x, {8}, {0, 1, 2, 3, 4, 5, 6, 7}));
  const array twice = apply("reverse", AxesAttrs{{0}}, {apply("reverse", AxesAttrs{{0}}, {iota({4, 2})})});
  EXPECT_TRUE(equals(twice, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Pad, SpecExamples) {
  EXPECT_TRUE(equals(apply("pad", PadAttrs{{1}, {2}, {0}}, {iota({3}), make({}, {9})}), {6}, {9, 0, 1, 2, 9, 9}));
  EXPECT_TRUE(
      equals(apply("pad", PadAttrs{{-1}, {2}, {1}}, {make({3}, {1, 2, 3}), make({}, {0})}), {6}, {0, 2, 0, 3, 0, 0}));
}

TEST(Pad, Q4_InteriorIsNotIgnored) {
  EXPECT_TRUE(equals(apply("pad", PadAttrs{{0}, {0}, {2}}, {iota({3}), make({}, {9})}), {7}, {0, 9, 9, 1, 9, 9, 2}));
}

TEST(Pad, EveryCombinationOnOneAxis) {
  for (std::int64_t size = 0; size <= 4; ++size) {
    for (std::int64_t low = -5; low <= 3; ++low) {
      for (std::int64_t high = -5; high <= 3; ++high) {
        for (std::int64_t interior = 0; interior <= 3; ++interior) {
          // As the words say: spread, cut, add.
          std::vector<double> line;
          for (std::int64_t k = 0; k < size; ++k) {
            if (k > 0) line.insert(line.end(), static_cast<std::size_t>(interior), 9);
            line.push_back(static_cast<double>(k));
          }
          const auto spread = static_cast<std::int64_t>(line.size());
          const PadAttrs attrs{{low}, {high}, {interior}};
          const auto types = types_of("pad", attrs, {{float32, {size}}, {float32, {}}});
          if (spread + std::min<std::int64_t>(low, 0) + std::min<std::int64_t>(high, 0) < 0) {
            EXPECT_FALSE(types.ok());
            continue;
          }
          if (low < 0) line.erase(line.begin(), line.begin() - low);
          if (high < 0) line.erase(line.end() + high, line.end());
          if (low > 0) line.insert(line.begin(), static_cast<std::size_t>(low), 9);
          if (high > 0) line.insert(line.end(), static_cast<std::size_t>(high), 9);
          const array y = apply("pad", attrs, {iota({size}), make({}, {9})});
          EXPECT_TRUE(equals(y, {static_cast<std::int64_t>(line.size())}, line))
              << size << " low " << low << " high " << high << " interior " << interior;
        }
      }
    }
  }
}

TEST(Pad, EveryDTypeAndLayout) {
  const Shape shape{3, 2, 2};
  const Shape result{6, 1, 5};  // 3 + 2*1 - 1 + 2; 2 - 1; 2 + 1*2 + 1
  for (const DType d : kEveryDType) {
    const array dense = sample(shape, d);
    const auto values = elements(dense);
    const Num fill = num(1, d);
    std::vector<Num> wanted;
    each(result, [&](const Shape& i, std::size_t) {
      const Shape at{i[0] + 1, i[1] + 1, i[2] - 1};
      const bool inside = at[0] % 2 == 0 && at[0] / 2 < 3 && at[1] < 2 && at[2] >= 0 && at[2] % 3 == 0 && at[2] / 3 < 2;
      wanted.push_back(inside ? values[position({at[0] / 2, at[1], at[2] / 3}, shape)] : fill);
    });
    for (const array& x : layouts(dense)) {
      const array y = apply("pad", PadAttrs{{-1, -1, 1}, {2, 0, 0}, {1, 0, 2}}, {x, make({}, {1}, d)});
      EXPECT_TRUE(equals(y, result, wanted)) << name(d);
    }
  }
}

TEST(Pad, ValueIsConverted) {
  const PadAttrs one{{1}, {0}, {0}};
  EXPECT_TRUE(equals(apply("pad", one, {iota({2}, uint8), make({}, {300.7})}), {3}, {255, 0, 1}));
  EXPECT_TRUE(equals(apply("pad", one, {iota({2}, int16), make({}, {kNaN})}), {3}, {0, 0, 1}));
  EXPECT_TRUE(equals(apply("pad", one, {iota({2}, int32), make({}, {-2.9})}), {3}, {-2, 0, 1}));
  EXPECT_TRUE(equals(apply("pad", one, {iota({2}, bool_), make({}, {0.25})}), {3}, {1, 0, 1}));
  EXPECT_TRUE(equals(apply("pad", one, {iota({2}), make({}, {3}, complex64, {4})}), {3}, {3, 0, 1}));
  EXPECT_TRUE(equals(apply("pad", PadAttrs{}, {make({}, {7}), make({}, {1})}), {}, {7}));
}

TEST(Concatenate, JoinsAndPromotes) {
  const array y = apply("concatenate", AxisAttrs{0}, {iota({2}, uint8), iota({0}, int8), make({1}, {-1}, int16)});
  EXPECT_EQ(y.dtype(), mx::int16);
  EXPECT_TRUE(equals(y, {3}, {0, 1, -1}));
  EXPECT_TRUE(equals(apply("concatenate", AxisAttrs{-1}, {iota({2, 1}), make({2, 2}, {5, 6, 7, 8})}), {2, 3},
                     {0, 5, 6, 1, 7, 8}));
  EXPECT_TRUE(equals(apply("concatenate", AxisAttrs{0}, {iota({3})}), {3}, {0, 1, 2}));
  EXPECT_TRUE(equals(apply("concatenate", AxisAttrs{1}, {iota({0, 2}), iota({0, 1})}), {0, 3}, std::vector<double>{}));
}

TEST(Concatenate, EveryPairOfDTypes) {
  for (const DType a : kEveryDType) {
    for (const DType b : kEveryDType) {
      const array y = apply("concatenate", AxisAttrs{0}, {make({2}, {0, 1}, a), make({1}, {1}, b)});
      EXPECT_TRUE(equals(y, {3}, {0, 1, 1})) << name(a) << " " << name(b);
      const array z = apply("stack", AxisAttrs{1}, {make({2}, {0, 1}, a), make({2}, {1, 1}, b)});
      EXPECT_TRUE(equals(z, {2, 2}, {0, 1, 1, 1})) << name(a) << " " << name(b);
    }
  }
}

TEST(Concatenate, EveryLayout) {
  for (const DType d : kEveryDType) {
    const array dense = sample({2, 3}, d);
    const auto v = elements(dense);
    const std::vector<Num> joined{v[0], v[1], v[2], v[0], v[1], v[2], v[3], v[4], v[5], v[3], v[4], v[5]};
    for (const array& x : layouts(dense)) {
      EXPECT_TRUE(equals(apply("concatenate", AxisAttrs{1}, {x, x}), {2, 6}, joined)) << name(d);
      EXPECT_TRUE(equals(apply("stack", AxisAttrs{1}, {x, x}), {2, 2, 3}, joined)) << name(d);
    }
  }
}

TEST(Stack, NewAxis) {
  EXPECT_TRUE(equals(apply("stack", AxisAttrs{0}, {make({}, {1}), make({}, {2}, int64)}), {2}, {1, 2}));
  EXPECT_TRUE(equals(apply("stack", AxisAttrs{-1}, {iota({2}), iota({2})}), {2, 2}, {0, 0, 1, 1}));
  EXPECT_TRUE(equals(apply("stack", AxisAttrs{1}, {iota({2})}), {2, 1}, {0, 1}));
  EXPECT_TRUE(equals(apply("stack", AxisAttrs{0}, {iota({0})}), {1, 0}, std::vector<double>{}));
}

}  // namespace
}  // namespace reprise::movement
