#include <algorithm>

#include "movement/movement.hpp"
#include "ops/reduce/reduce.mlx.hpp"
#include "ops/shape/shape.hpp"

namespace reprise::movement {
namespace {

using ops::ArgReduceAttrs;
using ops::ReduceAttrs;

bool contains(const ops::Ints& axes, std::size_t a) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(a)) != axes.end();
}

// The elements that meet in each element of the result, in row-major order.
std::vector<std::vector<Num>> groups(const array& x, const ops::Ints& axes) {
  const Shape shape = type_of(x).shape;
  Shape kept;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (!contains(axes, a)) kept.push_back(shape[a]);
  }
  std::vector<std::vector<Num>> out(static_cast<std::size_t>(count(kept)));
  const auto values = elements(x);
  each(shape, [&](const Shape& index, std::size_t at) {
    Shape to;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      if (!contains(axes, a)) to.push_back(index[a]);
    }
    out[position(to, kept)].push_back(values[at]);
  });
  return out;
}

Num extreme(const std::vector<Num>& list, bool greatest) {
  Num best = list[0];
  for (const Num& n : list) {
    if (best.is_nan()) return best;
    if (n.is_nan() || (greatest ? less(best, n) : less(n, best))) best = n;
  }
  return best;
}

// Reduces `x` in every layout, over every set of axes, and compares with `reference` of each group.
void check_reduction(std::string_view name, const array& dense,
                     const std::function<Num(const std::vector<Num>&)>& reference, double tolerance = 0) {
  const Shape shape = type_of(dense).shape;
  for (unsigned mask = 1; mask < (1u << shape.size()); ++mask) {
    ReduceAttrs attrs;
    Shape kept, full;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const bool reduced = ((mask >> a) & 1) != 0;
      if (reduced) attrs.axes.push_back(static_cast<std::int64_t>(a));
      if (!reduced) kept.push_back(shape[a]);
      full.push_back(reduced ? 1 : shape[a]);
    }
    std::vector<Num> wanted;
    for (const auto& group : groups(dense, attrs.axes)) wanted.push_back(reference(group));
    for (const array& x : layouts(dense)) {
      EXPECT_TRUE(equals(apply(name, attrs, {x}), kept, wanted, tolerance)) << name << " " << mask;
    }
    attrs.keep_axes = true;
    EXPECT_TRUE(equals(apply(name, attrs, {dense}), full, wanted, tolerance)) << name << " " << mask;
  }
}

TEST(Sum, SpecExamples) {
  EXPECT_TRUE(equals(apply("sum", ReduceAttrs{true, {1}}, {iota({2, 3})}), {2, 1}, {3, 12}));
  const array y = apply("sum", ReduceAttrs{false, {0}}, {make({2}, {200, 100}, uint8)});
  EXPECT_EQ(y.dtype(), mx::uint32);
  EXPECT_TRUE(equals(y, {}, {300}));
}

TEST(Sum, EveryDTypeAxesAndLayout) {
  for (const DType d : kEveryDType) {
    check_reduction("sum", sample({3, 2, 4}, d), [&](const std::vector<Num>& list) {
      Num total;
      for (const Num& n : list) {
        total.i += n.i;
        total.re += n.re;
        total.im += n.im;
      }
      return total;
    });
  }
}

TEST(Product, EveryDTypeAxesAndLayout) {
  for (const DType d : kEveryDType) {
    const bool exact = is_integer(d) || d == bool_;
    const double tolerance = d == bfloat16 ? 0.05 : d == float16 ? 0.01 : 1e-5;
    check_reduction(
        "product", sample({2, 1, 3}, d),
        [&](const std::vector<Num>& list) {
          Num total{.i = exact ? 1 : 0, .re = exact ? 0.0 : 1.0};
          for (const Num& n : list) {
            total = {total.i * n.i, total.re * n.re - total.im * n.im, total.re * n.im + total.im * n.re};
          }
          if (d == float16 && std::abs(total.re) > 65504) total.re = std::copysign(kInfinity, total.re);
          return total;
        },
        exact ? 0 : tolerance);
  }
}

TEST(Sum, B14_NarrowUnsignedWidens) {
  EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {0}}, {make({1000}, std::vector<double>(1000, 255), uint8)}), {},
                     {255000}));
  const array y = apply("product", ReduceAttrs{false, {0}}, {make({2}, {200, 200}, uint8)});
  EXPECT_EQ(y.dtype(), mx::uint32);
  EXPECT_TRUE(equals(y, {}, {40000}));
}

