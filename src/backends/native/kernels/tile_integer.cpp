// Integers and booleans, and what only looks at bits. Signs matter to few functions: the others are compiled once a
// size.
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/tile_integer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/native/kernels/tile_loops.inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {
namespace {

// Unsigned and not promoted to int: wraps where int would overflow.
template <typename T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
template <typename T>
Wrapping<T> wrap(T x) {
  return static_cast<Wrapping<T>>(x);
}
template <typename T>
constexpr int kBits = 8 * static_cast<int>(sizeof(T));

struct Add {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(wrap(a) + wrap(b));
  }
};
struct Subtract {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(wrap(a) - wrap(b));
  }
};
struct Multiply {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(wrap(a) * wrap(b));
  }
};
struct And {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Of booleans: a and not b, a or not b.
struct AndNot {
  static std::uint8_t of(std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a & (b ^ 1)); }
};
struct OrNot {
  static std::uint8_t of(std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a | (b ^ 1)); }
};
struct Min {
  template <typename T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  static T of(T a, T b) {
    return a > b ? a : b;
  }
};
struct Clip {
  template <typename T>
  static T of(T x, T low, T high) {
    return Min::of(Max::of(x, low), high);
  }
};

// Truncated. Up to 32 bits the quotient of a wider floating type, truncated, is exact: a quotient that is no integer
// is farther from the next one than that type's rounding moves it.
struct Quotient {
  template <typename T>
  static T of(T a, T b) {
    T q;
    if constexpr (sizeof(T) == 8) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(wrap(T{0}) - wrap(a));
      q = static_cast<T>(a / b);
    } else {
      using Float = std::conditional_t<sizeof(T) == 4, double, float>;
      using Integer = std::conditional_t<sizeof(T) == 4 && !std::is_signed_v<T>, std::int64_t, std::int32_t>;
      const bool negates = std::is_signed_v<T> && b == static_cast<T>(-1);
      const T divisor = b == 0 || negates ? T{1} : b;
      q = static_cast<T>(static_cast<Integer>(static_cast<Float>(a) / static_cast<Float>(divisor)));
      q = negates ? static_cast<T>(wrap(T{0}) - wrap(a)) : q;
      q = b == 0 ? T{0} : q;
    }
    return q;
  }
};
// By zero: a.
struct Remainder {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(wrap(a) - wrap(Quotient::of(a, b)) * wrap(b));
  }
};
struct Pow {
  template <typename T>
  static T of(T a, T b) {
    if (std::is_signed_v<T> && b < 0) {
      if (a == 1) return 1;
      if (a == static_cast<T>(-1)) return (b & 1) != 0 ? static_cast<T>(-1) : T{1};
      return 0;
    }
    auto base = wrap(a);
    Wrapping<T> power = 1;
    for (auto e = static_cast<std::make_unsigned_t<T>>(b); e != 0; e = static_cast<std::make_unsigned_t<T>>(e >> 1)) {
      if ((e & 1) != 0) power *= base;
      base *= base;
    }
    return static_cast<T>(power);
  }
};
// As unsigned, negative amounts are large.
struct LeftShift {
  template <typename T>
  static T of(T a, T b) {
    const bool fits = static_cast<std::make_unsigned_t<T>>(b) < kBits<T>;
    const T shifted = static_cast<T>(wrap(a) << (wrap(b) & (kBits<T> - 1)));
    return fits ? shifted : T{0};
  }
};
struct RightShift {
  template <typename T>
  static T of(T a, T b) {
    const bool fits = static_cast<std::make_unsigned_t<T>>(b) < kBits<T>;
    const T shifted = static_cast<T>(a >> (wrap(b) & (kBits<T> - 1)));
    const T beyond = std::is_signed_v<T> ? static_cast<T>(a >> (kBits<T> - 1)) : T{0};
    return fits ? shifted : beyond;
  }
};
struct Select {
  template <typename T>
  static T of(std::uint8_t pred, T on_true, T on_false) {
    return pred != 0 ? on_true : on_false;
  }
};

