#include <algorithm>

#include "movement/movement.hpp"
#include "ops/slice/slice.mlx.hpp"

namespace reprise::movement {
namespace {

using ops::Ints;
using ops::PutSliceAttrs;
using ops::SliceAttrs;

std::int64_t held(Int128 start, std::int64_t size, std::int64_t length) {
  return static_cast<std::int64_t>(std::clamp<Int128>(start, 0, size - length));
}

// An integer start as the rule reads it: floats truncate, NaN is 0.
Int128 whole(const Num& n) {
  if (n.is_nan()) return 0;
  return n.i + static_cast<Int128>(std::clamp(std::trunc(n.re), -1e30, 1e30));
}

std::vector<Num> window(const array& x, const Ints& starts, const Ints& lengths, const Ints& strides) {
  const Shape shape = type_of(x).shape;
  const auto values = elements(x);
  Shape result;
  for (std::size_t a = 0; a < shape.size(); ++a) result.push_back((lengths[a] + strides[a] - 1) / strides[a]);
  std::vector<Num> out;
  each(result, [&](const Shape& i, std::size_t) {
    Shape from;
    for (std::size_t a = 0; a < shape.size(); ++a) from.push_back(starts[a] + i[a] * strides[a]);
    out.push_back(values[position(from, shape)]);
  });
  return out;
}

TEST(Slice, SpecExamples) {
  const array x = iota({10});
  const auto fixed = [&](std::int64_t length, std::int64_t stride, std::int64_t start) {
    return apply("slice", SliceAttrs{0, {10}, {length}, {stride}, {start}}, {x});
  };
  EXPECT_TRUE(equals(fixed(3, 1, 9), {3}, {7, 8, 9}));
  EXPECT_TRUE(equals(fixed(3, 1, -4), {3}, {0, 1, 2}));
  EXPECT_TRUE(equals(fixed(5, 2, 1), {3}, {1, 3, 5}));
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{1, {10}, {3}, {1}, {0}}, {x, make({}, {8}, int32)}), {3}, {7, 8, 9}));
  const SliceAttrs both{2, {3, 4}, {2, 2}, {1, 1}, {1, 0}};
  EXPECT_TRUE(equals(apply("slice", both, {iota({3, 4}), make({}, {1}, int32)}), {2, 2}, {5, 6, 9, 10}));
}

// Q5 and S03: a dynamic axis yields as many elements as a static one.
TEST(Slice, Q5_S03_DynamicStride) {
  EXPECT_TRUE(
      equals(apply("slice", SliceAttrs{1, {10}, {5}, {2}, {0}}, {iota({10}), make({}, {1}, int32)}), {3}, {1, 3, 5}));
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{1, {8}, {5}, {2}, {0}}, {iota({8}, int32), make({}, {1}, int32)}), {3},
                     {1, 3, 5}));
}

TEST(Slice, B41_DynamicStartsAreClamped) {
  const array x = iota({4, 4}, int32);
  const SliceAttrs attrs{3, {4, 4}, {2, 2}, {1, 1}, {0, 0}};
  EXPECT_TRUE(equals(apply("slice", attrs, {x, make({}, {-1}, int32), make({}, {0}, int32)}), {2, 2}, {0, 1, 4, 5}));
  EXPECT_TRUE(equals(apply("slice", attrs, {x, make({}, {3}, int32), make({}, {3}, int32)}), {2, 2}, {10, 11, 14, 15}));
}

TEST(Slice, B46_NarrowStart) {
  const SliceAttrs attrs{1, {200}, {1}, {1}, {0}};
  EXPECT_TRUE(equals(apply("slice", attrs, {iota({200}, int32), make({}, {128}, uint8)}), {1}, {128}));
}

