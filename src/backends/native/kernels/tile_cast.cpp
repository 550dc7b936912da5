// Conversions between dtypes, as `astype` has them.
#include <cstring>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/tile_cast.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/native/kernels/half.hpp"
#include "backends/native/kernels/tile_loops.inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {
namespace {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S8 = std::int8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

struct Complex {
  float real, imag;
};

// Integers to integers, modulo 2^bits, and to floats; floats to each other.
struct Convert {
  template <typename T, typename R>
  static R of(T x) {
    return static_cast<R>(x);
  }
};

struct IsNonzero {
  template <typename T, typename R>
  static R of(T x) {
    if constexpr (std::is_same_v<T, Complex>) {
      return (x.real != 0) | (x.imag != 0);
    } else {
      return x != 0;
    }
  }
};

// Floats to integers: toward zero, held to the range; NaN gives 0. What is converted is in range, as C++ wants it.
struct Saturate {
  template <typename F, typename T>
  static T of(F x) {
    using Integer = std::conditional_t<sizeof(T) == 8, T, std::conditional_t<std::is_same_v<T, U32>, S64, S32>>;
    constexpr T kLeast = std::numeric_limits<T>::min();
    constexpr T kGreatest = std::numeric_limits<T>::max();
    constexpr F kBeyond = F{2} * static_cast<F>(T{1} << (std::numeric_limits<T>::digits - 1));
    constexpr F kLow = static_cast<F>(kLeast);
    const bool over = x >= kBeyond;
    const bool under = x < kLow;
    const F held = (x >= kLow) & (x < kBeyond) ? x : F{0};
    const T inside = static_cast<T>(static_cast<Integer>(held));
    return over ? kGreatest : under ? kLeast : inside;
  }
};

struct ToComplex {
  template <typename T, typename R>
  static R of(T x) {
    return {x, 0};
  }
};
struct Real {
  template <typename T, typename R>
  static R of(T x) {
    return x.real;
  }
};

// --- Half precision

struct FromBfloat16 {
  template <typename T, typename R>
  static R of(T x) {
    return widen(BFloat16{x});
  }
};
struct ToBfloat16 {
  template <typename T, typename R>
  static R of(T x) {
    return to_bfloat16(x).bits;
  }
};
struct RoundBfloat16 {
  template <typename T, typename R>
  static R of(T x) {
    return widen(to_bfloat16(x));
  }
};
struct FromFloat16 {
  template <typename T, typename R>
  static R of(T x) {
    return widen(Float16{x});
  }
};
struct ToFloat16 {
  template <typename T, typename R>
  static R of(T x) {
    return to_float16(x).bits;
  }
};
struct RoundFloat16 {
  template <typename T, typename R>
  static R of(T x) {
    return widen(to_float16(x));
  }
};

#if HWY_TARGET <= HWY_AVX2
// The processor converts float16 itself.
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;

using Half = hn::Rebind<hwy::float16_t, D>;
constexpr Half half;

struct FromFloat16Vector {
  using From = hwy::float16_t;
  using To = float;
  static HWY_INLINE V of(hn::Vec<Half> x) { return hn::PromoteTo(d, x); }
};
struct ToFloat16Vector {
  using From = float;
  using To = hwy::float16_t;
  static HWY_INLINE hn::Vec<Half> of(V x) { return hn::DemoteTo(half, x); }
};
struct RoundFloat16Vector {
  using From = float;
  using To = float;
  static HWY_INLINE V of(V x) { return hn::PromoteTo(d, hn::DemoteTo(half, x)); }
};

// The last elements take the same way, so that NaN has the same bits.
template <typename F>
void convert_vectors(const void* const* in, void* out, std::size_t n) {
  const auto* a = static_cast<const typename F::From*>(in[0]);
  auto* r = static_cast<typename F::To*>(out);
  const hn::Rebind<typename F::From, D> from;
  const hn::Rebind<typename F::To, D> to;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(F::of(hn::LoadU(from, a + i)), to, r + i);
  if (i < n) {
    HWY_ALIGN typename F::From some[hn::MaxLanes(d)] = {};
    HWY_ALIGN typename F::To made[hn::MaxLanes(d)];
    std::memcpy(some, a + i, (n - i) * sizeof(some[0]));
    hn::Store(F::of(hn::Load(from, some)), to, made);
    std::memcpy(r + i, made, (n - i) * sizeof(made[0]));
  }
}

constexpr TileFn kFromFloat16 = convert_vectors<FromFloat16Vector>;
constexpr TileFn kToFloat16 = convert_vectors<ToFloat16Vector>;
constexpr TileFn kRoundFloat16 = convert_vectors<RoundFloat16Vector>;
#else
constexpr TileFn kFromFloat16 = loop1<FromFloat16, U16, float>;
constexpr TileFn kToFloat16 = loop1<ToFloat16, float, U16>;
constexpr TileFn kRoundFloat16 = loop1<RoundFloat16, float, float>;
#endif

// --- The table

template <typename T>
TileFn from_integer(DType to) {
  using U = std::make_unsigned_t<T>;
  switch (to) {
    case DType::bool_: return loop1<IsNonzero, U, U8>;
    case DType::uint8:
    case DType::int8: return loop1<Convert, U, U8>;
    case DType::uint16:
    case DType::int16: return loop1<Convert, std::conditional_t<sizeof(T) < 2, T, U>, U16>;
    case DType::uint32:
    case DType::int32: return loop1<Convert, std::conditional_t<sizeof(T) < 4, T, U>, U32>;
    case DType::uint64:
    case DType::int64: return loop1<Convert, std::conditional_t<sizeof(T) < 8, T, U>, U64>;
    case DType::float32: return loop1<Convert, T, float>;
    case DType::float64: return loop1<Convert, T, double>;
    default: return nullptr;
  }
}

template <typename F>
TileFn from_float(DType to) {
  switch (to) {
    case DType::bool_: return loop1<IsNonzero, F, U8>;
    case DType::uint8: return loop1<Saturate, F, U8>;
    case DType::uint16: return loop1<Saturate, F, U16>;
    case DType::uint32: return loop1<Saturate, F, U32>;
    case DType::uint64: return loop1<Saturate, F, U64>;
    case DType::int8: return loop1<Saturate, F, S8>;
    case DType::int16: return loop1<Saturate, F, S16>;
    case DType::int32: return loop1<Saturate, F, S32>;
    case DType::int64: return loop1<Saturate, F, S64>;
    case DType::float32: return loop1<Convert, F, float>;
    case DType::float64: return loop1<Convert, F, double>;
    default: return nullptr;
  }
}

TileFn from_float32(DType to) {
  if (to == DType::float16) return kToFloat16;
  if (to == DType::bfloat16) return loop1<ToBfloat16, float, U16>;
  if (to == DType::complex64) return loop1<ToComplex, float, Complex>;
  return from_float<float>(to);
}

}  // namespace

