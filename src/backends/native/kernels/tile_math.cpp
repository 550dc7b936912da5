// Functions of float32, vectorised.
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/unary/coefficients.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/tile_math.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/native/kernels/tile_loops.inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
constexpr D d;
constexpr DI di;

// Applies F::of to whole vectors; the last one is filled up with zeros.
template <typename F>
void vector1(const void* const* in, void* out, std::size_t n) {
  const float* a = static_cast<const float*>(in[0]);
  float* r = static_cast<float*>(out);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    HWY_ALIGN float rest[hn::MaxLanes(d)];
    const bool whole = i + lanes <= n;
    const float* from = a + i;
    if (HWY_UNLIKELY(!whole)) {
      hn::Store(hn::Zero(d), d, rest);
      std::memcpy(rest, from, (n - i) * sizeof(float));
      from = rest;
    }
    const V result = F::of(hn::LoadU(d, from));
    if (HWY_LIKELY(whole)) {
      hn::StoreU(result, d, r + i);
    } else {
      hn::Store(result, d, rest);
      std::memcpy(r + i, rest, (n - i) * sizeof(float));
    }
  }
}

HWY_INLINE V set(double x) { return hn::Set(d, static_cast<float>(x)); }

// Sum of c[i] x^i.
template <std::size_t N>
HWY_INLINE V polynomial(const double (&c)[N], V x) {
  V sum = set(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, set(c[i]));
  return sum;
}

// exp(x): 2^n exp(r), n = round(x / log(2)). 2^n goes in as two factors, so that results round once into the subnormal
// range. The order of Min's and Max's operands lets NaN pass.
struct Exp {
  static HWY_INLINE V of(V x) {
    const V held = hn::Min(set(89), hn::Max(set(-110), x));
    const V magic = set(0x1.8p23);
    const V shifted = hn::MulAdd(held, set(1.4426950408889634), magic);
    const V n = hn::Sub(shifted, magic);
    const V r = hn::NegMulAdd(n, set(-0.00021219444005469057), hn::NegMulAdd(n, set(0.693359375), held));
    const V fraction = hn::Add(set(1), hn::MulAdd(hn::Mul(r, r), polynomial(mlx_backend::kExp32, r), r));
    const auto twice = hn::Add(hn::BitCast(di, shifted), hn::Set(di, 2 * 127 - 0x4b400000));
    const auto half = hn::ShiftRight<1>(twice);
    const V first = hn::BitCast(d, hn::ShiftLeft<23>(half));
    const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(twice, half)));
    return hn::Mul(hn::Mul(fraction, first), second);
  }
};

struct Sigmoid {
  static HWY_INLINE V of(V x) { return hn::Div(set(1), hn::Add(set(1), Exp::of(hn::Neg(x)))); }
};

constexpr Entry kFunctions[] = {
    {"exp", vector1<Exp>},
    {"sigmoid", vector1<Sigmoid>},
};

}  // namespace

TileFn find_math(std::string_view op, DType dtype) {
  return dtype == DType::float32 ? find_in(kFunctions, op) : nullptr;
}

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {

HWY_EXPORT(find_math);
TileFn math_tile(std::string_view op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_math)(op, dtype); }

}  // namespace reprise::native
#endif
