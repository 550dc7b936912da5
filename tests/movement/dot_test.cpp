#include "ops/dot/dot.hpp"

#include <algorithm>
#include <complex>

#include "movement/movement.hpp"

namespace reprise::movement {
namespace {

using ops::DotAttrs;
using ops::Ints;

std::vector<std::size_t> free_axes(const Shape& shape, const Ints& batch, const Ints& contracted) {
  std::vector<std::size_t> out;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const auto in = [a](const Ints& list) {
      return std::find(list.begin(), list.end(), static_cast<std::int64_t>(a)) != list.end();
    };
    if (!in(batch) && !in(contracted)) out.push_back(a);
  }
  return out;
}

// By definition: for each result element a loop over all contracted coordinates, in double.
std::vector<Num> reference(const array& a, const array& b, const DotAttrs& attrs) {
  const Shape sa = type_of(a).shape;
  const Shape sb = type_of(b).shape;
  const auto va = elements(a);
  const auto vb = elements(b);
  const auto free_a = free_axes(sa, attrs.batch_a, attrs.contract_a);
  const auto free_b = free_axes(sb, attrs.batch_b, attrs.contract_b);
  Shape result, contracted;
  for (const auto x : attrs.batch_a) result.push_back(sa[static_cast<std::size_t>(x)]);
  for (const auto x : free_a) result.push_back(sa[x]);
  for (const auto x : free_b) result.push_back(sb[x]);
  for (const auto x : attrs.contract_a) contracted.push_back(sa[static_cast<std::size_t>(x)]);
  const auto value = [](const Num& n) { return std::complex<double>(n.re + static_cast<double>(n.i), n.im); };
  std::vector<Num> out;
  each(result, [&](const Shape& index, std::size_t) {
    Shape ia(sa.size()), ib(sb.size());
    std::size_t at = 0;
    for (std::size_t k = 0; k < attrs.batch_a.size(); ++k, ++at) {
      ia[static_cast<std::size_t>(attrs.batch_a[k])] = index[at];
      ib[static_cast<std::size_t>(attrs.batch_b[k])] = index[at];
    }
    for (const auto x : free_a) ia[x] = index[at++];
    for (const auto x : free_b) ib[x] = index[at++];
    std::complex<double> total = 0;
    each(contracted, [&](const Shape& c, std::size_t) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        ia[static_cast<std::size_t>(attrs.contract_a[k])] = c[k];
        ib[static_cast<std::size_t>(attrs.contract_b[k])] = c[k];
      }
      total += value(va[position(ia, sa)]) * value(vb[position(ib, sb)]);
    });
    out.push_back({.re = total.real(), .im = total.imag()});
  });
  return out;
}

struct Case {
  Shape a, b, result;
  DotAttrs attrs;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {{3}, {3}, {}, {{0}, {0}, {}, {}}},
      {{2, 3}, {3, 4}, {2, 4}, {{1}, {0}, {}, {}}},
      {{3, 2}, {4, 3}, {2, 4}, {{0}, {1}, {}, {}}},
      {{2, 3, 4}, {4, 3, 5}, {2, 5}, {{1, 2}, {1, 0}, {}, {}}},
      {{2, 3, 4}, {4, 3, 5}, {2, 5}, {{2, 1}, {0, 1}, {}, {}}},
      {{2, 3}, {4}, {2, 3, 4}, {{}, {}, {}, {}}},
      {{}, {}, {}, {{}, {}, {}, {}}},
      {{2, 2}, {}, {2, 2}, {{}, {}, {}, {}}},
      {{2, 2, 3}, {2, 3, 2}, {2, 2, 2}, {{2}, {1}, {0}, {0}}},
      {{2, 5, 3, 4}, {3, 4, 2, 6}, {3, 2, 5, 6}, {{3}, {1}, {2, 0}, {0, 2}}},
      {{2, 3, 4}, {5, 4, 2}, {4, 2, 3, 5}, {{}, {}, {2, 0}, {1, 2}}},
      {{2, 3}, {2, 3}, {2, 3}, {{}, {}, {0, 1}, {0, 1}}},
      {{2, 3}, {3, 2}, {3}, {{0}, {1}, {1}, {0}}},
      {{4, 1, 3}, {3, 1}, {4, 1, 1}, {{2}, {0}, {}, {}}},
      {{1, 40, 33}, {1, 33, 17}, {1, 40, 17}, {{2}, {1}, {0}, {0}}},
  };
  return all;
}

