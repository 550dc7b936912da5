#include "ops/window/window.hpp"

#include "indexing/indexing.hpp"
#include "ops/reduce/reduce.hpp"

namespace reprise::movement {
namespace {

using ops::Ints;
using ops::WindowAttrs;

constexpr const char* kEveryWindow[] = {"window_sum", "window_product", "window_max", "window_min"};

Shape window_counts(const Shape& shape, const WindowAttrs& a) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t padded = shape[i] + a.low[i] + a.high[i];
    const std::int64_t reach = (a.sizes[i] - 1) * a.dilations[i] + 1;
    out.push_back(reach > padded ? 0 : (padded - reach) / a.strides[i] + 1);
  }
  return out;
}

// What stands outside of x: the neutral element.
Num neutral(std::string_view op, DType d) {
  if (op == "window_sum" || op == "window_product") return num(op == "window_sum" ? 0 : 1, d);
  const bool least = op == "window_max";
  if (!is_integer(d) && d != bool_) return num(least ? -kInfinity : kInfinity, d);
  const bool has_sign = kind(d) == DTypeKind::signed_integer;
  const auto bits = static_cast<int>(8 * size_of(d)) - (has_sign ? 1 : 0);
  Num n;
  const Int128 end = d == bool_ ? 2 : Int128{1} << bits;
  n.i = least ? (has_sign ? -end : 0) : end - 1;
  return n;
}

std::vector<Num> reduced(std::string_view op, const array& x, const WindowAttrs& a) {
  const auto values = elements(x);
  const Shape shape = type_of(x).shape;
  DType d = type_of(x).dtype;
  const Num outside = neutral(op, d);
  if (op == "window_sum" || op == "window_product") d = ops::widened(d);
  std::vector<Num> out;
  each(window_counts(shape, a), [&](const Shape& o, std::size_t) {
    Num total = outside;
    each(a.sizes, [&](const Shape& k, std::size_t) {
      Shape at;
      bool inside = true;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        at.push_back(o[i] * a.strides[i] + k[i] * a.dilations[i] - a.low[i]);
        inside = inside && at[i] >= 0 && at[i] < shape[i];
      }
      if (!inside) return;
      const Num& value = values[position(at, shape)];
      total = op == "window_sum"       ? plus(total, value, d)
              : op == "window_product" ? times(total, value, d)
                                       : extreme(total, value, op == "window_max");
    });
    out.push_back(total);
  });
  return out;
}

void check(std::string_view op, const array& x, const WindowAttrs& a, double tolerance = 0) {
  const TensorType type = type_of(x);
  EXPECT_TRUE(equals(apply(op, a, {x}), window_counts(type.shape, a), reduced(op, x, a), tolerance))
      << op << " " << to_string(type) << " low " << to_string(a.low) << " high " << to_string(a.high) << " strides "
      << to_string(a.strides) << " sizes " << to_string(a.sizes) << " dilations " << to_string(a.dilations);
}

// One axis: low, high, stride, size, dilation.
WindowAttrs line(std::int64_t low, std::int64_t high, std::int64_t stride, std::int64_t size,
                 std::int64_t dilation = 1) {
  return {0, {low}, {high}, {stride}, {size}, {dilation}};
}

TEST(Window, SpecExamples) {
  const array x = make({5}, {1, 2, 3, 4, 5});
  EXPECT_TRUE(equals(apply("window_sum", line(0, 0, 1, 2), {x}), {4}, {3, 5, 7, 9}));
  EXPECT_TRUE(equals(apply("window_sum", line(0, 0, 2, 2), {x}), {2}, {3, 7}));
  EXPECT_TRUE(equals(apply("window_sum", line(1, 1, 1, 3), {x}), {5}, {3, 6, 9, 12, 9}));
  EXPECT_TRUE(equals(apply("window_sum", line(0, 0, 1, 2, 2), {x}), {3}, {4, 6, 8}));
  EXPECT_TRUE(equals(apply("window_max", line(1, 1, 1, 3), {x}), {5}, {2, 3, 4, 5, 5}));
  EXPECT_TRUE(equals(apply("window_product", line(1, 0, 1, 2), {x}), {5}, {1, 2, 6, 12, 20}));
  const WindowAttrs square{0, {0, 0}, {1, 0}, {2, 1}, {2, 2}, {1, 2}};
  EXPECT_TRUE(equals(apply("window_sum", square, {iota({4, 4})}), {2, 2}, {12, 16, 44, 48}));
  EXPECT_TRUE(equals(apply("window_sum", line(0, 0, 1, 2, 2), {make({4}, {1, kNaN, 3, 4})}), {2}, {4, kNaN}));
}

