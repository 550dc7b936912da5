#include "harness.hpp"

namespace reprise::mlx_backend {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Bits;

int bits_of(DType d) { return static_cast<int>(8 * size_of(d)); }

// Modulo 2^bits into the range of `d`.
Real wrap(Bits v, DType d) {
  const Bits modulus = Bits{1} << bits_of(d);
  const Bits r = v % modulus;
  const bool negative = kind(d) == DTypeKind::signed_integer && r >= modulus / 2;
  return negative ? -static_cast<Real>(modulus - r) : static_cast<Real>(r);
}
Real wrap(Wide v, DType d) { return wrap(static_cast<Bits>(v), d); }

Real integer_pow(Wide a, Wide b, DType d) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  Bits power = 1, base = static_cast<Bits>(a);
  const Bits mask = (Bits{1} << bits_of(d)) - 1;
  for (base &= mask; b > 0; b >>= 1) {
    if (b & 1) power = power * base & mask;
    base = base * base & mask;
  }
  return wrap(power, d);
}

// `p` is the common dtype and both operands are of it.
Real integers(std::string_view op, DType p, Wide a, Wide b) {
  const auto width = static_cast<Wide>(bits_of(p));
  if (op == "add") return wrap(a + b, p);
  if (op == "subtract") return wrap(a - b, p);
  if (op == "multiply") return wrap(static_cast<Bits>(a) * static_cast<Bits>(b), p);
  if (op == "pow") return integer_pow(a, b, p);
  if (op == "min") return static_cast<Real>(std::min(a, b));
  if (op == "max") return static_cast<Real>(std::max(a, b));
  if (op == "quotient") return b == 0 ? 0 : wrap(a / b, p);
  if (op == "remainder") return static_cast<Real>(b == 0 ? a : a % b);
  if (op == "left_shift") return b < 0 || b >= width ? 0 : wrap(static_cast<Bits>(a) << static_cast<int>(b), p);
  if (op == "right_shift") return b < 0 || b >= width ? (a < 0 ? -1 : 0) : static_cast<Real>(a >> static_cast<int>(b));
  if (op == "bitwise_and") return wrap(a & b, p);
  if (op == "bitwise_or") return wrap(a | b, p);
  if (op == "bitwise_xor") return wrap(a ^ b, p);
  ADD_FAILURE() << op;
  return 0;
}

bool booleans(std::string_view op, bool a, bool b) {
  if (op == "add" || op == "bitwise_or" || op == "max") return a || b;
  if (op == "subtract" || op == "bitwise_xor") return a != b;
  if (op == "multiply" || op == "bitwise_and" || op == "min" || op == "quotient") return a && b;
  if (op == "pow") return a || !b;
  if (op == "remainder") return a && !b;
  ADD_FAILURE() << op;
  return false;
}

Real floats(std::string_view op, DType p, Real a, Real b) {
  if (op == "add") return a + b;
  if (op == "subtract") return a - b;
  if (op == "multiply") return a * b;
  // The long double function mistakes the parity of -2^63.
  if (op == "pow") return std::isinf(a) ? std::pow(static_cast<double>(a), static_cast<double>(b)) : std::pow(a, b);
  if (op == "min") return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
  if (op == "max") return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
  if (op == "quotient" && p == DType::float64) return std::trunc(static_cast<double>(a) / static_cast<double>(b));
  if (op == "quotient") return std::trunc(static_cast<float>(a / b));
  if (op == "remainder") return std::fmod(a, b);
  if (op == "divide") return a / b;
  if (op == "atan2") return std::atan2(a, b);
  ADD_FAILURE() << op;
  return 0;
}

