#include "ops/binary/binary.mlx.hpp"

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {
namespace {

struct Pair {
  Term a, b;
};

Pair both_as(const LowerContext& context, mx::Dtype dtype) {
  const auto cast = [&](std::size_t i) { return Term(context[i], context.stream).astype(dtype); };
  return {cast(0), cast(1)};
}

// The operands in the dtype of the result; promotion only widens, so MLX's cast will do.
Pair promoted(const LowerContext& context) { return both_as(context, context.dtype()); }

// The operands in their common dtype, when the result has another one.
Pair compared(const LowerContext& context) {
  return both_as(context, to_mlx(promote(from_mlx(context[0].dtype()), from_mlx(context[1].dtype()))));
}

Pair tested(const LowerContext& context) {
  const auto test = [&](std::size_t i) { return Term(convert(context[i], mx::bool_, context.stream), context.stream); };
  return {test(0), test(1)};
}

Term real_part(const Term& x) { return x.apply(&mx::real); }
Term imaginary_part(const Term& x) { return x.apply(&mx::imag); }
bool is_complex_term(const Term& x) { return x.dtype() == mx::complex64; }
bool is_bool(const Term& x) { return x.dtype() == mx::bool_; }
bool is_float(const Term& x) { return is_floating(from_mlx(x.dtype())); }
bool is_signed(const Term& x) { return kind(from_mlx(x.dtype())) == DTypeKind::signed_integer; }
std::int64_t width(const Term& x) { return static_cast<std::int64_t>(8 * x.dtype().size()); }

// Real parts decide, then imaginary ones; a NaN in any part makes it false. MLX looks at the imaginary parts only when
// the real ones are equal.
template <typename F>
Term complex_order(const Pair& p, F last) {
  const Term ar = real_part(p.a), ai = imaginary_part(p.a);
  const Term br = real_part(p.b), bi = imaginary_part(p.b);
  const Term ordered = !(is_nan(ai) | is_nan(bi));
  return ((ar < br) & ordered) | ((ar == br) & last(ai, bi));
}

Term is_less(const Pair& p) {
  return is_complex_term(p.a) ? complex_order(p, [](const Term& x, const Term& y) { return x < y; }) : p.a < p.b;
}
Term is_less_or_equal(const Pair& p) {
  return is_complex_term(p.a) ? complex_order(p, [](const Term& x, const Term& y) { return x <= y; }) : p.a <= p.b;
}

// The one that `first_wins` says; NaN if either is NaN.
Term complex_choice(const Pair& p, const Term& first_wins) {
  const Term chosen = select(first_wins, p.a, p.b);
  return select(is_nan(p.a), p.a, select(is_nan(p.b), p.b, chosen));
}

// All ones for negative numbers, as unsigned; 0 for others and for unsigned integers.
Term sign_fill(const Term& x) {
  const mx::Dtype bits = unsigned_like(x.dtype());
  if (!is_signed(x)) return Term(scalar(0, bits), x.stream());
  return (x >> (width(x) - 1)).view(bits);
}

// Negates the unsigned numbers where `fill` is all ones.
Term negate_where(const Term& x, const Term& fill) { return (x ^ fill) - fill; }

// Integers divide as unsigned magnitudes: nothing then overflows, and the least integer by -1 wraps by itself. Zero
// divisors kill the process on some processors.
struct Magnitudes {
  Term a, b, a_sign, b_sign, by_zero;

  explicit Magnitudes(const Pair& p)
      : a(p.a.view(unsigned_like(p.a.dtype()))),
        b(p.b.view(unsigned_like(p.b.dtype()))),
        a_sign(sign_fill(p.a)),
        b_sign(sign_fill(p.b)),
        by_zero(p.b == std::int64_t{0}) {
    if (is_signed(p.a)) {
      a = negate_where(a, a_sign);
      b = negate_where(b, b_sign);
    }
    b = select(by_zero, b.constant(std::int64_t{1}), b);
  }
};

Term truncate(const Term& x) { return select(x < 0.0, x.apply(&mx::ceil), x.apply(&mx::floor)); }

Term float_remainder(const Term& a, const Term& b) {
  // MLX's is a floored modulus, whose fix-up rounds when the signs differ; on magnitudes it is exact and is C's.
  const Term rest = magnitude(a).apply(&mx::remainder, magnitude(b));
  // a itself where it is the lesser: so a zero keeps its sign, and an infinite divisor is out of the way.
  return select(magnitude(a) < magnitude(b), a, copy_sign(rest, a));
}

Term integer_pow(const Pair& p) {
  // Squaring wraps, which is defined for unsigned integers of 32 bits and more: C++ computes narrower ones as int.
  const mx::Dtype same = unsigned_like(p.a.dtype());
  const mx::Dtype wide = same.size() < 4 ? mx::uint32 : same;
  const Term exponent = is_signed(p.b) ? greater_of(p.b, 0) : p.b;
  const Term base = p.a.view(same).astype(wide);
  const Term power = base.apply(&mx::power, exponent.view(same).astype(wide)).astype(same).view(p.a.dtype());
  if (!is_signed(p.b)) return power;
  // A negative exponent inverts: 1 and -1 have integer inverses, and 0 gives 0 for want of infinity.
  const Term odd = (p.b & std::int64_t{1}) != std::int64_t{0};
  const Term one = power.constant(std::int64_t{1});
  const Term unit = select((p.a == std::int64_t{-1}) & odd, power.constant(std::int64_t{-1}), one);
  const Term is_unit = (p.a == std::int64_t{1}) | (p.a == std::int64_t{-1});
  return select(p.b < std::int64_t{0}, select(is_unit, unit, power.constant(std::int64_t{0})), power);
}

// Amounts outside [0, width) are found in one comparison: as unsigned, negative ones are large.
Term amount_fits(const Term& b) { return b.view(unsigned_like(b.dtype())) < width(b); }

}  // namespace

array lower_add(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return is_bool(a) ? a | b : a + b;
}

array lower_subtract(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return is_bool(a) ? a ^ b : a - b;
}

array lower_multiply(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return is_bool(a) ? a & b : a * b;
}

array lower_divide(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return a / b;
}

array lower_pow(const LowerContext& context) {
  const Pair p = promoted(context);
  if (is_bool(p.a)) return p.a | !p.b;
  if (is_float(p.a)) return p.a.apply(&mx::power, p.b);
  if (!is_complex_term(p.a)) return integer_pow(p);
  // exp(b log(a)) is NaN at 0^0.
  return select(p.b == 0.0, p.a.constant(1.0), p.a.apply(&mx::power, p.b));
}

array lower_atan2(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return a.apply(&mx::arctan2, b);
}

Term lesser(const Term& a, const Term& b) {
  const Pair p{a, b};
  return is_complex_term(a) ? complex_choice(p, is_less(p)) : a.apply(&mx::minimum, b);
}

Term greater(const Term& a, const Term& b) {
  const Pair p{a, b};
  return is_complex_term(a) ? complex_choice(p, is_less({b, a})) : a.apply(&mx::maximum, b);
}

array lower_min(const LowerContext& context) {
  const Pair p = promoted(context);
  return lesser(p.a, p.b);
}

array lower_max(const LowerContext& context) {
  const Pair p = promoted(context);
  return greater(p.a, p.b);
}

array lower_quotient(const LowerContext& context) {
  const Pair p = promoted(context);
  if (is_bool(p.a)) return p.a & p.b;
  if (is_float(p.a)) return truncate(widen(p.a) / widen(p.b)).astype(context.dtype());
  const Magnitudes m(p);
  const Term q = m.a.apply(&mx::floor_divide, m.b);
  const Term signed_q = is_signed(p.a) ? negate_where(q, m.a_sign ^ m.b_sign) : q;
  return select(m.by_zero, signed_q.constant(std::int64_t{0}), signed_q).view(context.dtype());
}

array lower_remainder(const LowerContext& context) {
  const Pair p = promoted(context);
  if (is_bool(p.a)) return p.a & !p.b;
  if (is_float(p.a)) return float_remainder(widen(p.a), widen(p.b)).astype(context.dtype());
  const Magnitudes m(p);
  const Term rest = m.a.apply(&mx::remainder, m.b);
  const Term signed_rest = is_signed(p.a) ? negate_where(rest, m.a_sign) : rest;
  return select(m.by_zero, p.a, signed_rest.view(context.dtype()));
}

array lower_left_shift(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  const Term zero = a.constant(std::int64_t{0});
  const Term fits = amount_fits(b);
  return select(fits, a << select(fits, b, zero), zero);
}

array lower_right_shift(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  const Term fits = amount_fits(b);
  if (is_signed(a)) return a >> select(fits, b, b.constant(width(b) - 1));
  const Term zero = a.constant(std::int64_t{0});
  return select(fits, a >> select(fits, b, zero), zero);
}

array lower_bitwise_and(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return a & b;
}

array lower_bitwise_or(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return a | b;
}

array lower_bitwise_xor(const LowerContext& context) {
  const auto [a, b] = promoted(context);
  return a ^ b;
}

array lower_equal(const LowerContext& context) {
  const auto [a, b] = compared(context);
  return a == b;
}

array lower_not_equal(const LowerContext& context) {
  const auto [a, b] = compared(context);
  return a != b;
}

array lower_less(const LowerContext& context) { return is_less(compared(context)); }

array lower_less_equal(const LowerContext& context) { return is_less_or_equal(compared(context)); }

array lower_greater(const LowerContext& context) {
  const auto [a, b] = compared(context);
  return is_less({b, a});
}

array lower_greater_equal(const LowerContext& context) {
  const auto [a, b] = compared(context);
  return is_less_or_equal({b, a});
}

array lower_logical_and(const LowerContext& context) {
  const auto [a, b] = tested(context);
  return a.apply(&mx::logical_and, b);
}

array lower_logical_or(const LowerContext& context) {
  const auto [a, b] = tested(context);
  return a.apply(&mx::logical_or, b);
}

array lower_logical_xor(const LowerContext& context) {
  const auto [a, b] = tested(context);
  return a != b;
}

}  // namespace reprise::mlx_backend