TEST(Sum, B17_SixteenBitsAddUpInFloat32) {
  for (const DType d : {bfloat16, float16}) {
    // Contiguous, strided and scattered reductions take different ways through MLX.
    const array ones = make({512, 9, 3}, std::vector<double>(512 * 27, 1), d);
    for (const array& x : layouts(ones)) {
      EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {0}}, {x}), {9, 3}, std::vector<double>(27, 512)));
      EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {0, 2}}, {x}), {9}, std::vector<double>(9, 1536)));
      EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {0, 1, 2}}, {x}), {}, {13824}));
    }
  }
}

TEST(Sum, NothingAndNoAxes) {
  for (const DType d : kEveryDType) {
    const array empty = make({0, 3}, {}, d);
    EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {0}}, {empty}), {3}, {0, 0, 0})) << name(d);
    EXPECT_TRUE(equals(apply("product", ReduceAttrs{false, {0}}, {empty}), {3}, {1, 1, 1})) << name(d);
    EXPECT_TRUE(equals(apply("sum", ReduceAttrs{true, {1}}, {empty}), {0, 1}, std::vector<double>{})) << name(d);
    EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {0, 1}}, {empty}), {}, {0})) << name(d);
    const array same_type = apply("sum", ReduceAttrs{}, {make({2}, {0, 1}, d)});
    EXPECT_EQ(from_mlx(same_type.dtype()), d);
    EXPECT_TRUE(equals(same_type, {2}, {0, 1}));
    EXPECT_TRUE(equals(apply("sum", ReduceAttrs{}, {make({}, {1}, d)}), {}, {1}));
  }
}

TEST(Sum, IntegersWrap) {
  EXPECT_TRUE(
      equals(apply("sum", ReduceAttrs{false, {0}}, {make_ints({2}, {2147483647, 1}, int32)}), {}, {-2147483648.0}));
  const array y = apply("sum", ReduceAttrs{false, {0}}, {make_ints({2}, {INT64_MAX, INT64_MAX - 1}, uint64)});
  EXPECT_EQ(elements(y)[0].i, static_cast<Int128>(UINT64_MAX) - 2);
}

TEST(AllAny, EveryDTypeAxesAndLayout) {
  const auto truth = [](const Num& n) { return n.i != 0 || n.is_nan() || n.re != 0 || n.im != 0; };
  for (const DType d : kEveryDType) {
    const bool special = is_floating(d) || is_complex(d);
    const std::vector<double> re{0, special ? -0.0 : 0.0, 1, 2, special ? kNaN : 3.0, 0, 0, 0, 5, 1, 1, 4};
    const array dense = make({2, 3, 2}, re, d, {0, -0.0, 0, 0, 0, 1, kNaN, 0, 0, 0, 0, 0});
    check_reduction("all", dense, [&](const std::vector<Num>& list) {
      return Num{.i = std::all_of(list.begin(), list.end(), truth)};
    });
    check_reduction("any", dense, [&](const std::vector<Num>& list) {
      return Num{.i = std::any_of(list.begin(), list.end(), truth)};
    });
  }
}

TEST(AllAny, B06_MinusZeroIsZero) {
  for (const DType d : {float16, bfloat16, float32, float64, complex64}) {
    const array zeros = make({70}, std::vector<double>(70, -0.0), d, std::vector<double>(70, -0.0));
    EXPECT_TRUE(equals(apply("any", ReduceAttrs{false, {0}}, {zeros}), {}, {0})) << name(d);
    EXPECT_TRUE(equals(apply("all", ReduceAttrs{false, {0}}, {make({2}, {1, -0.0}, d)}), {}, {0})) << name(d);
    EXPECT_TRUE(equals(apply("any", ReduceAttrs{}, {make({3}, {1, -0.0, kNaN}, d)}), {3}, {1, 0, 1})) << name(d);
  }
}

TEST(AllAny, Nothing) {
  for (const DType d : kEveryDType) {
    EXPECT_TRUE(equals(apply("all", ReduceAttrs{false, {0}}, {make({0, 2}, {}, d)}), {2}, {1, 1})) << name(d);
    EXPECT_TRUE(equals(apply("any", ReduceAttrs{false, {0}}, {make({0, 2}, {}, d)}), {2}, {0, 0})) << name(d);
  }
}

TEST(Extremum, EveryDTypeAxesAndLayout) {
  for (const DType d : kEveryDType) {
    for (const bool greatest : {true, false}) {
      check_reduction(greatest ? "reduce_max" : "reduce_min", sample({3, 2, 4}, d),
                      [&](const std::vector<Num>& list) { return extreme(list, greatest); });
    }
  }
}

