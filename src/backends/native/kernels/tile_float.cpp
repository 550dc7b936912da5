// float32 and float64: what takes one rounding, or none.
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/tile_float.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/native/kernels/tile_loops.inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {
namespace {

struct Add {
  template <typename T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  static T of(T a, T b) {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  static T of(T a, T b) {
    return a * b;
  }
};
struct Divide {
  template <typename T>
  static T of(T a, T b) {
    return a / b;
  }
};
// NaN if either is.
struct Min {
  template <typename T>
  static T of(T a, T b) {
    return (a < b) | (a != a) ? a : b;
  }
};
struct Max {
  template <typename T>
  static T of(T a, T b) {
    return (a > b) | (a != a) ? a : b;
  }
};
struct Clip {
  template <typename T>
  static T of(T x, T low, T high) {
    return Min::of(Max::of(x, low), high);
  }
};
struct Quotient {
  template <typename T>
  static T of(T a, T b) {
    return std::trunc(a / b);
  }
};

struct Abs {
  template <typename T, typename R>
  static R of(T x) {
    return std::fabs(x);
  }
};
struct Negate {
  template <typename T, typename R>
  static R of(T x) {
    return -x;
  }
};
struct Ceil {
  template <typename T, typename R>
  static R of(T x) {
    return std::ceil(x);
  }
};
struct Floor {
  template <typename T, typename R>
  static R of(T x) {
    return std::floor(x);
  }
};
// Ties away from zero. The fraction is exact; it is NaN for infinity, which then stays.
struct Round {
  template <typename T, typename R>
  static R of(T x) {
    const T whole = std::trunc(x);
    const T fraction = std::fabs(x - whole);
    return whole + std::copysign(fraction >= T(0.5) ? T{1} : T{0}, x);
  }
};
struct Sign {
  template <typename T, typename R>
  static R of(T x) {
    const T sign = (x > 0 ? T{1} : T{0}) - (x < 0 ? T{1} : T{0});
    return x != x ? x : sign;
  }
};
struct Sqrt {
  template <typename T, typename R>
  static R of(T x) {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <typename T, typename R>
  static R of(T x) {
    return T{1} / std::sqrt(x);
  }
};
struct IsNan {
  template <typename T, typename R>
  static R of(T x) {
    return x != x;
  }
};
struct IsInfinity {
  template <typename T, typename R>
  static R of(T x) {
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  }
};

template <typename T>
constexpr Entry kFloats[] = {
    {"add", loop2<Add, T, T>},
    {"subtract", loop2<Subtract, T, T>},
    {"multiply", loop2<Multiply, T, T>},
    {"divide", loop2<Divide, T, T>},
    {"min", loop2<Min, T, T>},
    {"max", loop2<Max, T, T>},
    {"quotient", loop2<Quotient, T, T>},
    {"equal", loop2<Equal, T, std::uint8_t>},
    {"not_equal", loop2<NotEqual, T, std::uint8_t>},
    {"less", loop2<Less, T, std::uint8_t>},
    {"less_equal", loop2<LessEqual, T, std::uint8_t>},
    {"greater", loop2<Greater, T, std::uint8_t>},
    {"greater_equal", loop2<GreaterEqual, T, std::uint8_t>},
    {"abs", loop1<Abs, T, T>},
    {"negate", loop1<Negate, T, T>},
    {"ceil", loop1<Ceil, T, T>},
    {"floor", loop1<Floor, T, T>},
    {"round", loop1<Round, T, T>},
    {"sign", loop1<Sign, T, T>},
    {"sqrt", loop1<Sqrt, T, T>},
    {"rsqrt", loop1<Rsqrt, T, T>},
    {"is_nan", loop1<IsNan, T, std::uint8_t>},
    {"is_infinity", loop1<IsInfinity, T, std::uint8_t>},
    {"logical_not", loop1<IsZero, T, std::uint8_t>},
    {"imag", loop1<Zero, T, T>},
    {"real", loop1<Same, T, T>},
    {"conjugate", loop1<Same, T, T>},
};

}  // namespace

TileFn find_float(std::string_view op, DType dtype) {
  if (op == "clip") return dtype == DType::float64 ? loop3<Clip, double, double> : nullptr;
  if (dtype == DType::float32) return find_in(kFloats<float>, op);
  if (dtype == DType::float64) return find_in(kFloats<double>, op);
  return nullptr;
}

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {

HWY_EXPORT(find_float);
TileFn float_tile(std::string_view op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_float)(op, dtype); }

}  // namespace reprise::native
#endif
