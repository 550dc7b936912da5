// The reference's quirks that are mended here (Q numbers of the op manual) and public faults (B and S numbers) by
// example. The sweeps beside this file cover the whole kinds.
#include "harness.hpp"

namespace reprise::mlx_backend {
namespace {

const std::vector<DType> kFloatTypes{DType::float16, DType::bfloat16, DType::float32, DType::float64};
const std::vector<DType> kSignedTypes{DType::int8, DType::int16, DType::int32, DType::int64};
const std::vector<DType> kUnsignedTypes{DType::uint8, DType::uint16, DType::uint32, DType::uint64};

std::vector<DType> operator+(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

array on(std::string_view op, DType d, const std::vector<Complex>& a) { return apply(op, {make(d, a)}); }
array on(std::string_view op, DType d, const std::vector<Complex>& a, const std::vector<Complex>& b) {
  return apply(op, {make(d, a), make(d, b)});
}
Real least_of(DType d) { return -std::ldexp(Real{1}, static_cast<int>(8 * size_of(d)) - 1); }

TEST(Manual, Examples) {
  expect_values(on("negate", DType::uint8, {1}), {255});
  EXPECT_NEAR(static_cast<double>(read(on("erfc", DType::float32, {1}))[0].real()), 0.157299, 5e-7);
  expect_values(on("cbrt", DType::float32, {8, -8}), {2, -2});
  for (const DType d : kFloatTypes + kSignedTypes) {
    expect_values(on("remainder", d, {7, -7, 7, -7, 6, -6, 6, -6}, {3, 3, -3, -3, 3, 3, -3, -3}),
                  {1, -1, 1, -1, 0, 0, 0, 0});
  }
  for (const DType d : kFloatTypes) {
    expect_values(on("remainder", d, {-7.5L, 1}, {3, 0}), {-1.5L, kNan});
    expect_values(on("divide", d, {1, -1, 0}, {0, 0, 0}), {kInf, -kInf, kNan});
  }
  expect_values(on("divide", DType::int32, {7, 1}, {2, 0}), {3.5L, kInf});
}

TEST(Quirks, Q1_S05_CbrtIsRealAndKeepsTheDtype) {
  for (const DType d : kFloatTypes)
    expect_values(on("cbrt", d, {-8, 27, 0, -0.0L, kInf, -kInf, kNan}), {-2, 3, 0, 0, kInf, -kInf, kNan});
  EXPECT_EQ(on("cbrt", DType::int32, {27}).dtype(), mx::float32);
}

TEST(Quirks, Q2_QuotientTruncates) {
  for (const DType d : kFloatTypes + kSignedTypes)
    expect_values(on("quotient", d, {-7, 7, -7}, {2, -2, -2}), {-3, -3, 3});
}

TEST(Quirks, Q3_S01_B04_RemainderHasTheSignOfTheDividend) {
  for (const DType d : kFloatTypes + kSignedTypes) {
    expect_values(on("remainder", d, {-4, -7, 7, -1, 1}, {2, -2, -2, 3, -3}), {0, -1, 1, -1, 1});
  }
  for (const DType d : kFloatTypes) {
    expect_values(on("remainder", d, {-6, 5, -5, kInf, kNan, -0.0L}, {3, kInf, -kInf, 2, 2, 1}),
                  {-0.0L, 5, -5, kNan, kNan, -0.0L}, false);
  }
  // A quotient of 2^1000 and more: exact all the same.
  const std::vector<Complex> a{1e300L, -1e300L, 0x1.fffffffffffffp1023L};
  std::vector<Complex> want;
  for (const Complex& x : a) want.push_back(std::fmod(static_cast<double>(x.real()), 3.1));
  expect_values(on("remainder", DType::float64, a, {Real{3.1}, Real{3.1}, Real{3.1}}), want);
}

TEST(Quirks, Q12_B09_S04_RoundTiesAwayFromZero) {
  for (const DType d : kFloatTypes) {
    const Real below = 0.5L - format_of(d).epsilon / 4;
    expect_values(on("round", d, {0.5L, 1.5L, 2.5L, -0.5L, -1.5L, -0.3L, -0.0L, below, -below, kInf, -kInf, kNan}),
                  {1, 2, 3, -1, -2, -0.0L, -0.0L, 0, -0.0L, kInf, -kInf, kNan}, false);
  }
  expect_values(on("round", DType::float32, {8388609, 4194304.5L, -16777217}), {8388609, 4194305, -16777216});
  expect_values(on("round", DType::complex64, {{0.5L, -2.5L}, {-1.5L, 0.4L}}), {{1, -3}, {-2, 0}});
}

TEST(Quirks, Q13_ErfcKeepsItsDigits) {
  EXPECT_NEAR(static_cast<double>(read(on("erfc", DType::float32, {4}))[0].real()), 1.5417257900280018e-8, 4e-15);
  EXPECT_NEAR(static_cast<double>(read(on("erfc", DType::float64, {4}))[0].real()), 1.5417257900280018e-8, 4e-23);
}

TEST(Quirks, Q15_B10_B11_AstypeSaturates) {
  for (const DType d : kFloatTypes) {
    expect_values(cast_to("astype", make(d, {kInf, -kInf, kNan, 300, -1}), DType::uint8), {255, 0, 0, 255, 0});
    expect_values(cast_to("astype", make(d, {kInf, -kInf, kNan}), DType::int32), {2147483647, -2147483648.0L, 0});
    expect_values(cast_to("astype", make(d, {kInf, -kInf}), DType::int64),
                  {9223372036854775807.0L, -9223372036854775808.0L});
    expect_values(cast_to("astype", make(d, {kInf, -kInf}), DType::uint64), {18446744073709551615.0L, 0});
  }
  expect_values(cast_to("astype", make(DType::float32, {70000}), DType::uint8), {255});
}

TEST(Quirks, Q16_B01_IntegerDivisionByZeroAndOfTheLeastInteger) {
  for (const DType d : kSignedTypes) {
    const Real least = least_of(d);
    expect_values(on("quotient", d, {7, -7, 0, least, least}, {0, 0, 0, -1, 0}), {0, 0, 0, least, 0});
    expect_values(on("remainder", d, {7, -7, 0, least, least}, {0, 0, 0, -1, 0}), {7, -7, 0, 0, least});
  }
  for (const DType d : kUnsignedTypes) {
    expect_values(on("quotient", d, {7, 0, 255}, {0, 0, 2}), {0, 0, 127});
    expect_values(on("remainder", d, {7, 0, 255}, {0, 0, 2}), {7, 0, 1});
  }
}

TEST(Quirks, Q16_B03_NegativeIntegerExponents) {
  for (const DType d : kSignedTypes) {
    expect_values(on("pow", d, {3, -2, 1, -1, -1, 0, 0, 2}, {-1, -4, -5, -3, -4, -1, 0, least_of(d)}),
                  {0, 0, 1, -1, 1, 0, 1, 0});
  }
  expect_values(on("pow", DType::int32, {3, 46341, 2}, {21, 2, 31}), {1870418611, -2147479015, -2147483648.0L});
  expect_values(on("pow", DType::uint8, {3, 255}, {6, 255}), {217, 255});
}

TEST(Quirks, Q17_ShiftsOutOfRange) {
  for (const DType d : kSignedTypes) {
    const Real width = static_cast<Real>(8 * size_of(d));
    expect_values(on("left_shift", d, {3, 3, 3, -3}, {width, -1, width - 1, 127}), {0, 0, least_of(d), 0});
    expect_values(on("right_shift", d, {3, -3, 3, -3, -3}, {width, width, -1, -1, 1}), {0, -1, 0, -1, -2});
  }
  for (const DType d : kUnsignedTypes) {
    const Real width = static_cast<Real>(8 * size_of(d));
    expect_values(on("left_shift", d, {3, 3}, {width, 255}), {0, 0});
    expect_values(on("right_shift", d, {255, 255}, {width, 255}), {0, 0});
  }
  const array b = apply("left_shift", {make(DType::bool_, {1, 0}), make(DType::bool_, {1, 1})});
  EXPECT_EQ(b.dtype(), mx::uint8);
  expect_values(b, {2, 0});
}

TEST(Quirks, Q18_SignOfNanAndErfInvAtTheEnds) {
  for (const DType d : kFloatTypes) {
    expect_values(on("sign", d, {kNan, -2, 0, kInf}), {kNan, -1, 0, 1});
    expect_values(on("erf_inv", d, {1, -1, 1.5L, -2, kInf, kNan, 0}), {kInf, -kInf, kNan, kNan, kNan, kNan, 0});
  }
}

TEST(Faults, B07_InfinityInEitherPart) {
  expect_values(on("is_infinity", DType::complex64, {{0, kInf}, {3, 4}, {-kInf, 0}}), {1, 0, 1});
  expect_values(on("is_nan", DType::complex64, {{0, kNan}, {3, 4}, {kNan, kInf}}), {1, 0, 1});
}

TEST(Faults, B19_Expm1NearOverflowAndFarBelowZero) {
  for (const DType d : {DType::float32, DType::float64}) {
    const auto got = read(on("expm1", d, {88.8L, 710, -100, 1e-7L}));
    EXPECT_EQ(std::isinf(got[0].real()), d == DType::float32);
    EXPECT_EQ(got[1].real(), kInf);
    EXPECT_EQ(got[2].real(), -1);
    EXPECT_NEAR(static_cast<double>(got[3].real()), 1.00000005e-7, 1e-14);
  }
}

TEST(Faults, B20_SignOfUnsigned) {
  for (const DType d : kUnsignedTypes) expect_values(on("sign", d, {0, 5, 255}), {0, 1, 1});
  expect_values(on("sign", DType::bool_, {0, 1}), {0, 1});
}

TEST(Faults, B24_EqualityOfComplexWithReal) {
  for (const DType d : kFloatTypes + kSignedTypes + kUnsignedTypes) {
    expect_values(apply("equal", {make(DType::complex64, {{1, 0}, {1, 1}}), make(d, {1, 1})}), {1, 0});
    expect_values(apply("not_equal", {make(d, {1, 1}), make(DType::complex64, {{1, 0}, {1, 1}})}), {0, 1});
  }
}

TEST(Faults, MinAndMaxPropagateNanFromEitherSide) {
  for (const DType d : kFloatTypes) {
    for (const auto op : {"min", "max"}) expect_values(on(op, d, {kNan, 1, kNan}, {1, kNan, kNan}), {kNan, kNan, kNan});
  }
}

}  // namespace
}  // namespace reprise::mlx_backend
