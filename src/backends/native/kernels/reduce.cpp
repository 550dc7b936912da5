// Plain loops over blocks of 64 lanes, which the compiler turns into vector code for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/reduce.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/native/kernels/arithmetic.inl.hpp"
#include "backends/native/kernels/half.hpp"
#include "backends/native/kernels/reduce.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t kLanes = 64;
constexpr std::int64_t kTile = 1024;

struct All {
  template <typename T>
  static T identity() {
    return T{1};
  }
  template <typename T>
  static T join(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Any {
  template <typename T>
  static T identity() {
    return T{0};
  }
  template <typename T>
  static T join(T a, T b) {
    return static_cast<T>(a | b);
  }
};

/// In: elements of x. Acc: a lane. Partial: a chunk's result. Out: elements of the result.
template <typename Op, typename In, typename Acc, typename Partial, typename Out, bool kTruth = false>
struct Reducer {
  static Acc element(In x) {
    if constexpr (kTruth) return static_cast<Acc>(load(x) != Loaded<In>{0});
    return static_cast<Acc>(load(x));
  }

  static Partial chunk(const In* HWY_RESTRICT x, std::int64_t n) {
    Acc lanes[kLanes];
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = Op::template identity<Acc>();
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = Op::template join<Acc>(lanes[j], element(x[i + j]));
    }
    for (std::int64_t j = 0; i + j < n; ++j) lanes[j] = Op::template join<Acc>(lanes[j], element(x[i + j]));
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::int64_t j = 0; j < width; ++j) lanes[j] = Op::template join<Acc>(lanes[j], lanes[j + width]);
    }
    return static_cast<Partial>(lanes[0]);
  }

  static void rows(const void* x, void* out, std::int64_t size, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const In* row = static_cast<const In*>(x) + r * size;
      Partial total = chunk(row, std::min(size, kReduceChunk));
      for (std::int64_t i = kReduceChunk; i < size; i += kReduceChunk) {
        total = Op::template join<Partial>(total, chunk(row + i, std::min(size - i, kReduceChunk)));
      }
      static_cast<Out*>(out)[r] = store<Out>(total);
    }
  }

  static void partial(const void* x, void* to, std::int64_t begin, std::int64_t end) {
    const Partial p = chunk(static_cast<const In*>(x) + begin, end - begin);
    std::memcpy(to, &p, sizeof p);
  }

  static void join(const void* partials, void* out, std::int64_t count) {
    Partial total;
    std::memcpy(&total, partials, sizeof total);
    for (std::int64_t i = 1; i < count; ++i) {
      Partial p;
      std::memcpy(&p, static_cast<const std::byte*>(partials) + 8 * i, sizeof p);
      total = Op::template join<Partial>(total, p);
    }
    *static_cast<Out*>(out) = store<Out>(total);
  }

  // Down the columns, tile by tile; sums of floats move to a wider total after a fixed number of rows.
  static void columns(const void* x, void* out, std::int64_t size, std::int64_t inner, std::int64_t begin,
                      std::int64_t end) {
    constexpr std::int64_t kRows = 256;
    Acc lanes[kTile];
    Partial totals[kTile];
    for (std::int64_t c0 = begin; c0 < end; c0 += kTile) {
      const std::int64_t n = std::min(kTile, end - c0);
      for (std::int64_t r0 = 0; r0 < size; r0 += kRows) {
        for (std::int64_t j = 0; j < n; ++j) lanes[j] = Op::template identity<Acc>();
        const std::int64_t r1 = std::min(size, r0 + kRows);
        for (std::int64_t r = r0; r < r1; ++r) {
          const In* HWY_RESTRICT row = static_cast<const In*>(x) + r * inner + c0;
          for (std::int64_t j = 0; j < n; ++j) lanes[j] = Op::template join<Acc>(lanes[j], element(row[j]));
        }
        if (r0 == 0) {
          for (std::int64_t j = 0; j < n; ++j) totals[j] = static_cast<Partial>(lanes[j]);
        } else {
          for (std::int64_t j = 0; j < n; ++j) {
            totals[j] = Op::template join<Partial>(totals[j], static_cast<Partial>(lanes[j]));
          }
        }
      }
      Out* to = static_cast<Out*>(out) + c0;
      for (std::int64_t j = 0; j < n; ++j) to[j] = store<Out>(totals[j]);
    }
  }

  static ReduceKernel kernel() { return {rows, partial, join, columns}; }
};

template <typename Op, typename T>
ReduceKernel arithmetic() {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16> || std::is_same_v<T, float>) {
    return Reducer<Op, T, float, double, T>::kernel();
  } else if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
    return Reducer<Op, T, Wide, Wide, Wide>::kernel();
  } else {
    return Reducer<Op, T, T, T, T>::kernel();
  }
}