TEST(Extremum, NaNWinsWhereverItIs) {
  for (const DType d : {float16, bfloat16, float32, float64, complex64}) {
    for (const std::int64_t size : {1, 2, 7, 8, 17, 33, 64}) {
      for (const std::int64_t at : {std::int64_t{0}, size / 2, size - 1}) {
        std::vector<double> values(static_cast<std::size_t>(size * 3), 1);
        values[static_cast<std::size_t>(at * 3 + 1)] = kNaN;
        const array x = make({size, 3}, values, d);
        for (const auto* op : {"reduce_max", "reduce_min"}) {
          EXPECT_TRUE(equals(apply(op, ReduceAttrs{false, {0}}, {x}), {3}, {1, kNaN, 1})) << op << name(d) << size;
          EXPECT_TRUE(equals(apply(op, ReduceAttrs{false, {0, 1}}, {x}), {}, {kNaN})) << op << name(d) << size;
        }
      }
    }
  }
  // A NaN in the imaginary part of an element that is not the greatest.
  const array z = make({3}, {5, 0, 1}, complex64, {0, kNaN, 2});
  EXPECT_TRUE(elements(apply("reduce_max", ReduceAttrs{false, {0}}, {z}))[0].is_nan());
}

TEST(Extremum, B26_B27_NaN) {
  for (const DType d : kEveryFloat) {
    EXPECT_TRUE(equals(apply("reduce_max", ReduceAttrs{false, {0}}, {make({2, 3}, {1, 2, 3, kNaN, 5, 6}, d)}), {3},
                       {kNaN, 5, 6}));
    EXPECT_TRUE(
        equals(apply("reduce_max", ReduceAttrs{false, {0}}, {make({4}, {kNaN, kNaN, kNaN, 42}, d)}), {}, {kNaN}));
    EXPECT_TRUE(equals(apply("reduce_max", ReduceAttrs{false, {0}}, {make({3}, {kNaN, kNaN, 42}, d)}), {}, {kNaN}));
  }
}

TEST(Extremum, B21_Identities) {
  EXPECT_TRUE(equals(apply("reduce_max", ReduceAttrs{false, {0}}, {make({2}, {-32768, -32767}, int16)}), {}, {-32767}));
  EXPECT_TRUE(
      equals(apply("reduce_max", ReduceAttrs{false, {0}}, {make({1}, {-3.0e38}, bfloat16)}), {}, {-3.0e38}, 0.01));
  for (const DType d : kEveryFloat) {
    EXPECT_TRUE(equals(apply("reduce_max", ReduceAttrs{false, {0}}, {make({2}, {-kInfinity, -kInfinity}, d)}), {},
                       {-kInfinity}));
  }
  EXPECT_EQ(elements(apply("reduce_min", ReduceAttrs{false, {0}},
                           {make_unsigned({2}, {UINT64_MAX, UINT64_MAX - 1}, uint64)}))[0]
                .i,
            static_cast<Int128>(UINT64_MAX) - 1);
  EXPECT_EQ(
      elements(apply("reduce_max", ReduceAttrs{false, {0}}, {make_ints({2}, {INT64_MIN, INT64_MIN + 1}, int64)}))[0].i,
      static_cast<Int128>(INT64_MIN) + 1);
}

TEST(Extremum, EmptyAxes) {
  for (const DType d : {float32, int8, complex64}) {
    EXPECT_FALSE(types_of("reduce_max", ReduceAttrs{false, {0}}, {{d, {0, 3}}}).ok());
    EXPECT_TRUE(
        equals(apply("reduce_max", ReduceAttrs{false, {1}}, {make({0, 3}, {}, d)}), {0}, std::vector<double>{}));
    EXPECT_TRUE(equals(apply("reduce_min", ReduceAttrs{}, {make({0, 3}, {}, d)}), {0, 3}, std::vector<double>{}));
    EXPECT_FALSE(types_of("argmax", ArgReduceAttrs{0, false}, {{d, {0, 3}}}).ok());
    EXPECT_FALSE(types_of("argmin", ArgReduceAttrs{-1, false}, {{d, {0, 3}}}).ok());
    EXPECT_TRUE(equals(apply("argmax", ArgReduceAttrs{1, false}, {make({0, 3}, {}, d)}), {0}, std::vector<double>{}));
  }
}

// B36, the part about sums.
TEST(Reductions, B36_ReversedView) {
  const array reversed = apply("reverse", ops::AxesAttrs{{1}}, {make({2, 3}, {3, 1, 2, 9, 7, 8})});
  EXPECT_TRUE(equals(apply("sum", ReduceAttrs{false, {1}}, {reversed}), {2}, {6, 24}));
}

