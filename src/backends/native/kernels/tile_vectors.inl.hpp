// What the vectorised functions of float32 share. Included like tile_loops.inl.hpp.
#if defined(REPRISE_TILE_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_TILE_VECTORS
#undef REPRISE_TILE_VECTORS
#else
#define REPRISE_TILE_VECTORS
#endif

#include <hwy/highway.h>

#include <cstring>

#include "backends/native/kernels/tile_loops.inl.hpp"
#include "ops/unary/coefficients.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
#if HWY_TARGET == HWY_SCALAR
using D64 = hn::Rebind<double, D>;
#else
using D64 = hn::RepartitionToWide<D>;
#endif
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using V64 = hn::Vec<D64>;
using Mask = hn::Mask<D>;
constexpr D d;
constexpr DI di;
constexpr D64 d64;

// One vector of floats, the last ones of a run perhaps: the lanes beyond its end are ones, which no function is slow
// for.
#if HWY_TARGET <= HWY_AVX2
// Masked memory operations touch nothing beyond the end.
HWY_INLINE V load_up_to(const float* from, std::size_t n) {
  if (HWY_LIKELY(n >= hn::Lanes(d))) return hn::LoadU(d, from);
  const Mask there = hn::FirstN(d, n);
  return hn::IfThenElse(there, hn::MaskedLoad(there, d, from), hn::Set(d, 1.0F));
}
HWY_INLINE void store_up_to(V x, float* to, std::size_t n) {
  if (HWY_LIKELY(n >= hn::Lanes(d))) return hn::StoreU(x, d, to);
  hn::BlendedStore(x, hn::FirstN(d, n), d, to);
}
#else
HWY_INLINE V load_up_to(const float* from, std::size_t n) {
  if (HWY_LIKELY(n >= hn::Lanes(d))) return hn::LoadU(d, from);
  HWY_ALIGN float rest[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, 1.0F), d, rest);
  std::memcpy(rest, from, n * sizeof(float));
  return hn::Load(d, rest);
}
HWY_INLINE void store_up_to(V x, float* to, std::size_t n) {
  if (HWY_LIKELY(n >= hn::Lanes(d))) return hn::StoreU(x, d, to);
  HWY_ALIGN float rest[hn::MaxLanes(d)];
  hn::Store(x, d, rest);
  std::memcpy(to, rest, n * sizeof(float));
}
#endif

template <typename F>
void vector1(const void* const* in, void* out, std::size_t n) {
  const float* a = static_cast<const float*>(in[0]);
  float* r = static_cast<float*>(out);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) store_up_to(F::of(load_up_to(a + i, n - i)), r + i, n - i);
}

template <typename F>
void vector2(const void* const* in, void* out, std::size_t n) {
  const float* a = static_cast<const float*>(in[0]);
  const float* b = static_cast<const float*>(in[1]);
  float* r = static_cast<float*>(out);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    store_up_to(F::of(load_up_to(a + i, n - i), load_up_to(b + i, n - i)), r + i, n - i);
  }
}

template <typename F>
void vector3(const void* const* in, void* out, std::size_t n) {
  const float* a = static_cast<const float*>(in[0]);
  const float* b = static_cast<const float*>(in[1]);
  const float* c = static_cast<const float*>(in[2]);
  float* r = static_cast<float*>(out);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t rest = n - i;
    store_up_to(F::of(load_up_to(a + i, rest), load_up_to(b + i, rest), load_up_to(c + i, rest)), r + i, rest);
  }
}

HWY_INLINE V set(double x) { return hn::Set(d, static_cast<float>(x)); }
HWY_INLINE V64 set64(double x) { return hn::Set(d64, x); }
HWY_INLINE V infinity() { return hn::BitCast(d, hn::Set(di, 0x7f800000)); }
HWY_INLINE V not_a_number() { return hn::BitCast(d, hn::Set(di, 0x7fc00000)); }

// x held between the two; NaN stays.
HWY_INLINE V clamp(V x, double low, double high) {
#if HWY_TARGET == HWY_SCALAR
  const V raised = hn::IfThenElse(hn::Lt(x, set(low)), set(low), x);
  return hn::IfThenElse(hn::Gt(raised, set(high)), set(high), raised);
#else
  return hn::Min(set(high), hn::Max(set(low), x));  // x86 gives the second operand when one is NaN
#endif
}

// Sum of c[i] x^i.
template <std::size_t N>
HWY_INLINE V polynomial(const double (&c)[N], V x) {
  V sum = set(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, set(c[i]));
  return sum;
}
template <std::size_t N>
HWY_INLINE V64 polynomial64(const double (&c)[N], V64 x) {
  V64 sum = set64(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, set64(c[i]));
  return sum;
}

