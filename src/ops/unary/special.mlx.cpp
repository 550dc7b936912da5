#include "ops/unary/special.mlx.hpp"

#include <limits>
#include <numbers>

#include "ops/unary/coefficients.hpp"

namespace reprise::mlx_backend {
namespace {

// What the exponential needs to know of a format.
struct ExpFormat {
  mx::Dtype integer;           // of as many bits
  int mantissa;                // stored bits
  std::int64_t bias;           // of the exponent
  double magic;                // 1.5 * 2^mantissa: adding it rounds to an integer, which its low bits then hold
  std::int64_t magic_bits;     // the same as an integer
  double log2_high, log2_low;  // log(2) in two parts; integers below 2^12 times the first are exact
  double least, greatest;      // beyond them the result is 0 and infinite
  std::span<const double> q;
};
constexpr ExpFormat kExpFormat32{mx::int32, 23, 127,   0x1.8p23, 0x4b400000, 0.693359375, -0.00021219444005469057,
                                 -110,      89, kExp32};
constexpr ExpFormat kExpFormat64{
    mx::int64, 52, 1023, 0x1.8p52, 0x4338000000000000, 0.69314718036912382, 1.9082149292705877e-10, -800, 720, kExp64};

// Where the time that an operation takes on the CPU outgrows what it costs to start it.
constexpr std::size_t kFewElements = 4096;

bool is_double(const Term& x) { return x.dtype() == mx::float64; }
bool on_gpu(const Term& x) { return x.stream().device == mx::Device::gpu; }

// exp(x + low), |low| much less than 1, in float32 or float64. MLX's own on the CPU has float32 digits for float64,
// is off by up to 30 units in the last place and overflows at 88 instead of 88.72; it is also several times slower than
// these vectorized passes. exp(x) = 2^n exp(r), n = round(x / log(2)); 2^n goes in as two factors, so that results
// round once into the subnormal range.
Term exp_sum(const Term& x, const Term* low = nullptr) {
  if (on_gpu(x)) {
    const Term high = x.apply(&mx::exp);
    return low ? high * low->apply(&mx::exp) : high;
  }
  const ExpFormat& f = is_double(x) ? kExpFormat64 : kExpFormat32;
  const Term held = lesser(greater_of(x, f.least), f.greatest);
  const Term shifted = held * std::numbers::log2e + f.magic;
  const Term n = shifted - f.magic;
  Term r = held - n * f.log2_high - n * f.log2_low;
  if (low) r = r + *low;
  const Term fraction = 1.0 + (r + r * r * polynomial(f.q, r));
  // floor(n / 2) + bias and the rest + bias: exponent fields.
  const auto mantissa = static_cast<std::int64_t>(f.mantissa);
  const Term twice = shifted.view(f.integer) + (2 * f.bias - f.magic_bits);
  const Term half = twice >> std::int64_t{1};
  const Term first = (half << mantissa).view(x.dtype());
  const Term second = ((twice - half) << mantissa).view(x.dtype());
  return fraction * first * second;
}

// erfc of x >= 0 in float32 or float64.
Term erfc_of_positive(const Term& x) {
  const double end = is_double(x) ? 28 : 11;  // erfc is 0 from here on
  const Term a = lesser(x, end);
  // x*x rounds, and the exponential magnifies that by x*x. With `high` cut to half the digits, high*high is exact and
  // the rest, (x - high)(x + high), is small.
  const mx::Dtype bits = unsigned_like(x.dtype());
  const std::int64_t cut = is_double(x) ? 27 : 12;
  const Term high = ((a.view(bits) >> cut) << cut).view(x.dtype());
  const Term low = (high - a) * (high + a);
  const Term gauss = exp_sum(-(high * high), &low);
  const Term u = (a - 3.75) / (a + 3.75);
  return gauss * polynomial(is_double(x) ? std::span<const double>(kErfc64) : kErfc32, u) / (2.0 * a + 1.0);
}

// f(x) in float32 for half types.
template <typename F>
Term in_wide(const Term& x, F f) {
  return f(widen(x)).astype(x.dtype());
}

Term quotient(std::span<const double> top, std::span<const double> bottom, const Term& x) {
  return polynomial(top, x) / polynomial(bottom, x);
}

}  // namespace

Term exp_of(const Term& x) {
  return in_wide(x, [](const Term& w) { return exp_sum(w); });
}

Term sigmoid_of(const Term& x) {
  if (on_gpu(x)) return x.apply(&mx::sigmoid);
  // For few elements, as when a model decodes token by token, the number of operations counts, not their speed. MLX's
  // own is exact enough for bfloat16 only: in float16 its exponential overflows.
  if (x.value().size() <= kFewElements) {
    if (x.dtype() == mx::bfloat16) return x.apply(&mx::sigmoid);
    return in_wide(x, [](const Term& w) { return 1.0 / ((-w).apply(&mx::expm1) + 2.0); });
  }
  return in_wide(x, [](const Term& w) { return 1.0 / (exp_sum(-w) + 1.0); });
}

// MLX's sine and cosine on the CPU have float32 digits for float64, and lose all of them near the zeros; its tangent is
// the library's, and faster. From t = tan(x / 2) the sine has all its digits everywhere. Cosine as (1 - t^2) / (1 +
// t^2) would lose them near its zeros, sine by tangent does not.
Term sin_of(const Term& x) {
  if (on_gpu(x)) return x.apply(&mx::sin);
  return in_wide(x, [](const Term& w) {
    const Term t = (w * 0.5).apply(&mx::tan);
    return 2.0 * t / (t * t + 1.0);
  });
}

Term cos_of(const Term& x) {
  if (on_gpu(x)) return x.apply(&mx::cos);
  return in_wide(x, [](const Term& w) {
    // At 0 the quotient is 0 / 0, and half of the least number rounds.
    return select(magnitude(w) < 1e-9, w.constant(1.0), sin_of(w) / w.apply(&mx::tan));
  });
}

Term erf_of(const Term& x) {
  return in_wide(x, [](const Term& w) {
    const Term a = magnitude(w);
    // The polynomial sees no more than 1, so that what is not selected stays finite.
    const Term z = lesser(a * a, 1);
    const Term near = w * polynomial(is_double(w) ? std::span<const double>(kErf64) : kErf32, z);
    const Term far = copy_sign(1.0 - erfc_of_positive(a), w);
    return select(a < 1.0, near, far);
  });
}

Term erfc_of(const Term& x) {
  return in_wide(x, [](const Term& w) {
    const Term a = magnitude(w);
    const Term positive = erfc_of_positive(a);
    return select(w < 0.0, 2.0 - positive, positive);
  });
}

Term erf_inv_of(const Term& x) {
  // MLX's polynomials are good to 3 units in the last place of float32, but for the ends.
  if (!is_double(x)) {
    return in_wide(x, [](const Term& w) {
      const Term a = magnitude(w);
      const Term inside = w.apply(&mx::erfinv);
      const Term infinite = copy_sign(a.constant(std::numeric_limits<double>::infinity()), w);
      return select(a == 1.0, infinite, inside);
    });
  }
  const Term a = magnitude(x);
  const Term q = x * 0.5;
  const Term centre = q * quotient(kInverseCentreTop, kInverseCentreBottom, 0.180625 - q * q);
  // 1 - a is exact where it is used. It is NaN beyond 1 and r infinite at 1.
  const Term r = (-((1.0 - a) * 0.5).apply(&mx::log)).apply(&mx::sqrt);
  const Term middle = quotient(kInverseMiddleTop, kInverseMiddleBottom, r - 1.6);
  const Term tail = quotient(kInverseTailTop, kInverseTailBottom, r - 5.0);
  const Term end = copy_sign(select(a == 1.0, r, select(r <= 5.0, middle, tail)), x);
  return select(a <= 0.85, centre, end) * (1 / std::numbers::sqrt2);
}

Term cbrt_of(const Term& x) {
  return in_wide(x, [](const Term& w) {
    const Term a = magnitude(w);
    const Term root = a.apply(&mx::power, a.constant(1.0 / 3));
    // One Newton step makes up for the rounded exponent. Divided twice, since the cube may overflow; it is NaN for 0
    // and infinity, which the power has right.
    const Term step = (root - a / root / root) * (1.0 / 3);
    return copy_sign(select(is_nan(step), root, root - step), w);
  });
}

Term round_of(const Term& x) {
  // MLX's rounds ties to even: one that went toward zero is moved by 1. The difference is exact.
  const Term even = x.apply([](const array& a, mx::StreamOrDevice s) { return mx::round(a, 0, s); });
  const Term sign = x.apply(&mx::sign);
  return select((x - even) * sign == 0.5, even + sign, even);
}

}  // namespace reprise::mlx_backend