TEST(Dot, SpecExamples) {
  EXPECT_TRUE(equals(apply("dot", DotAttrs{{1}, {0}, {}, {}}, {iota({2, 3}), iota({3, 4})}), {2, 4},
                     {20, 23, 26, 29, 56, 68, 80, 92}));
  EXPECT_TRUE(equals(apply("dot", DotAttrs{}, {iota({2}), iota({3})}), {2, 3}, {0, 0, 0, 0, 1, 2}));
  EXPECT_TRUE(equals(apply("dot", DotAttrs{{2}, {1}, {0}, {0}}, {iota({2, 2, 3}), iota({2, 3, 2})}), {2, 2, 2},
                     {10, 13, 28, 40, 172, 193, 244, 274}));
}

TEST(Dot, EveryFormDTypeAndLayout) {
  for (const DType d : {float16, bfloat16, float32, float64, complex64}) {
    // bfloat16 rounds the result only: sums are in float32, and these are exact there.
    const double tolerance = d == bfloat16 ? 0.004 : d == float16 ? 0.0005 : 0;
    for (const Case& c : cases()) {
      const array a = sample(c.a, d, 1);
      const array b = sample(c.b, d, 2);
      const auto wanted = reference(a, b, c.attrs);
      const auto as = layouts(a);
      const auto bs = layouts(b);
      for (std::size_t k = 0; k < std::max(as.size(), bs.size()); ++k) {
        const array y = apply("dot", c.attrs, {as[k % as.size()], bs[(k + 1) % bs.size()]});
        EXPECT_EQ(from_mlx(y.dtype()), d);
        EXPECT_TRUE(equals(y, c.result, wanted, tolerance)) << name(d) << " " << to_string(c.a) << to_string(c.b);
      }
    }
  }
}

TEST(Dot, NegativeAxes) {
  EXPECT_TRUE(equals(apply("dot", DotAttrs{{-1}, {-2}, {}, {}}, {iota({2, 3}), iota({3, 4})}), {2, 4},
                     {20, 23, 26, 29, 56, 68, 80, 92}));
}

TEST(Dot, MixedDTypesPromoteFirst) {
  for (const DType a : kEveryDType) {
    for (const DType b : kEveryDType) {
      const auto types = types_of("dot", DotAttrs{{0}, {0}, {}, {}}, {{a, {3}}, {b, {3}}});
      const DType wide = promote(a, b);
      ASSERT_EQ(types.ok(), is_floating(wide) || is_complex(wide)) << name(a) << " " << name(b);
      if (!types) continue;
      const array x = make({3}, {1, 0, 1}, a);
      const array y = make({3}, {1, 1, 1}, b);
      EXPECT_TRUE(equals(apply("dot", DotAttrs{{0}, {0}, {}, {}}, {x, y}), {}, {2})) << name(a) << " " << name(b);
    }
  }
  // 256 + 1 is exact in the promoted float32, not in bfloat16.
  EXPECT_TRUE(
      equals(apply("dot", DotAttrs{{0}, {0}, {}, {}}, {make({2}, {256, 1}, bfloat16), make({2}, {1, 1})}), {}, {257}));
}

TEST(Dot, B61_UnsortedContractions) {
  EXPECT_TRUE(
      equals(apply("dot", DotAttrs{{2, 1}, {1, 2}, {0}, {0}}, {iota({2, 2, 2}), iota({2, 2, 2})}), {2}, {13, 125}));
  EXPECT_TRUE(
      equals(apply("dot", DotAttrs{{2, 1}, {2, 1}, {0}, {0}}, {iota({2, 2, 2}), iota({2, 2, 2})}), {2}, {14, 126}));
}