// The lanes of `where` from the C library.
template <typename F>
HWY_NOINLINE V patch1(F function, V x, Mask where, V others) {
  HWY_ALIGN float a[hn::MaxLanes(d)], r[hn::MaxLanes(d)];
  hn::Store(x, d, a);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) r[i] = function(a[i]);
  return hn::IfThenElse(where, hn::Load(d, r), others);
}
template <typename F>
HWY_NOINLINE V patch2(F function, V x, V y, Mask where, V others) {
  HWY_ALIGN float a[hn::MaxLanes(d)], b[hn::MaxLanes(d)], r[hn::MaxLanes(d)];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) r[i] = function(a[i], b[i]);
  return hn::IfThenElse(where, hn::Load(d, r), others);
}

// Applies F in double precision to each half of the vectors.
template <typename F, typename... Args>
HWY_INLINE V in_double(Args... x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::DemoteTo(d, F::of(hn::PromoteTo(d64, x)...));
#else
  const hn::Half<D> half;
  const auto low = hn::DemoteTo(half, F::of(hn::PromoteTo(d64, hn::LowerHalf(half, x))...));
  const auto high = hn::DemoteTo(half, F::of(hn::PromoteTo(d64, hn::UpperHalf(half, x))...));
  return hn::Combine(d, high, low);
#endif
}

// exp(x + low) 2^scale: 2^n exp(r), n = round(x / log(2)). The power goes in as two factors, so that results round once
// into the subnormal range.
HWY_INLINE V exp_of(V x, V low, int scale) {
  const V held = clamp(x, -110, 90);
  const V magic = set(0x1.8p23);
  const V shifted = hn::MulAdd(held, set(1.4426950408889634), magic);
  const V n = hn::Sub(shifted, magic);
  const V high = hn::NegMulAdd(n, set(-0.00021219444005469057), hn::NegMulAdd(n, set(0.693359375), held));
  const V r = hn::Add(high, low);
  const V fraction = hn::Add(set(1), hn::MulAdd(hn::Mul(r, r), polynomial(mlx_backend::kExp32, r), r));
  const VI twice = hn::Add(hn::BitCast(di, shifted), hn::Set(di, 2 * 127 + scale - 0x4b400000));
  const VI half = hn::ShiftRight<1>(twice);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(half));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(twice, half)));
  return hn::Mul(hn::Mul(fraction, first), second);
}

// log(x), plus `more`.
HWY_INLINE V log_of(V x, V more) {
  // Cephes' logf, by Moshier: log(1 + f) - f + f^2 / 2 over f^3.
  constexpr double kLog[] = {3.3333331174E-1,  -2.4999993993E-1, 2.0000714765E-1,  -1.6668057665E-1, 1.4249322787E-1,
                             -1.2420140846E-1, 1.1676998740E-1,  -1.1514610310E-1, 7.0376836292E-2};
  const Mask subnormal = hn::Lt(x, set(0x1p-126));
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, set(0x1p24)), x);
  // The fraction runs from sqrt(1/2) to sqrt(2).
  const VI bits = hn::Sub(hn::BitCast(di, scaled), hn::Set(di, 0x3f3504f3));
  const VI exponent = hn::ShiftRight<23>(bits);
  const V m = hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f3504f3)));
  const V e = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(subnormal, set(24)));
  const V f = hn::Sub(m, set(1));
  const V square = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(polynomial(kLog, f), f), square);
  y = hn::MulAdd(e, set(-2.12194440e-4), y);
  y = hn::NegMulAdd(set(0.5), square, y);
  y = hn::Add(y, more);
  y = hn::MulAdd(e, set(0.693359375), hn::Add(f, y));
  // Infinity stays; 0 and less, and NaN, have no exponent.
  y = hn::IfThenElse(hn::Lt(x, infinity()), y, x);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity()), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), not_a_number(), y);
}

HWY_INLINE V log1p_of(V x) {
  const V u = hn::Add(set(1), x);
  const V c = hn::Sub(x, hn::Sub(u, set(1)));
  // Where u is 1, or infinite, or 0, the correction is all, or none.
  const Mask tiny = hn::Eq(u, set(1));
  const Mask plain = hn::Or(hn::Eq(u, hn::Zero(d)), hn::Eq(u, infinity()));
  return hn::IfThenElse(tiny, x, log_of(u, hn::IfThenZeroElse(plain, hn::Div(c, u))));
}

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