template <typename T>
ReduceKernel of_dtype(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return arithmetic<Sum, T>();
    case ReduceKind::product: return arithmetic<Product, T>();
    case ReduceKind::max: return Reducer<Max, T, Loaded<T>, Loaded<T>, T>::kernel();
    case ReduceKind::min: return Reducer<Min, T, Loaded<T>, Loaded<T>, T>::kernel();
    case ReduceKind::all: return Reducer<All, T, std::uint8_t, std::uint8_t, std::uint8_t, true>::kernel();
    case ReduceKind::any: return Reducer<Any, T, std::uint8_t, std::uint8_t, std::uint8_t, true>::kernel();
  }
  return {};
}

// --- positions

template <typename T, bool kGreatest>
struct ArgReducer {
  using V = Loaded<T>;
  static bool better(V candidate, V best) {
    if constexpr (std::is_floating_point_v<V>) {
      if (best != best) return false;
      if (candidate != candidate) return true;
    }
    return kGreatest ? candidate > best : candidate < best;
  }

  // The extremum first, in lanes, then the first element that is it.
  static void rows(const void* x, std::uint32_t* out, std::int64_t size, std::int64_t, std::int64_t begin,
                   std::int64_t end) {
    using Op = std::conditional_t<kGreatest, Max, Min>;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* HWY_RESTRICT row = static_cast<const T*>(x) + r * size;
      const V best = Reducer<Op, T, V, V, T>::chunk(row, size);
      std::int64_t at = 0;
      for (; at + kLanes <= size; at += kLanes) {
        int found = 0;
        for (std::int64_t j = 0; j < kLanes; ++j) {
          const V v = load(row[at + j]);
          found |= static_cast<int>(v == best) | (static_cast<int>(v != v) & static_cast<int>(best != best));
        }
        if (found != 0) break;
      }
      for (; at + 1 < size; ++at) {
        const V v = load(row[at]);
        if (v == best || (v != v && best != best)) break;
      }
      out[r] = static_cast<std::uint32_t>(at);
    }
  }

  static void columns(const void* x, std::uint32_t* out, std::int64_t size, std::int64_t inner, std::int64_t begin,
                      std::int64_t end) {
    constexpr std::int64_t kColumns = 256;
    V best[kColumns];
    for (std::int64_t c0 = begin; c0 < end; c0 += kColumns) {
      const std::int64_t n = std::min(kColumns, end - c0);
      const T* first = static_cast<const T*>(x) + c0;
      for (std::int64_t j = 0; j < n; ++j) best[j] = load(first[j]);
      for (std::int64_t j = 0; j < n; ++j) out[c0 + j] = 0;
      for (std::int64_t r = 1; r < size; ++r) {
        const T* HWY_RESTRICT row = first + r * inner;
        for (std::int64_t j = 0; j < n; ++j) {
          const V v = load(row[j]);
          const bool b = better(v, best[j]);
          best[j] = b ? v : best[j];
          out[c0 + j] = b ? static_cast<std::uint32_t>(r) : out[c0 + j];
        }
      }
    }
  }

  static ArgReduceKernel kernel() { return {rows, columns}; }
};

// --- running reductions

template <typename Op, typename In, typename Acc, typename Out>
struct Scanner {
  static constexpr std::int64_t kAtOnce = 8;  // rows, whose chains of dependent operations overlap

  template <std::int64_t kRows>
  static void some_rows(const In* x, Out* out, std::int64_t size, bool reverse) {
    Acc sums[kRows];
    for (std::int64_t r = 0; r < kRows; ++r) sums[r] = static_cast<Acc>(load(x[r * size + (reverse ? size - 1 : 0)]));
    for (std::int64_t r = 0; r < kRows; ++r) out[r * size + (reverse ? size - 1 : 0)] = store<Out>(sums[r]);
    for (std::int64_t i = 1; i < size; ++i) {
      const std::int64_t at = reverse ? size - 1 - i : i;
      for (std::int64_t r = 0; r < kRows; ++r) {
        sums[r] = Op::template join<Acc>(sums[r], static_cast<Acc>(load(x[r * size + at])));
        out[r * size + at] = store<Out>(sums[r]);
      }
    }
  }

  static void rows(const void* x, void* out, std::int64_t size, bool reverse, std::int64_t begin, std::int64_t end) {
    const In* from = static_cast<const In*>(x);
    Out* to = static_cast<Out*>(out);
    std::int64_t r = begin;
    for (; r + kAtOnce <= end; r += kAtOnce) some_rows<kAtOnce>(from + r * size, to + r * size, size, reverse);
    for (; r < end; ++r) some_rows<1>(from + r * size, to + r * size, size, reverse);
  }