TEST(Dot, B60_EmptyContractionGivesZeros) {
  for (const DType d : {float16, bfloat16, float32, float64, complex64}) {
    const array y = apply("dot", DotAttrs{{1}, {0}, {}, {}}, {make({2, 0}, {}, d), make({0, 3}, {}, d)});
    EXPECT_TRUE(equals(y, {2, 3}, {0, 0, 0, 0, 0, 0})) << name(d);
    const array z = apply("dot", DotAttrs{{2}, {1}, {0}, {0}}, {make({2, 1, 0}, {}, d), make({2, 0, 1}, {}, d)});
    EXPECT_TRUE(equals(z, {2, 1, 1}, {0, 0})) << name(d);
  }
}

TEST(Dot, B56_EmptyResults) {
  EXPECT_TRUE(equals(apply("dot", DotAttrs{{2}, {0}, {}, {}}, {iota({1, 0, 4}), iota({4, 2})}), {1, 0, 2},
                     std::vector<double>{}));
  EXPECT_TRUE(equals(apply("dot", DotAttrs{{2}, {1}, {0}, {0}}, {iota({0, 2, 3}), iota({0, 3, 4})}), {0, 2, 4},
                     std::vector<double>{}));
}

TEST(Dot, NaNAndInfinityReachTheirRowsOnly) {
  for (const DType d : {float16, bfloat16, float32, float64, complex64}) {
    const array a = make({3, 2}, {1, 2, kNaN, 0, kInfinity, 1}, d);
    const array y = apply("dot", DotAttrs{{1}, {0}, {}, {}}, {a, make({2, 2}, {1, 0, 1, 1}, d)});
    const auto v = elements(y);
    EXPECT_EQ(v[0].re, 3) << name(d);
    EXPECT_EQ(v[1].re, 2) << name(d);
    EXPECT_TRUE(v[2].is_nan() && v[3].is_nan()) << name(d);
    EXPECT_EQ(v[4].re, kInfinity) << name(d);
    EXPECT_TRUE(v[5].is_nan()) << name(d);
  }
}

TEST(Dot, LongSumsInSixteenBits) {
  for (const DType d : {float16, bfloat16}) {
    const std::vector<double> ones(2048, 1);
    const array y = apply("dot", DotAttrs{{1}, {1}, {}, {}}, {make({1, 2048}, ones, d), make({1, 2048}, ones, d)});
    EXPECT_TRUE(equals(y, {1, 1}, {2048})) << name(d);
  }
}

TEST(Dot, MoreAxesThanLetters) {
  Shape ones(20, 1);
  Shape shape = ones;
  shape.push_back(2);
  const array y = apply("dot", DotAttrs{{20}, {20}, {0}, {0}}, {make(shape, {1, 2}), make(shape, {3, 4})});
  EXPECT_EQ(type_of(y).shape, Shape(39, 1));
  EXPECT_EQ(elements(y)[0].re, 11);
}

TEST(Dot, ErrorsNameTheAxes) {
  EXPECT_FALSE(types_of("dot", DotAttrs{{1}, {0}, {}, {}}, {{float32, {2, 3}}, {float32, {4, 3}}}).ok());
  EXPECT_FALSE(types_of("dot", DotAttrs{{1}, {}, {}, {}}, {{float32, {2, 3}}, {float32, {3}}}).ok());
  EXPECT_FALSE(types_of("dot", DotAttrs{{1, 1}, {0, 1}, {}, {}}, {{float32, {2, 3}}, {float32, {3, 3}}}).ok());
  EXPECT_FALSE(types_of("dot", DotAttrs{}, {{float32, {65536, 65536}}, {float32, {}}}).ok());
}

}  // namespace
}  // namespace reprise::movement