bool has_nan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
bool less(Complex a, Complex b) {
  if (has_nan(a) || has_nan(b)) return false;
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

Complex complexes(std::string_view op, Complex a, Complex b) {
  if (op == "add") return a + b;
  if (op == "subtract") return a - b;
  if (op == "multiply") return a * b;
  if (op == "divide") return a / b;
  if (op == "pow")
    return b == Complex{} ? Complex{1} : a == Complex{} && b.imag() == 0 && b.real() > 0 ? Complex{} : std::pow(a, b);
  if (op == "min" || op == "max") {
    if (has_nan(a) || has_nan(b)) return has_nan(a) ? a : b;
  }
  if (op == "min") return less(b, a) ? b : a;
  if (op == "max") return less(a, b) ? b : a;
  ADD_FAILURE() << op;
  return {};
}

bool predicate(std::string_view op, Complex a, Complex b) {
  const bool x = a != Complex{}, y = b != Complex{};
  if (op == "equal") return a == b;
  if (op == "not_equal") return a != b;
  if (op == "less") return less(a, b);
  if (op == "less_equal") return less(a, b) || a == b;
  if (op == "greater") return less(b, a);
  if (op == "greater_equal") return less(b, a) || a == b;
  if (op == "logical_and") return x && y;
  if (op == "logical_or") return x || y;
  if (op == "logical_xor") return x != y;
  ADD_FAILURE() << op;
  return false;
}

Complex expected(const ops::OpDef& op, DType a_type, DType b_type, Complex a, Complex b) {
  if (op.family == "logical") return predicate(op.name, a, b) ? 1 : 0;
  DType p = promote(a_type, b_type);
  if (op.family == "binary" && (op.name == "divide" || op.name == "atan2")) p = to_floating(p);
  a = rounded(a, p);
  b = rounded(b, p);
  if (op.family == "compare") return predicate(op.name, a, b) ? 1 : 0;
  if (is_complex(p)) return complexes(op.name, a, b);
  if (is_floating(p)) return floats(op.name, p, a.real(), b.real());
  if (p == DType::bool_) {
    if (op.name != "left_shift" && op.name != "right_shift")
      return booleans(op.name, a != Complex{}, b != Complex{}) ? 1 : 0;
    p = DType::uint8;
  }
  return integers(op.name, p, static_cast<Wide>(a.real()), static_cast<Wide>(b.real()));
}

std::vector<std::string> shown(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(show(a[i]) + " and " + show(b[i]));
  return out;
}

void check(const ops::OpDef& op, const array& x, const array& y, Worst* worst = nullptr) {
  const mx::Stream cpu = mx::default_stream(mx::Device::cpu);
  const std::vector<array> wide = mx::broadcast_arrays({x, y}, cpu);
  const std::vector<Complex> a = read(wide[0]), b = read(wide[1]);
  const DType a_type = from_mlx(x.dtype()), b_type = from_mlx(y.dtype());
  std::vector<Complex> want;
  for (std::size_t i = 0; i < a.size(); ++i) want.push_back(expected(op, a_type, b_type, a[i], b[i]));
  const array result = apply(op.name, {x, y});
  if (op.name == "pow" && result.dtype() == mx::complex64) {
    // Beyond float32's range, and of infinities, the parts are whatever exp and log make of them.
    const std::vector<Complex> got = read(result);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Real size = std::abs(want[i]);
      // The row allows for exponents b log(a) of up to 88, that of float32's range.
      const Real exponent = std::abs(b[i]) * std::abs(std::log(a[i]));
      const bool zero = size == 0 && a[i] == Complex{};
      const bool ordinary = zero || (size > 1e-37L && size < 1e37L && exponent < 88);
      if (!ordinary) want[i] = got[i];
    }
  }
  const Worst here = expect_close(op.name, promote(a_type, b_type), result, want, shown(a, b));
  if (result.dtype() != mx::complex64) {
    EXPECT_LE(here.epsilons, 2) << op.name << " at " << here.where;  // rows allow more for complex numbers
  }
  if (worst && here.epsilons > worst->epsilons) *worst = here;
}

class Binary : public testing::TestWithParam<ops::OpDef> {};