TEST(ArgExtremum, SpecExamples) {
  EXPECT_TRUE(equals(apply("argmax", ArgReduceAttrs{0, false}, {make({4}, {1, 3, 3, 2})}), {}, {1}));
  EXPECT_TRUE(equals(apply("argmax", ArgReduceAttrs{-1, true}, {iota({2, 3})}), {1, 1}, {5}));
}

TEST(ArgExtremum, FirstOneEveryDTypeAxisAndLayout) {
  const Shape shape{3, 2, 4};
  for (const DType d : kEveryDType) {
    const array dense = sample(shape, d);
    for (const bool greatest : {true, false}) {
      const auto first = [&](const std::vector<Num>& list) {
        const Num best = extreme(list, greatest);
        const auto it = std::find_if(list.begin(), list.end(), [&](const Num& n) { return same(n, best); });
        return Num{.i = it - list.begin()};
      };
      for (std::int64_t axis = -1; axis < 3; ++axis) {
        const ops::Ints axes = axis < 0 ? ops::Ints{0, 1, 2} : ops::Ints{axis};
        std::vector<Num> wanted;
        for (const auto& group : groups(dense, axes)) wanted.push_back(first(group));
        Shape kept = shape;
        Shape full = shape;
        if (axis < 0) {
          kept = {};
          full = {1, 1, 1};
        } else {
          kept.erase(kept.begin() + axis);
          full[static_cast<std::size_t>(axis)] = 1;
        }
        const auto* op = greatest ? "argmax" : "argmin";
        for (const array& x : layouts(dense)) {
          EXPECT_TRUE(equals(apply(op, ArgReduceAttrs{axis, false}, {x}), kept, wanted)) << op << name(d) << axis;
          EXPECT_TRUE(equals(apply(op, ArgReduceAttrs{axis, true}, {x}), full, wanted)) << op << name(d) << axis;
        }
      }
    }
    EXPECT_TRUE(equals(apply("argmax", ArgReduceAttrs{-1, false}, {make({}, {1}, d)}), {}, {0}));
  }
}

TEST(ArgExtremum, Q14_FirstNaNWins) {
  for (const DType d : {float16, bfloat16, float32, float64, complex64}) {
    for (const auto* op : {"argmax", "argmin"}) {
      EXPECT_TRUE(equals(apply(op, ArgReduceAttrs{0, false}, {make({3}, {1, kNaN, 2}, d)}), {}, {1})) << name(d);
      EXPECT_TRUE(equals(apply(op, ArgReduceAttrs{0, false}, {make({4}, {kInfinity, 1, kNaN, kNaN}, d)}), {}, {2}));
      EXPECT_TRUE(equals(apply(op, ArgReduceAttrs{-1, false}, {make({2, 2}, {-kInfinity, 5, kNaN, 7}, d)}), {}, {2}));
      EXPECT_TRUE(equals(apply(op, ArgReduceAttrs{0, false}, {make({2}, {-kInfinity, -kInfinity}, d)}), {}, {0}));
    }
  }
  EXPECT_TRUE(
      equals(apply("argmin", ArgReduceAttrs{0, false}, {make({3}, {1, 0, 5}, complex64, {0, kNaN, 0})}), {}, {1}));
}

TEST(ArgExtremum, B29_AllNaN) {
  for (const DType d : kEveryFloat) {
    EXPECT_TRUE(
        equals(apply("argmax", ArgReduceAttrs{0, false}, {make({100}, std::vector<double>(100, kNaN), d)}), {}, {0}));
  }
}

// What a GPU uses for floats must agree with the CPU's own kernels.
TEST(ComposedExtremum, AgreesWithKernels) {
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  for (const DType d : kEveryFloat) {
    for (const bool with_nan : {false, true}) {
      std::vector<double> values{3, -1, 3, 0, -1, kInfinity, -kInfinity, 2, 2, 5, 5, 1};
      if (with_nan) values[4] = values[7] = kNaN;
      const array x = make({3, 4}, values, d);
      for (const bool greatest : {true, false}) {
        for (int axis = 0; axis < 2; ++axis) {
          const auto* value_op = greatest ? "reduce_max" : "reduce_min";
          const array kernel = apply(value_op, ReduceAttrs{false, {axis}}, {x});
          EXPECT_TRUE(equals(mlx_backend::composed_extremum(x, {axis}, false, greatest, s), type_of(kernel).shape,
                             elements(kernel)));
          const array found = apply(greatest ? "argmax" : "argmin", ArgReduceAttrs{axis, false}, {x});
          EXPECT_TRUE(
              equals(mlx_backend::composed_arg_extremum(x, axis, greatest, s), type_of(found).shape, elements(found)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace reprise::movement