  static void columns(const void* x, void* out, std::int64_t size, std::int64_t inner, bool reverse, std::int64_t begin,
                      std::int64_t end) {
    constexpr std::int64_t kColumns = 512;
    Acc sums[kColumns];
    for (std::int64_t c0 = begin; c0 < end; c0 += kColumns) {
      const std::int64_t n = std::min(kColumns, end - c0);
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t at = (reverse ? size - 1 - i : i) * inner + c0;
        const In* HWY_RESTRICT row = static_cast<const In*>(x) + at;
        Out* HWY_RESTRICT to = static_cast<Out*>(out) + at;
        if (i == 0) {
          for (std::int64_t j = 0; j < n; ++j) sums[j] = static_cast<Acc>(load(row[j]));
        } else {
          for (std::int64_t j = 0; j < n; ++j)
            sums[j] = Op::template join<Acc>(sums[j], static_cast<Acc>(load(row[j])));
        }
        for (std::int64_t j = 0; j < n; ++j) to[j] = store<Out>(sums[j]);
      }
    }
  }

  static ScanKernel kernel() { return {rows, columns}; }
};

template <typename T>
ScanKernel scan_of(ScanKind kind) {
  using V = Loaded<T>;
  switch (kind) {
    case ScanKind::sum: return Scanner<Sum, T, V, T>::kernel();
    case ScanKind::product: return Scanner<Product, T, V, T>::kernel();
    case ScanKind::max: return Scanner<Max, T, V, T>::kernel();
    case ScanKind::min: return Scanner<Min, T, V, T>::kernel();
  }
  return {};
}

ReduceKernel find_reduce(ReduceKind kind, DType dtype) {
  if (dtype == DType::bool_ && kind == ReduceKind::sum) {
    return Reducer<Sum, std::uint8_t, std::int32_t, std::int32_t, std::int32_t>::kernel();
  }
  if (dtype == DType::bool_ && kind == ReduceKind::product) {
    return Reducer<Product, std::uint8_t, std::int32_t, std::int32_t, std::int32_t>::kernel();
  }
  return with_type(dtype, [&](auto zero) { return of_dtype<decltype(zero)>(kind); });
}

ArgReduceKernel find_arg_reduce(bool greatest, DType dtype) {
  return with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    return greatest ? ArgReducer<T, true>::kernel() : ArgReducer<T, false>::kernel();
  });
}

ScanKernel find_scan(ScanKind kind, DType in, DType out) {
  if (in == DType::bool_ && out == DType::int32) {
    return Scanner<Sum, std::uint8_t, std::int32_t, std::int32_t>::kernel();
  }
  if (in == DType::bool_ && kind == ScanKind::product) return scan_of<std::uint8_t>(ScanKind::min);
  if (in != out) return {};
  return with_type(in, [&](auto zero) { return scan_of<decltype(zero)>(kind); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(find_reduce);
HWY_EXPORT(find_arg_reduce);
HWY_EXPORT(find_scan);

}  // namespace

ReduceKernel reduce_kernel(ReduceKind kind, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_reduce)(kind, dtype); }
ArgReduceKernel arg_reduce_kernel(bool greatest, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(find_arg_reduce)(greatest, dtype);
}
ScanKernel scan_kernel(ScanKind kind, DType in, DType out) { return HWY_DYNAMIC_DISPATCH(find_scan)(kind, in, out); }

void reduce(const ReduceKernel& kernel, const std::byte* x, std::byte* out, std::int64_t outer, std::int64_t size,
            std::int64_t inner, std::size_t in_bytes, std::size_t out_bytes, std::byte* scratch, int threads) {
  const auto in_size = static_cast<std::int64_t>(in_bytes);
  const auto out_size = static_cast<std::int64_t>(out_bytes);
  if (inner == 1 && outer == 1 && size > kReduceChunk) {
    const std::int64_t chunks = (size + kReduceChunk - 1) / kReduceChunk;
    parallel_for(threads, chunks, std::max<std::int64_t>(1, 2 * kParallelGrain / (kReduceChunk * in_size)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t c = begin; c < end; ++c) {
                     kernel.partial(x, scratch + 8 * c, c * kReduceChunk, std::min(size, (c + 1) * kReduceChunk));
                   }
                 });
    kernel.join(scratch, out, chunks);
    return;
  }
  if (inner == 1) {
    parallel_for(threads, outer, std::max<std::int64_t>(1, 2 * kParallelGrain / (size * in_size)),
                 [&](std::int64_t begin, std::int64_t end) { kernel.rows(x, out, size, begin, end); });
    return;
  }
  const std::int64_t matrix = size * inner * in_size;
  if (outer > 1 && matrix < 2 * kParallelGrain) {
    parallel_for(threads, outer, std::max<std::int64_t>(1, 2 * kParallelGrain / matrix),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t o = begin; o < end; ++o) {
                     kernel.columns(x + o * matrix, out + o * inner * out_size, size, inner, 0, inner);
                   }
                 });
    return;
  }
  for (std::int64_t o = 0; o < outer; ++o) {
    parallel_for(threads, inner, std::max<std::int64_t>(64, 2 * kParallelGrain / (size * in_size)),
                 [&](std::int64_t begin, std::int64_t end) {
                   kernel.columns(x + o * matrix, out + o * inner * out_size, size, inner, begin, end);
                 });
  }
}

}  // namespace reprise::native
#endif