TileFn find_cast(DType from, DType to) {
  switch (from) {
    case DType::bool_:
    case DType::uint8: return from_integer<U8>(to);
    case DType::uint16: return from_integer<U16>(to);
    case DType::uint32: return from_integer<U32>(to);
    case DType::uint64: return from_integer<U64>(to);
    case DType::int8: return from_integer<S8>(to);
    case DType::int16: return from_integer<S16>(to);
    case DType::int32: return from_integer<S32>(to);
    case DType::int64: return from_integer<S64>(to);
    case DType::float16: return to == DType::float32 ? kFromFloat16 : nullptr;
    case DType::bfloat16: return to == DType::float32 ? loop1<FromBfloat16, U16, float> : nullptr;
    case DType::float32: return from_float32(to);
    case DType::float64: return from_float<double>(to);
    case DType::complex64:
      if (to == DType::bool_) return loop1<IsNonzero, Complex, U8>;
      return to == DType::float32 ? loop1<Real, Complex, float> : nullptr;
  }
  return nullptr;
}

TileFn find_round(DType half) { return half == DType::float16 ? kRoundFloat16 : loop1<RoundBfloat16, float, float>; }

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {

HWY_EXPORT(find_cast);
HWY_EXPORT(find_round);

TileFn cast_kernel(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_cast)(from, to); }
TileFn round_kernel(DType half) { return HWY_DYNAMIC_DISPATCH(find_round)(half); }

}  // namespace reprise::native
#endif
