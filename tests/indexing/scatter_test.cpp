#include <algorithm>

#include "indexing/indexing.hpp"
#include "ops/index/index.mlx.hpp"

namespace reprise::movement {
namespace {

using ops::Ints;
using ops::ScatterAttrs;

std::vector<Num> scattered(const array& x, const array& indices, const array& updates, const ScatterAttrs& attrs,
                           bool add) {
  auto out = elements(x);
  const auto places = elements(indices);
  const auto values = elements(updates);
  const Shape shape = type_of(x).shape;
  const DType d = type_of(x).dtype;
  const std::size_t m = attrs.axes.size();
  const Shape block(attrs.updates_shape.end() - static_cast<std::ptrdiff_t>(shape.size()), attrs.updates_shape.end());
  if (values.empty()) return out;
  for (std::size_t b = 0; b < places.size() / m; ++b) {
    each(block, [&](const Shape& index, std::size_t at) {
      Shape to = index;
      for (std::size_t j = 0; j < m; ++j) {
        const auto axis = static_cast<std::size_t>(attrs.axes[j]);
        Int128 i = places[b * m + j].i;
        if (i < 0) i += shape[axis];
        if (i < 0 || i >= shape[axis]) return;
        to[axis] = static_cast<std::int64_t>(i);
      }
      const Num& value = values[b * static_cast<std::size_t>(count(block)) + at];
      Num& place = out[position(to, shape)];
      place = add ? plus(place, value, d) : value;
    });
  }
  return out;
}

array add(const ScatterAttrs& attrs, const array& x, const array& i, const array& u) {
  return apply("indexed_add", attrs, {x, i, u});
}
array put(const ScatterAttrs& attrs, const array& x, const array& i, const array& u) {
  return apply("indexed_put", attrs, {x, i, u});
}

array zeros(const Shape& shape, DType d = float32) {
  return make(shape, std::vector<double>(static_cast<std::size_t>(count(shape)), 0), d);
}

TEST(Scatter, SpecExamples) {
  const array x = zeros({3, 4});
  const array twice = make({2, 2}, {0, 1, 0, 1}, int32);
  const ScatterAttrs point{{0, 1}, {2, 1, 1}};
  EXPECT_TRUE(equals(add(point, x, twice, make({2}, {5, 7})), {3, 4}, {0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(equals(put(point, x, twice, make({2}, {5, 7})), {3, 4}, {0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const array rows = make({2, 1}, {0, 2}, int32);
  EXPECT_TRUE(equals(add({{0}, {2, 1, 4}}, x, rows, iota({2, 4})), {3, 4}, {0, 1, 2, 3, 0, 0, 0, 0, 4, 5, 6, 7}));
  EXPECT_TRUE(equals(add({{1}, {2, 3, 1}}, x, rows, iota({2, 3})), {3, 4}, {0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5, 0}));
  const array y = add({{0, 2}, {1, 1, 3, 1}}, zeros({2, 3, 4}), make({1, 2}, {1, 0}, int32), make({1, 3}, {7, 8, 9}));
  std::vector<double> wanted(24, 0);
  wanted[12] = 7;
  wanted[16] = 8;
  wanted[20] = 9;
  EXPECT_TRUE(equals(y, {2, 3, 4}, wanted));
}

TEST(Scatter, B44_BlocksDoNotWrap) {
  // Blocks start at 0 along unindexed axes, so that a smaller one covers the first columns.
  EXPECT_TRUE(equals(put({{0}, {2, 1, 2}}, zeros({3, 4}), make({2, 1}, {1, 2}, int32), make({2, 2}, {1, 2, 3, 4})),
                     {3, 4}, {0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0}));
  const array places = make({2, 2, 2}, {1, 2, 1, 3, 2, 2, 2, 3}, int32);
  EXPECT_TRUE(equals(put({{0, 1}, {2, 2, 1, 1}}, zeros({3, 4}), places, make({2, 2}, {1, 2, 3, 4})), {3, 4},
                     {0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4}));
}

TEST(Scatter, B47_NarrowIndices) {
  std::vector<double> wanted(300, 0);
  wanted[200] = 1;
  EXPECT_TRUE(equals(add({{0}, {1, 1}}, zeros({300}), make({1, 1}, {200}, uint8), make({1}, {1})), {300}, wanted));
  EXPECT_TRUE(equals(put({{0}, {1, 1}}, zeros({300}), make({1, 1}, {200}, uint8), make({1}, {1})), {300}, wanted));
  std::vector<double> long_wanted(70000, 0);
  long_wanted[30000] = 1;
  for (const char* op : {"indexed_add", "indexed_put"}) {
    const array y =
        apply(op, ScatterAttrs{{0}, {1, 1}}, {zeros({70000}), make({1, 1}, {30000}, int16), make({1}, {1})});
    EXPECT_TRUE(equals(y, {70000}, long_wanted)) << op;
  }
}

TEST(Scatter, B50_NothingToWrite) {
  const array x = iota({4});
  const array m = iota({2, 3});
  for (const char* op : {"indexed_add", "indexed_put"}) {
    EXPECT_TRUE(
        equals(apply(op, ScatterAttrs{{0}, {0, 1}}, {x, make({0, 1}, {}, int32), make({0}, {})}), {4}, {0, 1, 2, 3}));
    EXPECT_TRUE(equals(apply(op, ScatterAttrs{{0}, {0, 1}}, {x, make({2, 1}, {0, 1}, int32), make({0}, {})}), {4},
                       {0, 1, 2, 3}));
    EXPECT_TRUE(equals(apply(op, ScatterAttrs{{0}, {2, 1, 0}}, {m, make({2, 1}, {0, 1}, int32), make({2, 0}, {})}),
                       {2, 3}, {0, 1, 2, 3, 4, 5}));
    EXPECT_TRUE(equals(apply(op, ScatterAttrs{{0}, {0, 1}}, {iota({0}), make({0, 1}, {}, int32), make({0}, {})}), {0},
                       std::vector<double>{}));
  }
}

TEST(Scatter, B53_SixAxes) {
  const Shape six(6, 2);
  std::vector<double> wanted(64, 0);
  std::fill_n(wanted.begin(), 16, 1.0);
  const array ones = make({1, 2, 2, 2, 2}, std::vector<double>(16, 1));
  EXPECT_TRUE(equals(put({{0, 1}, {1, 1, 1, 2, 2, 2, 2}}, zeros(six), make({1, 2}, {0, 0}, int32), ones), six, wanted));
}

TEST(Scatter, S10_OutsideIsDropped) {
  const array x = make({3}, {10, 20, 30});
  for (const DType d : kEveryInteger) {
    std::vector<array> indices;
    if (kind(d) == DTypeKind::signed_integer) {
      for (const std::int64_t v :
           {INT64_MIN, std::int64_t{-4294967296}, std::int64_t{-4294967295}, std::int64_t{-100}, std::int64_t{-4},
            std::int64_t{-3}, std::int64_t{-1}, std::int64_t{0}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7},
            std::int64_t{127}, std::int64_t{4294967296}, std::int64_t{4294967297}, INT64_MAX}) {
        indices.push_back(make_ints({1, 1}, {v}, d));
      }
    } else {
      for (const std::uint64_t v : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{255},
                                    std::uint64_t{4294967296}, std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 2}) {
        indices.push_back(make_unsigned({1, 1}, {v}, d));
      }
    }
    const ScatterAttrs attrs{{0}, {1, 1}};
    const array u = make({1}, {5});
    for (const array& i : indices) {
      EXPECT_TRUE(equals(add(attrs, x, i, u), {3}, scattered(x, i, u, attrs, true))) << name(d);
      EXPECT_TRUE(equals(put(attrs, x, i, u), {3}, scattered(x, i, u, attrs, false))) << name(d);
    }
  }
}

TEST(Scatter, DroppedBlocksLeaveTheOthers) {
  const array x = make({3}, {10, 20, 30});
  const auto run = [&](const std::vector<double>& at, const std::vector<double>& u) {
    const auto n = static_cast<std::int64_t>(at.size());
    return put({{0}, {n, 1}}, x, make({n, 1}, at, int32), make({n}, u));
  };
  EXPECT_TRUE(equals(run({0, 9}, {1, 2}), {3}, {1, 20, 30}));
  EXPECT_TRUE(equals(run({9, 0}, {1, 2}), {3}, {2, 20, 30}));
  EXPECT_TRUE(equals(run({0, 0, 9, -9}, {1, 2, 3, 4}), {3}, {2, 20, 30}));
  EXPECT_TRUE(equals(run({9, 1, 0, 1, 9}, {1, 2, 3, 4, 5}), {3}, {3, 4, 30}));
  EXPECT_TRUE(equals(run({9, -9}, {1, 2}), {3}, {10, 20, 30}));
}

TEST(Scatter, NothingAddedKeepsBits) {
  // A dropped update must not turn -0.0 into 0.0, nor NaN elsewhere spread.
  for (const DType d : kEveryFloat) {
    const array y = add({{0}, {2, 1}}, make({2}, {-0.0, 1}, d), make({2, 1}, {5, 1}, int32), make({2}, {kNaN, 1}, d));
    EXPECT_TRUE(equals(y, {2}, {0, 2}));
    EXPECT_TRUE(std::signbit(elements(y)[0].re)) << name(d);
  }
}

TEST(Scatter, UpdatesAreConverted) {
  const array i = make({2, 1}, {0, 2}, int32);
  EXPECT_TRUE(equals(put({{0}, {2, 1}}, iota({3}, uint8), i, make({2}, {300.5, kNaN})), {3}, {255, 1, 0}));
  EXPECT_TRUE(equals(add({{0}, {2, 1}}, iota({3}, int32), i, make({2}, {-1.9, 5}, float64)), {3}, {-1, 1, 7}));
  EXPECT_TRUE(equals(put({{0}, {2, 1}}, iota({3}, bool_), i, make({2}, {kNaN, 0})), {3}, {1, 1, 0}));
  EXPECT_TRUE(equals(put({{0}, {2, 1}}, iota({3}), i, make({2}, {6, 7}, complex64, {1, 1})), {3}, {6, 1, 7}));
}

TEST(Scatter, IntegersWrap) {
  const array i = make({2, 1}, {0, 0}, int32);
  EXPECT_TRUE(equals(add({{0}, {2, 1}}, make({1}, {100}, int8), i, make({2}, {100, 100}, int8)), {1}, {44}));
  EXPECT_TRUE(equals(add({{0}, {2, 1}}, make({1}, {200}, uint8), i, make({2}, {200, 200}, uint8)), {1}, {88}));
  EXPECT_TRUE(
      equals(add({{0}, {2, 1}}, make({1}, {2147483647}, int32), i, make({2}, {1, 1}, int32)), {1}, {-2147483647}));
  const array most = make_ints({1}, {INT64_MAX}, int64);
  EXPECT_TRUE(elements(add({{0}, {2, 1}}, most, i, make({2}, {1, 1}, int64)))[0].i == Int128{INT64_MIN} + 1);
  // 256 times true is true.
  EXPECT_TRUE(equals(add({{0}, {256, 1}}, make({1}, {0}, bool_), make({256, 1}, std::vector<double>(256, 0), int32),
                         make({256}, std::vector<double>(256, 1), bool_)),
                     {1}, {1}));
}

// 16-bit floats add up in float32: NumPy's `add.at` and MLX round at each step and stop at 256 (2048).
TEST(Scatter, ManyAtOnePlace) {
  const std::vector<double> ones(5000, 1);
  const array i = make({5000, 1}, std::vector<double>(5000, 0), int32);
  for (const DType d : {float16, bfloat16, float32, float64}) {
    EXPECT_TRUE(equals(add({{0}, {5000, 1}}, make({1}, {0}, d), i, make({5000}, ones, d)), {1}, {5000},
                       d == bfloat16 ? epsilon(d) : 0));
  }
}

TEST(Scatter, IntoABroadcast) {
  const array x = mx::broadcast_to(make({}, {0}), {2, 3}, cpu_stream());
  const array i = make({1, 2}, {1, 2}, int32);
  EXPECT_TRUE(equals(put({{0, 1}, {1, 1, 1}}, x, i, make({1}, {4})), {2, 3}, {0, 0, 0, 0, 0, 4}));
  EXPECT_TRUE(equals(add({{0, 1}, {1, 1, 1}}, x, i, make({1}, {4})), {2, 3}, {0, 0, 0, 0, 0, 4}));
}

TEST(Scatter, EveryDTypeAndLayout) {
  const array indices = make({2, 2, 2}, {0, 1, -1, 9, 2, -3, 0, 1}, int8);
  const ScatterAttrs attrs{{2, 0}, {2, 2, 1, 2, 1}};
  for (const DType d : kEveryDType) {
    const auto updates = operands_like(sample({2, 2, 2}, d, 2));
    const auto places = operands_like(indices);
    for (const array& x : operands_like(sample({3, 2, 4}, d))) {
      const auto before = elements(x);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const array& i = places[k];
        const array& u = updates[(k + 1) % updates.size()];
        EXPECT_TRUE(equals(add(attrs, x, i, u), {3, 2, 4}, scattered(x, i, u, attrs, true))) << name(d);
        EXPECT_TRUE(equals(put(attrs, x, i, u), {3, 2, 4}, scattered(x, i, u, attrs, false))) << name(d);
      }
      EXPECT_TRUE(equals(x, {3, 2, 4}, before)) << "the operand changed";
    }
  }
}

// What GPUs need, on the CPU: blocks in no order, 64-bit elements as halves.
TEST(Scatter, InNoOrder) {
  with_seeds(60, [](std::mt19937& random) {
    const auto d = pick_dtype(random);
    const std::int64_t n = pick(random, 1, 12);
    const array x = sample({4, 2, 3}, d, random());
    std::vector<std::int64_t> at;
    for (std::int64_t k = 0; k < 2 * n; ++k) at.push_back(pick(random, -4, 5));
    const array i = make_ints({n, 2}, at, int32);
    const array u = sample({n, 1, 2, 1}, d, random());
    const ScatterAttrs attrs{{2, 0}, {n, 1, 2, 1}};

    mlx_backend::Places places{{2, 0}, {}, make({n}, std::vector<double>(static_cast<std::size_t>(n), 1), bool_)};
    std::vector<double> inside;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto good = [&](std::int64_t v, std::int64_t size) { return v >= -size && v < size; };
      inside.push_back(good(at[static_cast<std::size_t>(2 * k)], 3) &&
                       good(at[static_cast<std::size_t>(2 * k + 1)], 4));
    }
    places.inside = make({n}, inside, bool_);
    for (const int j : {0, 1}) {
      const array column = mx::reshape(mx::slice(i, {0, j}, {static_cast<int>(n), j + 1}, cpu_stream()),
                                       {static_cast<int>(n)}, cpu_stream());
      places.columns.push_back(mlx_backend::clamp_indices(column, j == 0 ? 3 : 4, cpu_stream()));
    }
    EXPECT_TRUE(
        equals(mlx_backend::add_blocks(x, places, u, false, cpu_stream()), {4, 2, 3}, scattered(x, i, u, attrs, true)))
        << name(d);
    EXPECT_TRUE(
        equals(mlx_backend::put_blocks(x, places, u, false, cpu_stream()), {4, 2, 3}, scattered(x, i, u, attrs, false)))
        << name(d);
  });
}

TEST(Scatter, Random) {
  with_seeds(150, [](std::mt19937& random) {
    const Shape shape = pick_shape(random, pick(random, 1, 4), 1, 4);
    const auto d = pick_dtype(random);
    Ints axes;
    for (std::size_t a = 0; a < shape.size(); ++a) axes.push_back(static_cast<std::int64_t>(a));
    for (std::size_t a = axes.size(); a > 1; --a) std::swap(axes[a - 1], axes[random() % a]);
    axes.resize(static_cast<std::size_t>(pick(random, 1, static_cast<std::int64_t>(axes.size()))));
    Shape places = pick_shape(random, pick(random, 0, 3), 0, 4);
    Shape updates = places;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const bool indexed = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(a)) != axes.end();
      updates.push_back(indexed ? 1 : pick(random, 0, shape[a]));
    }
    places.push_back(static_cast<std::int64_t>(axes.size()));
    std::vector<std::int64_t> values;
    for (std::int64_t k = 0; k < count(places); ++k) values.push_back(pick(random, -5, 5));
    const array i = make_ints(places, values, random() % 2 ? int16 : int64);
    const array u = sample({count(updates)}, d, random());
    const ScatterAttrs attrs{axes, updates};
    for (const array& x : operands_like(sample(shape, d, random()))) {
      EXPECT_TRUE(equals(add(attrs, x, i, u), shape, scattered(x, i, u, attrs, true))) << name(d) << to_string(shape);
      EXPECT_TRUE(equals(put(attrs, x, i, u), shape, scattered(x, i, u, attrs, false))) << name(d) << to_string(shape);
    }
  });
}

TEST(Scatter, Errors) {
  const TensorType x{float32, {3, 4}};
  const TensorType i{int32, {2, 1}};
  const TensorType u{float32, {2, 4}};
  EXPECT_TRUE(types_of("indexed_add", ScatterAttrs{{0}, {2, 1, 4}}, {x, i, u}).ok());
  EXPECT_FALSE(types_of("indexed_add", ScatterAttrs{{0}, {2, 1, 4}}, {x, {float32, {2, 1}}, u}).ok());
  EXPECT_FALSE(types_of("indexed_add", ScatterAttrs{{0}, {2, 1, 5}}, {x, i, {float32, {2, 5}}}).ok());
  EXPECT_FALSE(types_of("indexed_add", ScatterAttrs{{0}, {3, 1, 4}}, {x, i, {float32, {3, 4}}}).ok());
  EXPECT_FALSE(types_of("indexed_put", ScatterAttrs{{0}, {2, 2, 2}}, {x, i, u}).ok());
  EXPECT_FALSE(types_of("indexed_put", ScatterAttrs{{0}, {2, 4}}, {x, i, u}).ok());
  EXPECT_FALSE(types_of("indexed_put", ScatterAttrs{{0}, {2, 1, 4}}, {x, i, {float32, {2, 3}}}).ok());
  EXPECT_FALSE(types_of("indexed_put", ScatterAttrs{{9}, {2, 1, 4}}, {x, i, u}).ok());
}

}  // namespace
}  // namespace reprise::movement