struct Abs {
  template <typename T, typename R>
  static R of(T x) {
    return x < 0 ? static_cast<T>(wrap(T{0}) - wrap(x)) : x;
  }
};
struct Negate {
  template <typename T, typename R>
  static R of(T x) {
    return static_cast<T>(wrap(T{0}) - wrap(x));
  }
};
struct Sign {
  template <typename T, typename R>
  static R of(T x) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct Not {
  template <typename T, typename R>
  static R of(T x) {
    return static_cast<T>(~x);
  }
};

// U: unsigned of the same size, for what does not depend on the sign.
template <typename T, typename U = std::make_unsigned_t<T>>
constexpr Entry kIntegers[] = {
    {"add", loop2<Add, U, U>},
    {"subtract", loop2<Subtract, U, U>},
    {"multiply", loop2<Multiply, U, U>},
    {"min", loop2<Min, T, T>},
    {"max", loop2<Max, T, T>},
    {"clip", loop3<Clip, T, T>},
    {"quotient", loop2<Quotient, T, T>},
    {"remainder", loop2<Remainder, T, T>},
    {"pow", loop2<Pow, T, T>},
    {"left_shift", loop2<LeftShift, U, U>},
    {"right_shift", loop2<RightShift, T, T>},
    {"bitwise_and", loop2<And, U, U>},
    {"bitwise_or", loop2<Or, U, U>},
    {"bitwise_xor", loop2<Xor, U, U>},
    {"equal", loop2<Equal, U, std::uint8_t>},
    {"not_equal", loop2<NotEqual, U, std::uint8_t>},
    {"less", loop2<Less, T, std::uint8_t>},
    {"less_equal", loop2<LessEqual, T, std::uint8_t>},
    {"greater", loop2<Greater, T, std::uint8_t>},
    {"greater_equal", loop2<GreaterEqual, T, std::uint8_t>},
    {"select", loop3<Select, std::uint8_t, U>},
    {"abs", std::is_signed_v<T> ? loop1<Abs, T, T> : loop1<Same, U, U>},
    {"negate", loop1<Negate, U, U>},
    {"sign", loop1<Sign, T, T>},
    {"bitwise_not", loop1<Not, U, U>},
    {"logical_not", loop1<IsZero, U, std::uint8_t>},
    {"imag", loop1<Zero, U, U>},
    {"is_nan", loop1<Zero, U, std::uint8_t>},
    {"is_infinity", loop1<Zero, U, std::uint8_t>},
    {"ceil", loop1<Same, U, U>},
    {"floor", loop1<Same, U, U>},
    {"round", loop1<Same, U, U>},
    {"real", loop1<Same, U, U>},
    {"conjugate", loop1<Same, U, U>},
};

using Byte = std::uint8_t;  // a bool: 0 or 1
constexpr Entry kBooleans[] = {
    {"add", loop2<Or, Byte, Byte>},
    {"subtract", loop2<Xor, Byte, Byte>},
    {"multiply", loop2<And, Byte, Byte>},
    {"min", loop2<And, Byte, Byte>},
    {"max", loop2<Or, Byte, Byte>},
    {"clip", loop3<Clip, Byte, Byte>},
    {"quotient", loop2<And, Byte, Byte>},
    {"remainder", loop2<AndNot, Byte, Byte>},
    {"pow", loop2<OrNot, Byte, Byte>},
    {"bitwise_and", loop2<And, Byte, Byte>},
    {"bitwise_or", loop2<Or, Byte, Byte>},
    {"bitwise_xor", loop2<Xor, Byte, Byte>},
    {"logical_and", loop2<And, Byte, Byte>},
    {"logical_or", loop2<Or, Byte, Byte>},
    {"logical_xor", loop2<Xor, Byte, Byte>},
    {"equal", loop2<Equal, Byte, Byte>},
    {"not_equal", loop2<NotEqual, Byte, Byte>},
    {"less", loop2<Less, Byte, Byte>},
    {"less_equal", loop2<LessEqual, Byte, Byte>},
    {"greater", loop2<Greater, Byte, Byte>},
    {"greater_equal", loop2<GreaterEqual, Byte, Byte>},
    {"select", loop3<Select, Byte, Byte>},
    {"bitwise_not", loop1<IsZero, Byte, Byte>},
    {"logical_not", loop1<IsZero, Byte, Byte>},
    {"imag", loop1<Zero, Byte, Byte>},
    {"is_nan", loop1<Zero, Byte, Byte>},
    {"is_infinity", loop1<Zero, Byte, Byte>},
    {"abs", loop1<Same, Byte, Byte>},
    {"sign", loop1<Same, Byte, Byte>},
    {"ceil", loop1<Same, Byte, Byte>},
    {"floor", loop1<Same, Byte, Byte>},
    {"round", loop1<Same, Byte, Byte>},
    {"real", loop1<Same, Byte, Byte>},
    {"conjugate", loop1<Same, Byte, Byte>},
};

// What moves whole elements of any other dtype.
template <typename U>
constexpr Entry kBits_[] = {{"select", loop3<Select, std::uint8_t, U>}};

template <typename U>
void splat(const void* const* in, void* out, std::size_t n) {
  const U value = *static_cast<const U*>(in[0]);
  U* r = static_cast<U*>(out);
  for (std::size_t i = 0; i < n; ++i) r[i] = value;
}

}  // namespace