TEST(Slice, S09_StartsClampInTheirOwnDType) {
  const SliceAttrs attrs{1, {400}, {2}, {1}, {0}};
  const array x = iota({400}, int32);
  for (const DType d : kEveryDType) {
    if (d == complex64) {
      EXPECT_FALSE(types_of("slice", attrs, {{int32, {400}}, {d, {}}}).ok());
      continue;
    }
    std::vector<array> starts;
    if (is_floating(d)) {
      for (const double v : {0.0, 1.9, -0.9, -3.0, 397.9, 399.0, 1e4, 6e4, kInfinity, -kInfinity, kNaN}) {
        starts.push_back(make({}, {v}, d));
      }
      if (d == float32 || d == float64) {
        for (const double v : {2147483647.0, 2147483648.0, 4294967297.0, 1e30, -1e30})
          starts.push_back(make({}, {v}, d));
      }
    } else {
      for (const std::int64_t v :
           {INT64_MIN, std::int64_t{-4294967295}, std::int64_t{-2147483648}, std::int64_t{-129}, std::int64_t{-1},
            std::int64_t{0}, std::int64_t{1}, std::int64_t{127}, std::int64_t{200}, std::int64_t{397},
            std::int64_t{398}, std::int64_t{399}, std::int64_t{65535}, std::int64_t{3000000000},
            std::int64_t{4294967297}, INT64_MAX}) {
        starts.push_back(make_ints({}, {v}, d));
      }
    }
    for (const array& start : starts) {
      const auto first = static_cast<double>(held(whole(elements(start)[0]), 400, 2));
      EXPECT_TRUE(equals(apply("slice", attrs, {x, start}), {2}, {first, first + 1})) << name(d);
      const array held_start = mlx_backend::clamp_start(start, 398, mx::default_stream(mx::Device::cpu));
      EXPECT_TRUE(equals(held_start, {1}, {first})) << name(d);
    }
  }
}

TEST(Slice, BoundBeyondWhatTheStartHolds) {
  // The greatest start is not a value of uint8, int8, float16 or float32; it must not wrap or round.
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  constexpr std::int64_t kLast = 16777217;
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {255}, uint8), kLast, s), {1}, {255}));
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {-1}, int8), kLast, s), {1}, {0}));
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {kInfinity}, float16), kLast, s), {1}, {kLast}));
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {1e30}, bfloat16), kLast, s), {1}, {kLast}));
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {1e30}, float32), kLast, s), {1}, {kLast}));
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {1e30}, float64), 2147483646, s), {1}, {2147483646}));
  EXPECT_TRUE(equals(mlx_backend::clamp_start(make({}, {1}, bool_), kLast, s), {1}, {1}));
}

TEST(Slice, EveryMaskDTypeAndLayout) {
  const Shape shape{3, 5, 4};
  const Ints lengths{2, 5, 3};
  const Ints strides{1, 2, 2};
  for (const DType d : kEveryDType) {
    const array dense = sample(shape, d);
    for (std::int64_t mask = 0; mask < 8; ++mask) {
      for (const std::int64_t wish : {-7, 0, 1, 9}) {
        Ints clamped;
        SliceAttrs attrs{mask, shape, lengths, strides, {}};
        std::vector<array> starts;
        for (std::size_t a = 0; a < 3; ++a) {
          clamped.push_back(held(wish, shape[a], lengths[a]));
          const bool dynamic = ((mask >> a) & 1) != 0;
          attrs.starts.push_back(dynamic ? 77 : wish);
          if (dynamic)
            starts.push_back(make(a == 1 ? Shape{1} : Shape{}, {static_cast<double>(wish)}, a == 0 ? int8 : float32));
        }
        const auto wanted = window(dense, clamped, lengths, strides);
        for (const array& x : layouts(dense)) {
          std::vector<array> operands{x};
          operands.insert(operands.end(), starts.begin(), starts.end());
          EXPECT_TRUE(equals(apply("slice", attrs, operands), {2, 3, 2}, wanted)) << name(d) << mask << " " << wish;
        }
      }
    }
  }
}

