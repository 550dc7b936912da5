#include <numbers>
#include <random>

#include "harness.hpp"

namespace reprise::mlx_backend {
namespace {

// erf_inv by bisection, in long double.
Real inverse_erf(Real x) {
  if (std::isnan(x) || std::abs(x) > 1) return kNan;
  if (std::abs(x) == 1) return x * kInf;
  Real low = 0, high = 8;
  for (int i = 0; i < 400 && low < (low + high) / 2 && (low + high) / 2 < high; ++i) {
    const Real middle = (low + high) / 2;
    // The complement is exact for |x| >= 1/2 and keeps the digits near 1.
    const bool below = std::abs(x) < 0.5L ? std::erf(middle) < std::abs(x) : std::erfc(middle) > 1 - std::abs(x);
    (below ? low : high) = middle;
  }
  return std::copysign(low, x);
}

Complex complex_sign(Complex z) { return z == Complex{} ? z : z / std::abs(z); }
Complex round_parts(Complex z) { return {std::round(z.real()), std::round(z.imag())}; }

struct Reference {
  std::string_view name;
  Real (*real)(Real);
  Complex (*complex)(Complex) = nullptr;
};

#define REAL(expression) [](Real x) -> Real { return expression; }
#define CPLX(expression) [](Complex z) -> Complex { return expression; }
const Reference kReferences[] = {
    {"abs", REAL(std::abs(x)), CPLX(std::abs(z))},
    {"ceil", REAL(std::ceil(x))},
    {"floor", REAL(std::floor(x))},
    {"round", REAL(std::round(x)), CPLX(round_parts(z))},
    {"sign", REAL(std::isnan(x) ? x : Real((x > 0) - (x < 0))), CPLX(complex_sign(z))},
    {"real", REAL(x), CPLX(z.real())},
    {"imag", REAL(0 * (x == 0)), CPLX(z.imag())},
    {"conjugate", REAL(x), CPLX(std::conj(z))},
    {"is_nan", REAL(std::isnan(x)), CPLX(std::isnan(z.real()) || std::isnan(z.imag()))},
    {"is_infinity", REAL(std::isinf(x)), CPLX(std::isinf(z.real()) || std::isinf(z.imag()))},
    {"logical_not", REAL(x == 0), CPLX(z == Complex{})},
    {"sigmoid", REAL(1 / (1 + std::exp(-x)))},
    {"sqrt", REAL(std::sqrt(x)), CPLX(std::sqrt(z))},
    {"rsqrt", REAL(1 / std::sqrt(x)), CPLX(Complex(1) / std::sqrt(z))},
    {"exp", REAL(std::exp(x)), CPLX(std::exp(z))},
    {"expm1", REAL(std::expm1(x))},
    {"log", REAL(std::log(x)), CPLX(std::log(z))},
    {"log1p", REAL(std::log1p(x)), CPLX(std::log(Complex(z.real() + 1, z.imag())))},
    {"sin", REAL(std::sin(x)), CPLX(std::sin(z))},
    {"cos", REAL(std::cos(x)), CPLX(std::cos(z))},
    {"tan", REAL(std::tan(x)), CPLX(std::tan(z))},
    {"asin", REAL(std::asin(x)), CPLX(std::asin(z))},
    {"acos", REAL(std::acos(x)), CPLX(std::acos(z))},
    {"atan", REAL(std::atan(x)), CPLX(std::atan(z))},
    {"sinh", REAL(std::sinh(x)), CPLX(std::sinh(z))},
    {"cosh", REAL(std::cosh(x)), CPLX(std::cosh(z))},
    {"tanh", REAL(std::tanh(x)), CPLX(std::tanh(z))},
    {"asinh", REAL(std::asinh(x)), CPLX(std::asinh(z))},
    {"acosh", REAL(std::acosh(x)), CPLX(std::acosh(z))},
    {"atanh", REAL(std::atanh(x)), CPLX(std::atanh(z))},
    {"erf", REAL(std::erf(x))},
    {"erf_inv", inverse_erf},
    {"erfc", REAL(std::erfc(x))},
    {"cbrt", REAL(std::cbrt(x))},
};
#undef REAL
#undef CPLX

std::vector<Complex> inputs_for(DType d, std::size_t count) {
  std::vector<Complex> out = samples(d);
  if (!is_floating(d)) return out;
  // The zeros of the trigonometric functions, where an absolute error would show.
  for (int i = 1; i < 1 << 20; i = i * 5 / 4 + 1) {
    for (const Real sign : {1, -1}) {
      const Real zero = sign * i * std::numbers::pi_v<Real> / 2;
      if (d != DType::float16 || i < 20000) out.push_back(rounded(zero, d));
    }
  }
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(-1, 1), decimal(d == DType::float16   ? -7
                                                              : d == DType::float64 ? -307
                                                                                    : -37,
                                                              d == DType::float16   ? 4.5
                                                              : d == DType::float64 ? 307
                                                                                    : 38);
  while (out.size() < count) {
    out.push_back(rounded(unit(random), d));
    out.push_back(rounded(8 * unit(random), d));
    out.push_back(rounded(90 * unit(random), d));
    out.push_back(rounded(std::copysign(std::pow(10.0, decimal(random)), unit(random)), d));
    out.push_back(rounded(1 - std::pow(2.0, -26 * std::abs(unit(random))), d));
  }
  return out;
}

std::vector<std::string> shown(const std::vector<Complex>& values) {
  std::vector<std::string> out;
  for (const Complex& v : values) out.push_back(show(v));
  return out;
}

Complex expected(const Reference& reference, DType d, Complex x) {
  if (is_complex(d)) return reference.complex(x);
  // The least signed integer has no magnitude of its dtype.
  if (reference.name == "abs" && is_integer(d) &&
      x.real() == -std::ldexp(Real{1}, static_cast<int>(8 * size_of(d)) - 1))
    return x;
  // Booleans and integers go to float32 first where the result is floating.
  const bool real_by_nature = ops::find_def(reference.name)->infer == ops::infer_plain<ops::infer_floating>;
  return reference.real(real_by_nature ? rounded(x, to_floating(d)).real() : x.real());
}

class Unary : public testing::TestWithParam<Reference> {};

TEST_P(Unary, AgreesWithReferenceInEveryDtype) {
  const Reference& reference = GetParam();
  for (const DType d : dtypes_of(*ops::find_def(reference.name))) {
    // Long and short arrays may take different ways.
    for (const std::size_t count : {1000, 9000}) {
      const std::vector<Complex> inputs = inputs_for(d, count);
      std::vector<Complex> want;
      for (const Complex& x : inputs) want.push_back(expected(reference, d, x));
      const Worst worst =
          expect_close(reference.name, d, apply(reference.name, {make(d, inputs)}), want, shown(inputs));
      RecordProperty(fmt::format("{}_{}", name(d), count),
                     fmt::format("{:.2f} at {}", static_cast<double>(worst.epsilons), worst.where));
    }
  }
}

TEST_P(Unary, AgreesInEverySizeAndLayout) {
  const Reference& reference = GetParam();
  for (const DType d : dtypes_of(*ops::find_def(reference.name))) {
    const std::vector<Complex> pool = samples(d);
    const auto check = [&](const array& x) {
      const std::vector<Complex> inputs = read(x);
      std::vector<Complex> want;
      for (const Complex& v : inputs) want.push_back(expected(reference, d, v));
      expect_close(reference.name, d, apply(reference.name, {x}), want, shown(inputs));
    };
    for (const int size : {0, 1, 7, 8, 15, 16, 17, 33, 1000}) {
      std::vector<Complex> inputs;
      for (int i = 0; i < size; ++i) inputs.push_back(pool[static_cast<std::size_t>(i) % pool.size()]);
      check(make(d, inputs));
      check(make(d, inputs, {size, 1, 1}));
    }
    check(make(d, {pool[1]}, {}));
    check(make(d, {}, {2, 0, 3}));
    const std::vector<Complex> twelve{pool[0], pool[1], pool[0], pool[1], pool[1], pool[0],
                                      pool[1], pool[0], pool[0], pool[0], pool[1], pool[1]};
    const mx::Stream cpu = mx::default_stream(mx::Device::cpu);
    const array grid = make(d, twelve, {3, 4});
    check(mx::transpose(grid, cpu));
    check(mx::broadcast_to(make(d, {pool[1], pool[0]}, {2, 1}), {2, 5}, cpu));
    check(mx::slice(grid, {0, 1}, {3, 4}, {2, 2}, cpu));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Unary, testing::ValuesIn(kReferences),
                         [](const auto& instance) { return std::string(instance.param.name); });

// The rest of the family wraps or flips bits, which long double does not do by itself.
TEST(UnaryIntegers, NegateWraps) {
  for (const DType d : dtypes_of(*ops::find_def("negate"))) {
    const std::vector<Complex> inputs = samples(d);
    std::vector<Complex> want;
    const Real modulus = std::ldexp(Real{1}, static_cast<int>(8 * size_of(d)));
    for (const Complex& x : inputs) {
      Complex v = -x;
      if (kind(d) == DTypeKind::unsigned_integer && x.real() > 0) v = modulus - x.real();
      if (kind(d) == DTypeKind::signed_integer && x.real() == -modulus / 2) v = x;
      want.push_back(v);
    }
    expect_values(apply("negate", {make(d, inputs)}), want, is_floating(d));
  }
}

TEST(UnaryIntegers, BitwiseNotFlips) {
  for (const DType d : dtypes_of(*ops::find_def("bitwise_not"))) {
    const std::vector<Complex> inputs = samples(d);
    std::vector<Complex> want;
    for (const Complex& x : inputs) {
      const Real all = std::ldexp(Real{1}, static_cast<int>(8 * size_of(d))) - 1;
      want.push_back(d == DType::bool_                      ? 1 - x.real()
                     : kind(d) == DTypeKind::signed_integer ? -1 - x.real()
                                                            : all - x.real());
    }
    expect_values(apply("bitwise_not", {make(d, inputs)}), want);
  }
}

TEST(UnaryRows, EachHasALoweringAndATest) {
  for (const ops::OpDef& op : ops::kUnaryOps) {
    EXPECT_NO_THROW(find_lowering(op.name)) << op.name;
    const bool tested =
        std::any_of(std::begin(kReferences), std::end(kReferences), [&](const auto& r) { return r.name == op.name; });
    EXPECT_TRUE(tested || op.name == "negate" || op.name == "bitwise_not") << op.name;
  }
}

TEST(UnaryZeros, KeepTheirSign) {
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    for (const auto op : {"ceil", "floor", "round", "sqrt", "sin", "expm1", "log1p", "tan", "asin", "atan", "sinh",
                          "tanh", "asinh", "atanh", "erf", "erf_inv", "cbrt"}) {
      SCOPED_TRACE(op);
      expect_values(apply(op, {make(d, {-0.0L, 0.0L})}), {-0.0L, 0.0L}, true);
    }
  }
}

// Subnormal numbers are neither flushed on the way in nor on the way out.
TEST(UnarySubnormals, AreKept) {
  expect_values(apply("abs", {make(DType::float32, {-0x1p-149L})}), {0x1p-149L});
  expect_values(apply("sqrt", {make(DType::float32, {0x1p-148L})}), {0x1p-74L});
  EXPECT_GT(read(apply("exp", {make(DType::float32, {-100})}))[0].real(), 0);
  EXPECT_GT(read(apply("exp", {make(DType::float64, {-740})}))[0].real(), 0);
}

}  // namespace
}  // namespace reprise::mlx_backend
