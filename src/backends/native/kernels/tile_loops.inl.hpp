// Loops over plain scalar functions, which the compiler vectorises for each instruction set. Included by kernel files
// between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE, once for each.
#if defined(REPRISE_TILE_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_TILE_LOOPS
#undef REPRISE_TILE_LOOPS
#else
#define REPRISE_TILE_LOOPS
#endif

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/native/kernels/tile.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native::HWY_NAMESPACE {

struct Entry {
  std::string_view op;
  TileFn kernel;
};

template <std::size_t N>
TileFn find_in(const Entry (&table)[N], std::string_view op) {
  for (const Entry& entry : table) {
    if (entry.op == op) return entry.kernel;
  }
  return nullptr;
}

// F::of(a) for elements T to R. The pragmas: an operand may be the result, index by index, which hinders nothing.
template <typename F, typename T, typename R>
void loop1(const void* const* in, void* out, std::size_t n) {
  const T* a = static_cast<const T*>(in[0]);
  R* r = static_cast<R*>(out);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) r[i] = F::template of<T, R>(a[i]);
}

template <typename F, typename T, typename R>
void loop2(const void* const* in, void* out, std::size_t n) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  R* r = static_cast<R*>(out);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) r[i] = F::of(a[i], b[i]);
}

template <typename F, typename P, typename T>
void loop3(const void* const* in, void* out, std::size_t n) {
  const P* a = static_cast<const P*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T* c = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) r[i] = F::of(a[i], b[i], c[i]);
}

// What reads alike for integers and floats.
struct Equal {
  template <typename T>
  static std::uint8_t of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  static std::uint8_t of(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <typename T>
  static std::uint8_t of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  static std::uint8_t of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  static std::uint8_t of(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <typename T>
  static std::uint8_t of(T a, T b) {
    return a >= b;
  }
};
struct IsZero {
  template <typename T, typename R>
  static R of(T x) {
    return x == 0;
  }
};
struct Zero {
  template <typename T, typename R>
  static R of(T) {
    return 0;
  }
};
struct Same {
  template <typename T, typename R>
  static R of(T x) {
    return x;
  }
};

}  // namespace reprise::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