TEST(Window, Q7_NeutralElements) {
  EXPECT_TRUE(equals(apply("window_max", line(1, 0, 1, 1), {make({3}, {-3, -2, -1}, int8)}), {4}, {-128, -3, -2, -1}));
  for (const DType d : kEveryDType) {
    if (is_complex(d)) continue;
    for (const char* op : {"window_max", "window_min"}) {
      check(op, sample({3}, d), line(2, 2, 1, 2));     // windows of nothing but padding
      check(op, sample({3}, d), line(1, 1, 2, 2, 3));  // dilation
      check(op, make({0}, {}, d), line(2, 1, 1, 2));   // x is empty
    }
  }
  check("window_max", make_unsigned({2}, {0, UINT64_MAX}, uint64), line(1, 1, 1, 1));
  check("window_min", make_ints({2}, {INT64_MAX, INT64_MIN}, int64), line(1, 1, 1, 1));
}

TEST(Window, B21_SmallestValuesWin) {
  EXPECT_TRUE(equals(apply("window_max", line(1, 1, 1, 2), {make({2}, {-32768, -32767}, int16)}), {3},
                     {-32768, -32767, -32767}));
  const array small = make({1}, {-3.0e38}, bfloat16);
  EXPECT_TRUE(
      equals(apply("window_max", line(1, 1, 1, 2), {small}), {2}, {elements(small)[0].re, elements(small)[0].re}));
}

TEST(Window, NaNWinsWhereverItIs) {
  for (const DType d : kEveryFloat) {
    for (std::size_t place = 0; place < 9; ++place) {
      std::vector<double> values{5, -3, 2, kInfinity, 1, -kInfinity, 4, 8, -2};
      values[place] = kNaN;
      for (const char* op : {"window_max", "window_min", "window_sum"}) {
        check(op, make({9}, values, d), line(1, 2, 1, 3));
        check(op, make({9}, values, d), line(0, 0, 1, 2, 3));
        check(op, make({3, 3}, values, d), {0, {1, 0}, {0, 1}, {1, 1}, {2, 3}, {1, 1}});
        check(op, make({9}, values, d), line(0, 0, 1, 9));
      }
    }
  }
}

TEST(Window, EmptyAxes) {
  for (const char* op : kEveryWindow) {
    EXPECT_TRUE(equals(apply(op, line(0, 0, 1, 4), {iota({3})}), {0}, std::vector<double>{}));
    EXPECT_TRUE(equals(apply(op, line(0, 1, 1, 3, 2), {iota({3})}), {0}, std::vector<double>{}));
    check(op, make({0, 3}, {}), {0, {0, 0}, {0, 0}, {1, 1}, {1, 2}, {1, 1}});
    check(op, make({0, 3}, {}), {0, {1, 0}, {1, 0}, {1, 1}, {2, 2}, {1, 1}});
    EXPECT_FALSE(types_of(op, line(0, 0, 1, 5), {{float32, {3}}}).ok());
    EXPECT_FALSE(types_of(op, line(0, 0, 1, 2), {{float32, {3, 3}}}).ok());
  }
  EXPECT_TRUE(equals(apply("window_sum", WindowAttrs{}, {make({}, {7})}), {}, {7}));
  EXPECT_TRUE(equals(apply("window_max", WindowAttrs{}, {make({}, {1}, bool_)}), {}, {1}));
  EXPECT_FALSE(types_of("window_max", line(0, 0, 1, 2), {{complex64, {3}}}).ok());
}

TEST(Window, Widening) {
  for (const DType d : {bool_, uint8, uint16, int8, int16}) {
    const DType wide = d == uint8 || d == uint16 ? uint32 : int32;
    EXPECT_EQ(type_of(apply("window_sum", line(0, 0, 1, 2), {sample({4}, d)})).dtype, wide);
    EXPECT_EQ(type_of(apply("window_product", line(0, 0, 1, 2), {sample({4}, d)})).dtype, wide);
    EXPECT_EQ(type_of(apply("window_max", line(0, 0, 1, 2), {sample({4}, d)})).dtype, d);
  }
  EXPECT_TRUE(equals(apply("window_sum", line(0, 0, 1, 2), {make({2}, {200, 100}, uint8)}), {1}, {300}));
  EXPECT_TRUE(equals(apply("window_sum", line(0, 0, 1, 2), {make({2}, {2147483647, 1}, int32)}), {1}, {-2147483648.0}));
  check("window_product", make({2}, {65536, 65537}, int32), line(0, 0, 1, 2));
  check("window_sum", make_unsigned({2}, {UINT64_MAX, 2}, uint64), line(0, 0, 1, 2));
}

TEST(Window, HalvesAreCarriedInFloat32) {
  for (const DType d : {float16, bfloat16}) {
    const array ones = make({4096}, std::vector<double>(4096, 1), d);
    for (const WindowAttrs& a : {line(0, 0, 1, 3000), line(0, 0, 4096, 4096)}) {
      for (const Num& n : elements(apply("window_sum", a, {ones}))) {
        EXPECT_NEAR(n.re, static_cast<double>(a.sizes[0]), static_cast<double>(a.sizes[0]) * epsilon(d));
      }
    }
  }
}