TileFn find_integer(std::string_view op, DType dtype) {
  switch (dtype) {
    case DType::bool_: return find_in(kBooleans, op);
    case DType::uint8: return find_in(kIntegers<std::uint8_t>, op);
    case DType::uint16: return find_in(kIntegers<std::uint16_t>, op);
    case DType::uint32: return find_in(kIntegers<std::uint32_t>, op);
    case DType::uint64: return find_in(kIntegers<std::uint64_t>, op);
    case DType::int8: return find_in(kIntegers<std::int8_t>, op);
    case DType::int16: return find_in(kIntegers<std::int16_t>, op);
    case DType::int32: return find_in(kIntegers<std::int32_t>, op);
    case DType::int64: return find_in(kIntegers<std::int64_t>, op);
    case DType::float16:
    case DType::bfloat16: return find_in(kBits_<std::uint16_t>, op);
    case DType::float32: return find_in(kBits_<std::uint32_t>, op);
    case DType::float64:
    case DType::complex64: return find_in(kBits_<std::uint64_t>, op);
  }
  return nullptr;
}

TileFn find_copy(std::size_t bytes) {
  switch (bytes) {
    case 1: return loop1<Same, std::uint8_t, std::uint8_t>;
    case 2: return loop1<Same, std::uint16_t, std::uint16_t>;
    case 4: return loop1<Same, std::uint32_t, std::uint32_t>;
    default: return loop1<Same, std::uint64_t, std::uint64_t>;
  }
}

TileFn find_splat(std::size_t bytes) {
  switch (bytes) {
    case 1: return splat<std::uint8_t>;
    case 2: return splat<std::uint16_t>;
    case 4: return splat<std::uint32_t>;
    default: return splat<std::uint64_t>;
  }
}

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {

HWY_EXPORT(find_integer);
HWY_EXPORT(find_copy);
HWY_EXPORT(find_splat);

TileFn integer_tile(std::string_view op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_integer)(op, dtype); }
TileFn copy_kernel(std::size_t bytes) { return HWY_DYNAMIC_DISPATCH(find_copy)(bytes); }
TileFn splat_kernel(std::size_t bytes) { return HWY_DYNAMIC_DISPATCH(find_splat)(bytes); }

}  // namespace reprise::native
#endif
