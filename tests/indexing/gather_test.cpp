#include <algorithm>

#include "indexing/indexing.hpp"
#include "ops/index/index.hpp"

namespace reprise::movement {
namespace {

using ops::GatherAttrs;
using ops::Ints;

// The blocks one after the other.
std::vector<Num> gathered(const array& x, const array& indices, const Ints& axes, const Shape& sizes) {
  const auto values = elements(x);
  const auto places = elements(indices);
  const Shape shape = type_of(x).shape;
  const std::size_t m = axes.size();
  std::vector<Num> out;
  for (std::size_t b = 0; b < places.size() / m; ++b) {
    each(sizes, [&](const Shape& index, std::size_t) {
      Shape from = index;
      for (std::size_t j = 0; j < m; ++j) {
        const auto axis = static_cast<std::size_t>(axes[j]);
        Int128 i = places[b * m + j].i;
        if (i < 0) i += shape[axis];
        from[axis] = static_cast<std::int64_t>(std::clamp<Int128>(i, 0, shape[axis] - 1));
      }
      out.push_back(values[position(from, shape)]);
    });
  }
  return out;
}

TEST(Gather, SpecExamples) {
  const array x = iota({3, 4});
  EXPECT_TRUE(
      equals(apply("gather", GatherAttrs{{0, 1}, {1, 1}, {2}}, {x, make({2, 2}, {0, 1, 2, 3}, int32)}), {2}, {1, 11}));
  EXPECT_TRUE(equals(apply("gather", GatherAttrs{{0}, {1, 4}, {2, 4}}, {x, make({2, 1}, {2, 0}, int32)}), {2, 4},
                     {8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_TRUE(equals(apply("gather", GatherAttrs{{1}, {3, 1}, {2, 3}}, {x, make({2, 1}, {2, 0}, int32)}), {2, 3},
                     {2, 6, 10, 0, 4, 8}));
  EXPECT_TRUE(
      equals(apply("gather", GatherAttrs{{0, 2}, {1, 3, 1}, {1, 3}}, {iota({2, 3, 4}), make({1, 2}, {1, 0}, int32)}),
             {1, 3}, {12, 16, 20}));
}

TEST(Gather, B43_ColumnMajorSource) {
  const array t = mx::transpose(iota({3, 4}, int32), {1, 0}, cpu_stream());
  EXPECT_TRUE(
      equals(apply("gather", GatherAttrs{{0}, {1, 3}, {1, 3}}, {t, make({1, 1}, {1}, int32)}), {1, 3}, {1, 5, 9}));
  EXPECT_TRUE(equals(apply("gather", GatherAttrs{{0}, {1, 3}, {2, 3}}, {t, make({2, 1}, {1, 2}, int32)}), {2, 3},
                     {1, 5, 9, 2, 6, 10}));
}

TEST(Gather, B46_NarrowIndices) {
  const GatherAttrs attrs{{0}, {1}, {1}};
  EXPECT_TRUE(equals(apply("gather", attrs, {iota({300}, int32), make({1, 1}, {200}, uint8)}), {1}, {200}));
  EXPECT_TRUE(equals(apply("gather", attrs, {iota({300}, int32), make({1, 1}, {-56}, int8)}), {1}, {244}));
  EXPECT_TRUE(equals(apply("gather", attrs, {iota({70000}, int32), make({1, 1}, {65535}, uint16)}), {1}, {65535}));
}

TEST(Gather, S10_OutsideTakesTheNearest) {
  const array x = make({4}, {10, 11, 12, 13});
  for (const DType d : kEveryInteger) {
    std::vector<array> indices;
    if (kind(d) == DTypeKind::signed_integer) {
      for (const std::int64_t v :
           {INT64_MIN, INT64_MIN + 3, std::int64_t{-4294967296}, std::int64_t{-4294967295}, std::int64_t{-2147483648},
            std::int64_t{-128}, std::int64_t{-5}, std::int64_t{-4}, std::int64_t{-1}, std::int64_t{0}, std::int64_t{3},
            std::int64_t{4}, std::int64_t{127}, std::int64_t{2147483647}, std::int64_t{4294967296},
            std::int64_t{4294967297}, INT64_MAX}) {
        indices.push_back(make_ints({1, 1}, {v}, d));
      }
    } else {
      for (const std::uint64_t v :
           {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{4}, std::uint64_t{255}, std::uint64_t{2147483648},
            std::uint64_t{4294967295}, std::uint64_t{4294967297}, std::uint64_t{1} << 63, UINT64_MAX}) {
        indices.push_back(make_unsigned({1, 1}, {v}, d));
      }
    }
    for (const array& index : indices) {
      EXPECT_TRUE(equals(apply("gather", GatherAttrs{{0}, {1}, {1}}, {x, index}), {1}, gathered(x, index, {0}, {1})))
          << name(d);
    }
  }
}

TEST(Gather, Empty) {
  const std::vector<double> none;
  EXPECT_TRUE(
      equals(apply("gather", GatherAttrs{{0}, {1, 4}, {0, 4}}, {iota({3, 4}), make({0, 1}, {}, int32)}), {0, 4}, none));
  EXPECT_TRUE(equals(apply("gather", GatherAttrs{{0}, {1, 0}, {2, 0}}, {iota({3, 4}), make({2, 1}, {0, 1}, int32)}),
                     {2, 0}, none));
  EXPECT_TRUE(equals(apply("gather", GatherAttrs{{0}, {1, 0}, {2, 0}}, {iota({3, 0}), make({2, 1}, {0, 1}, int32)}),
                     {2, 0}, none));
  EXPECT_TRUE(equals(apply("gather", GatherAttrs{{0}, {1}, {0}}, {iota({0}), make({0, 1}, {}, int32)}), {0}, none));
  EXPECT_TRUE(
      equals(apply("gather", GatherAttrs{{1, 0}, {1, 1}, {}}, {iota({3, 4}), make({2}, {-1, 1}, int64)}), {}, {7}));
}

TEST(Gather, EveryDTypeAndLayout) {
  const array indices = make({2, 2, 2}, {0, 1, -1, 9, 2, -3, -9, 0}, int16);
  for (const DType d : kEveryDType) {
    for (const array& x : operands_like(sample({3, 2, 4}, d))) {
      for (const array& i : operands_like(indices)) {
        const GatherAttrs attrs{{2, 0}, {1, 2, 1}, {2, 2, 2}};
        EXPECT_TRUE(equals(apply("gather", attrs, {x, i}), {2, 2, 2}, gathered(x, i, {2, 0}, {1, 2, 1}))) << name(d);
      }
    }
  }
}

TEST(Gather, Random) {
  with_seeds(150, [](std::mt19937& random) {
    const Shape shape = pick_shape(random, pick(random, 1, 5), 1, 4);
    const auto d = pick_dtype(random);
    std::vector<std::int64_t> axes;
    for (std::size_t a = 0; a < shape.size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
    for (std::size_t a = axes.size(); a > 1; --a) std::swap(axes[a - 1], axes[random() % a]);
    axes.resize(static_cast<std::size_t>(pick(random, 1, static_cast<std::int64_t>(axes.size()))));
    Shape sizes;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const bool indexed = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(a)) != axes.end();
      sizes.push_back(indexed ? 1 : pick(random, 0, shape[a]));
    }
    Shape places = pick_shape(random, pick(random, 0, 3), 0, 3);
    Shape raw = places;
    raw.insert(raw.end(), sizes.begin(), sizes.end());
    places.push_back(static_cast<std::int64_t>(axes.size()));
    std::vector<std::int64_t> values;
    for (std::int64_t k = 0; k < count(places); ++k) values.push_back(pick(random, -7, 7));
    const array indices = make_ints(places, values, random() % 2 ? int8 : int64);
    for (const array& x : operands_like(sample(shape, d, random()))) {
      EXPECT_TRUE(
          equals(apply("gather", GatherAttrs{axes, sizes, raw}, {x, indices}), raw, gathered(x, indices, axes, sizes)))
          << name(d) << to_string(shape);
    }
  });
}

TEST(Gather, Errors) {
  const TensorType x{float32, {3, 4}};
  const TensorType i{int32, {2, 1}};
  EXPECT_TRUE(types_of("gather", GatherAttrs{{0}, {1, 4}, {2, 4}}, {x, i}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0}, {1, 4}, {2, 4}}, {x, {float32, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0}, {1, 4}, {2, 4}}, {x, {bool_, {2, 1}}}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{2}, {1, 4}, {2, 4}}, {x, i}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0}, {2, 4}, {2, 2, 4}}, {x, i}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0}, {1, 5}, {2, 5}}, {x, i}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0, 1}, {1, 1}, {2}}, {x, i}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0, 0}, {1, 4}, {2, 4}}, {x, {int32, {2, 2}}}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{0}, {1, 4}, {2, 4}}, {{float32, {0, 4}}, i}).ok());
  EXPECT_FALSE(types_of("gather", GatherAttrs{{-100}, {1, 4}, {2, 4}}, {x, i}).ok());  // B49
}

}  // namespace
}  // namespace reprise::movement