TEST(Slice, ExtremeAttributes) {
  const array x = iota({4});
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{0, {4}, {3}, {2147483647}, {INT64_MAX}}, {x}), {1}, {1}));
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{0, {4}, {3}, {1}, {INT64_MIN}}, {x}), {3}, {0, 1, 2}));
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{0, {4}, {3}, {1}, {4294967297}}, {x}), {3}, {1, 2, 3}));
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{}, {make({}, {5})}), {}, {5}));
  EXPECT_TRUE(
      equals(apply("slice", SliceAttrs{1, {4}, {0}, {3}, {0}}, {x, make({}, {2}, int32)}), {0}, std::vector<double>{}));
  EXPECT_TRUE(equals(apply("slice", SliceAttrs{1, {0}, {0}, {1}, {0}}, {iota({0}), make({}, {2}, int32)}), {0},
                     std::vector<double>{}));
  EXPECT_FALSE(types_of("slice", SliceAttrs{0, {4}, {5}, {1}, {0}}, {{float32, {4}}}).ok());
  EXPECT_FALSE(types_of("slice", SliceAttrs{1, {4}, {2}, {1}, {0}}, {{float32, {4}}}).ok());
  EXPECT_FALSE(types_of("slice", SliceAttrs{1, {4}, {2}, {1}, {0}}, {{float32, {4}}, {int32, {2}}}).ok());
}

TEST(PutSlice, SpecExamples) {
  EXPECT_TRUE(equals(apply("put_slice", PutSliceAttrs{0, {10}, {2}, {9}}, {iota({10}), make({2}, {7, 8})}), {10},
                     {0, 1, 2, 3, 4, 5, 6, 7, 7, 8}));
  const PutSliceAttrs attrs{1, {3, 4}, {1, 2}, {0, 1}};
  EXPECT_TRUE(equals(apply("put_slice", attrs, {iota({3, 4}), make({1, 2}, {70, 71}), make({}, {9}, int32)}), {3, 4},
                     {0, 1, 2, 3, 4, 5, 6, 7, 8, 70, 71, 11}));
}

TEST(PutSlice, S09_WideStarts) {
  const PutSliceAttrs attrs{1, {4}, {2}, {0}};
  const array zeros = make({4}, {0, 0, 0, 0});
  const array block = make({2}, {1, 1});
  EXPECT_TRUE(
      equals(apply("put_slice", attrs, {zeros, block, make_ints({}, {3000000000}, uint32)}), {4}, {0, 0, 1, 1}));
  EXPECT_TRUE(equals(apply("put_slice", attrs, {zeros, block, make_ints({}, {4294967297}, int64)}), {4}, {0, 0, 1, 1}));
  EXPECT_TRUE(
      equals(apply("put_slice", attrs, {zeros, block, make_unsigned({}, {UINT64_MAX}, uint64)}), {4}, {0, 0, 1, 1}));
  EXPECT_TRUE(equals(apply("put_slice", attrs, {zeros, block, make({}, {kNaN})}), {4}, {1, 1, 0, 0}));
}

TEST(PutSlice, EveryMaskDTypeAndLayout) {
  const Shape shape{3, 4, 2};
  const Ints lengths{2, 2, 2};
  for (const DType d : kEveryDType) {
    const array dense = sample(shape, d, 1);
    const array update = sample(lengths, d, 2);
    const auto new_values = elements(update);
    for (std::int64_t mask = 0; mask < 8; ++mask) {
      for (const std::int64_t wish : {-7, 1, 9}) {
        PutSliceAttrs attrs{mask, shape, lengths, {}};
        std::vector<array> starts;
        Ints clamped;
        for (std::size_t a = 0; a < 3; ++a) {
          clamped.push_back(held(wish, shape[a], lengths[a]));
          const bool dynamic = ((mask >> a) & 1) != 0;
          attrs.starts.push_back(dynamic ? -5 : wish);
          if (dynamic) starts.push_back(make({}, {static_cast<double>(wish)}, a == 0 ? int16 : float16));
        }
        auto wanted = elements(dense);
        each(lengths, [&](const Shape& i, std::size_t at) {
          Shape to = i;
          for (std::size_t a = 0; a < 3; ++a) to[a] += clamped[a];
          wanted[position(to, shape)] = new_values[at];
        });
        const auto xs = layouts(dense);
        const auto updates = layouts(update);
        for (std::size_t k = 0; k < xs.size(); ++k) {
          std::vector<array> operands{xs[k], updates[(k + 1) % updates.size()]};
          operands.insert(operands.end(), starts.begin(), starts.end());
          EXPECT_TRUE(equals(apply("put_slice", attrs, operands), shape, wanted)) << name(d) << mask << " " << wish;
          EXPECT_TRUE(equals(xs[k], shape, elements(dense))) << "the operand changed";
        }
      }
    }
  }
}

