// What reductions, scans and windows share: how elements are loaded, joined and stored. Included once for each target
// of Highway (foreach_target.h), inside nothing.
#if defined(REPRISE_ARITHMETIC_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_ARITHMETIC_INL
#undef REPRISE_ARITHMETIC_INL
#else
#define REPRISE_ARITHMETIC_INL
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "backends/native/kernels/half.hpp"
#include "reprise/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
inline T load(T x) {
  return x;
}
inline float load(BFloat16 x) { return widen(x); }
inline float load(Float16 x) { return widen(x); }
template <typename T>
using Loaded = decltype(load(T{}));

template <typename To, typename From>
inline To store(From x) {
  if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

// Integers wrap: unsigned arithmetic.
template <typename T>
inline T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}
template <typename T>
inline T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

struct Sum {
  template <typename T>
  static T identity() {
    return T{0};
  }
  template <typename T>
  static T join(T a, T b) {
    return wrapping_add(a, b);
  }
};
struct Product {
  template <typename T>
  static T identity() {
    return T{1};
  }
  template <typename T>
  static T join(T a, T b) {
    return wrapping_multiply(a, b);
  }
};
// NaN wins: it is unequal to itself, and nothing is greater than it.
struct Max {
  template <typename T>
  static T identity() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return b > a || b != b ? b : a;
    return b > a ? b : a;
  }
};
struct Min {
  template <typename T>
  static T identity() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  template <typename T>
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return b < a || b != b ? b : a;
    return b < a ? b : a;
  }
};
/// Calls f with a value of the dtype's C++ type; bool is uint8.
template <typename F>
auto with_type(DType dtype, const F& f) -> decltype(f(float{})) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8: return f(std::uint8_t{});
    case DType::uint16: return f(std::uint16_t{});
    case DType::uint32: return f(std::uint32_t{});
    case DType::uint64: return f(std::uint64_t{});
    case DType::int8: return f(std::int8_t{});
    case DType::int16: return f(std::int16_t{});
    case DType::int32: return f(std::int32_t{});
    case DType::int64: return f(std::int64_t{});
    case DType::float16: return f(Float16{});
    case DType::bfloat16: return f(BFloat16{});
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::complex64: break;
  }
  return {};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#endif