// All pairs of samples of all pairs of dtypes; what the row refuses, inference refuses.
TEST_P(Binary, AgreesWithReferenceInEveryPairOfDtypes) {
  const ops::OpDef& op = GetParam();
  const bool of_bits = op.dtypes == ops::binary::kBits;
  for (const DType a : dtypes_of(op)) {
    for (const DType b : dtypes_of(op)) {
      std::vector<Complex> left = samples(a), right = samples(b);
      const array x = make(a, left, {static_cast<int>(left.size()), 1});
      const array y = make(b, right);
      const bool refused = of_bits && is_floating(promote(a, b));
      const auto types = infer_types(op.name, {x, y});
      EXPECT_EQ(types.ok(), !refused) << op.name << " of " << name(a) << " and " << name(b);
      if (refused) {
        EXPECT_EQ(types.error().code(), ErrorCode::infer);
        continue;
      }
      Worst worst;
      check(op, x, y, &worst);
      if (worst.epsilons > 0) {
        RecordProperty(fmt::format("{}_{}", name(a), name(b)),
                       fmt::format("{:.2f} at {}", static_cast<double>(worst.epsilons), worst.where));
      }
    }
  }
}

TEST_P(Binary, AgreesInEverySizeAndLayout) {
  const ops::OpDef& op = GetParam();
  const mx::Stream cpu = mx::default_stream(mx::Device::cpu);
  for (const DType d : dtypes_of(op)) {
    const std::vector<Complex> pool = samples(d);
    const auto fill = [&](std::size_t count, std::size_t step) {
      std::vector<Complex> out;
      for (std::size_t i = 0; i < count; ++i) out.push_back(pool[i * step % pool.size()]);
      return out;
    };
    for (const std::size_t size : {0, 1, 7, 8, 15, 16, 17, 33, 1000}) {
      check(op, make(d, fill(size, 1)), make(d, fill(size, 7)));
      check(op, make(d, fill(size, 1)), make(d, {pool[1]}, {}));
    }
    check(op, make(d, {pool[1]}, {}), make(d, {pool[0]}, {}));
    check(op, make(d, {}, {0, 3}), make(d, fill(3, 1)));
    check(op, mx::transpose(make(d, fill(12, 1), {3, 4}), cpu), make(d, fill(12, 5), {4, 3}));
    check(op, make(d, fill(4, 1), {4, 1}), mx::slice(make(d, fill(12, 3), {2, 6}), {0, 1}, {1, 6}, {1, 2}, cpu));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Binary, testing::ValuesIn(ops::kBinaryOps),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(BinaryRows, EachHasALowering) {
  for (const ops::OpDef& op : ops::kBinaryOps) EXPECT_NO_THROW(find_lowering(op.name)) << op.name;
}

// NaN and infinities among complex operands: what the sweep's finite samples leave out.
TEST(BinaryComplex, NanIsUnorderedAndContagious) {
  const std::vector<Complex> a{{1, kNan}, {kNan, 0}, {2, 0}, {2, kNan}};
  const std::vector<Complex> b{{2, 0}, {2, 0}, {1, kNan}, {1, 0}};
  for (const auto op : {"less", "less_equal", "greater", "greater_equal", "equal"}) {
    SCOPED_TRACE(op);
    expect_values(apply(op, {make(DType::complex64, a), make(DType::complex64, b)}), {0, 0, 0, 0});
  }
  for (const auto op : {"min", "max"}) {
    for (const Complex& v : read(apply(op, {make(DType::complex64, a), make(DType::complex64, b)})))
      EXPECT_TRUE(has_nan(v)) << op;
  }
  for (const auto op : {"logical_and", "logical_or"}) {
    expect_values(apply(op, {make(DType::complex64, a), make(DType::complex64, b)}), {1, 1, 1, 1});
  }
}

}  // namespace
}  // namespace reprise::mlx_backend