TEST(PutSlice, UpdateIsConverted) {
  const PutSliceAttrs attrs{0, {3}, {2}, {1}};
  EXPECT_TRUE(equals(apply("put_slice", attrs, {iota({3}, uint8), make({2}, {300.5, kNaN})}), {3}, {0, 255, 0}));
  EXPECT_TRUE(equals(apply("put_slice", attrs, {iota({3}, int32), make({2}, {-1.9, 5}, float64)}), {3}, {0, -1, 5}));
  EXPECT_TRUE(equals(apply("put_slice", attrs, {iota({3}, bool_), make({2}, {0, kNaN})}), {3}, {0, 0, 1}));
  EXPECT_TRUE(equals(apply("put_slice", attrs, {iota({3}), make({2}, {6, 7}, complex64, {1, 1})}), {3}, {0, 6, 7}));
}

TEST(PutSlice, WholeAndNothing) {
  EXPECT_TRUE(
      equals(apply("put_slice", PutSliceAttrs{1, {2}, {2}, {0}}, {iota({2}), make({2}, {8, 9}), make({}, {5}, int32)}),
             {2}, {8, 9}));
  EXPECT_TRUE(
      equals(apply("put_slice", PutSliceAttrs{1, {2}, {0}, {0}}, {iota({2}), make({0}, {}), make({}, {5}, int32)}), {2},
             {0, 1}));
  EXPECT_TRUE(equals(apply("put_slice", PutSliceAttrs{0, {0, 2}, {0, 1}, {0, 0}}, {iota({0, 2}), make({0, 1}, {})}),
                     {0, 2}, std::vector<double>{}));
  EXPECT_FALSE(types_of("put_slice", PutSliceAttrs{0, {2}, {3}, {0}}, {{float32, {2}}, {float32, {3}}}).ok());
  EXPECT_FALSE(types_of("put_slice", PutSliceAttrs{0, {2}, {1}, {0}}, {{float32, {2}}, {float32, {2}}}).ok());
  EXPECT_FALSE(types_of("put_slice", PutSliceAttrs{}, {{float32, {}}, {float32, {}}}).ok());
}

// A broadcast operand has one element of memory; writing must not go through it.
TEST(PutSlice, IntoABroadcast) {
  const array zeros = mx::broadcast_to(make({}, {0}), {2, 3}, mx::default_stream(mx::Device::cpu));
  const PutSliceAttrs attrs{3, {2, 3}, {1, 2}, {0, 0}};
  EXPECT_TRUE(
      equals(apply("put_slice", attrs, {zeros, make({1, 2}, {1, 2}), make({}, {1}, int32), make({}, {1}, int32)}),
             {2, 3}, {0, 0, 0, 0, 1, 2}));
}

// Writes into an array that nobody else holds; returns whether the buffer stayed.
bool stays_in_place(const PutSliceAttrs& attrs, const std::vector<array>& starts) {
  array x = make({64, 16}, std::vector<double>(1024, 0));
  const void* before = x.data<float>();
  const ops::OpDef& op = *ops::find_def("put_slice");
  const std::vector<TensorType> results{type_of(x)};
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  std::vector<array> operands{std::move(x), make(attrs.lengths, {1, 2, 3, 4})};
  operands.insert(operands.end(), starts.begin(), starts.end());
  array y = mlx_backend::lower_put_slice({op, operands, results, s}, attrs);
  operands.clear();
  y.eval();
  EXPECT_EQ(elements(y)[5 * 16 + 3].re, 1);
  return y.data<float>() == before;
}

TEST(PutSlice, DonatesItsBuffer) {
  EXPECT_TRUE(stays_in_place({0, {64, 16}, {2, 2}, {5, 3}}, {}));
  EXPECT_TRUE(stays_in_place({1, {64, 16}, {2, 2}, {0, 3}}, {make({}, {5}, int32)}));
  EXPECT_TRUE(stays_in_place({3, {64, 16}, {2, 2}, {0, 0}}, {make({}, {5}, int64), make({}, {3}, uint8)}));
}

}  // namespace
}  // namespace reprise::movement