TEST(Window, EveryDTypeAndLayout) {
  const WindowAttrs twelve{0, {1, 0, 2}, {0, 1, 1}, {1, 2, 2}, {2, 3, 2}, {1, 1, 2}};
  // Of products few, so that they stay within float16.
  const WindowAttrs four{0, {1, 0, 2}, {0, 1, 1}, {1, 2, 2}, {2, 1, 2}, {1, 1, 2}};
  for (const char* op : kEveryWindow) {
    for (const DType d : kEveryDType) {
      if (is_complex(d) && op != kEveryWindow[0] && op != kEveryWindow[1]) continue;
      for (const array& x : operands_like(sample({3, 5, 4}, d))) {
        const bool product = op == kEveryWindow[1];
        check(op, x, product ? four : twelve, product ? 4 * epsilon(d) : 0);
      }
    }
  }
}

TEST(Window, EverySizeStrideAndDilation) {
  const array x = sample({23}, int32);
  for (const char* op : {"window_sum", "window_min"}) {
    for (std::int64_t size = 1; size <= 24; ++size) {
      for (const std::int64_t stride : {1, 2, 5, 40}) {
        for (const std::int64_t dilation : {1, 2, 7}) {
          for (const std::int64_t low : {0, 3, 30}) {
            const WindowAttrs a = line(low, 4, stride, size, dilation);
            if (types_of(op, a, {type_of(x)}).ok()) check(op, x, a);
          }
        }
      }
    }
  }
}

// Memory and time grow with the array, not with array times window.
TEST(Window, LongWindows) {
  const array x = sample({1, 4096}, float32);
  const WindowAttrs attrs{0, {0, 256}, {0, 255}, {1, 1}, {1, 512}, {1, 1}};
  for (const char* op : {"window_sum", "window_max", "window_min"}) check(op, x, attrs);
  mx::reset_peak_memory();
  const array image = sample({1024, 1024}, float32);
  const std::size_t before = mx::get_active_memory();
  apply("window_max", WindowAttrs{0, {0, 0}, {0, 0}, {1, 1}, {300, 300}, {1, 1}}, {image});
  EXPECT_LT(mx::get_peak_memory(), before + 20 * image.nbytes());
}

// The whole axis, or tiles of it.
TEST(Window, WithoutOverlap) {
  for (const DType d : kEveryDType) {
    for (const char* op : {"window_sum", "window_max", "window_min"}) {
      if (is_complex(d) && op[7] == 'm') continue;
      for (const array& x : operands_like(sample({2, 40, 3}, d))) {
        check(op, x, {0, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 40, 1}, {1, 1, 1}});
        check(op, x, {0, {0, 3, 0}, {0, 2, 0}, {1, 13, 1}, {2, 9, 3}, {1, 1, 1}});
        check(op, x, {0, {0, 2, 0}, {0, 0, 0}, {1, 20, 1}, {1, 10, 1}, {1, 2, 1}});
      }
    }
  }
  std::vector<double> values(30, 1);
  values[17] = kNaN;
  for (const DType d : kEveryFloat) {
    for (const char* op : kEveryWindow) check(op, make({30}, values, d), line(0, 0, 15, 15));
  }
}

TEST(Window, ExtremeAttributes) {
  constexpr std::int64_t kMost = 2147483647;
  const array x = make({4}, {1, 2, 3, 4});
  // Nothing of the padding may be laid out.
  EXPECT_TRUE(equals(apply("window_sum", line(kMost, 0, kMost, 1), {x}), {2}, {0, 1}));
  EXPECT_TRUE(equals(apply("window_sum", line(kMost, 0, 1, kMost), {x}), {5}, {0, 1, 3, 6, 10}));
  EXPECT_TRUE(equals(apply("window_max", line(kMost, kMost, 1 << 30, kMost), {x}), {3}, {-kInfinity, 4, 4}));
  EXPECT_TRUE(equals(apply("window_sum", line(kMost, kMost, kMost, 2, kMost), {x}), {2}, {1, 1}));
  EXPECT_TRUE(equals(apply("window_product", line(2, 1, kMost, 1, kMost), {x}), {1}, {1}));
}

TEST(Window, Random) {
  with_seeds(200, [](std::mt19937& random) {
    const auto rank = pick(random, 1, 4);
    const Shape shape = pick_shape(random, rank, 1, 7);
    WindowAttrs a;
    for (std::int64_t i = 0; i < rank; ++i) {
      const auto extent = shape[static_cast<std::size_t>(i)];
      a.low.push_back(pick(random, 0, 3));
      a.high.push_back(pick(random, 0, 3));
      a.strides.push_back(pick(random, 1, 3));
      a.dilations.push_back(pick(random, 1, 3));
      const std::int64_t padded = extent + a.low.back() + a.high.back();
      a.sizes.push_back(pick(random, 1, padded / a.dilations.back() + 1));
      if ((a.sizes.back() - 1) * a.dilations.back() + 1 > padded + 1) a.sizes.back() = 1;
    }
    DType d = pick_dtype(random);
    const char* op = kEveryWindow[random() % 4];
    if (is_complex(d) && op != kEveryWindow[0]) d = float32;
    // Products of many are compared where they wrap, and are exact.
    if (op == kEveryWindow[1] && !is_integer(d)) d = uint16;
    for (const array& x : operands_like(sample(shape, d, random()))) check(op, x, a);
  });
}

}  // namespace
}  // namespace reprise::movement
