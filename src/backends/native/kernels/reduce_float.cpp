// Sums and extrema of float32 with the lanes in registers, where the compiler would keep those of reduce.cpp in memory.
// The same bits: 64 lanes, then halves; chunks of kReduceChunk elements, or kRows rows, joined in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/reduce_float.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/native/kernels/reduce_float.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kLanes = 64;

struct Sum {
  using Partial = double;
  static constexpr float kIdentity = 0;
  template <class V>
  static HWY_INLINE V join_vectors(V a, V b) {
    return hn::Add(a, b);
  }
  template <typename T>
  static T join(T a, T b) {
    return a + b;
  }
};

// NaN wins.
template <bool kGreatest>
struct Extremum {
  using Partial = float;
  static constexpr float kIdentity =
      kGreatest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  template <class V>
  static HWY_INLINE V join_vectors(V a, V b) {
    return hn::IfThenElse(hn::Or(kGreatest ? hn::Gt(b, a) : hn::Lt(b, a), hn::IsNaN(b)), b, a);
  }
  static float join(float a, float b) { return (kGreatest ? b > a : b < a) || b != b ? b : a; }
};

template <typename Op>
struct FloatReducer {
  using Partial = typename Op::Partial;

  static Partial chunk(const float* HWY_RESTRICT x, std::int64_t n) {
    const hn::ScalableTag<float> d;
    constexpr auto kWidth = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
    constexpr std::int64_t kVectors = kLanes / kWidth;
    hn::Vec<decltype(d)> sums[kVectors];
#pragma GCC unroll 64
    for (std::int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Set(d, Op::kIdentity);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 64
      for (std::int64_t v = 0; v < kVectors; ++v) {
        sums[v] = Op::join_vectors(sums[v], hn::LoadU(d, x + i + v * kWidth));
      }
    }
    float lanes[kLanes];
#pragma GCC unroll 64
    for (std::int64_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, lanes + v * kWidth);
    for (std::int64_t j = 0; i + j < n; ++j) lanes[j] = Op::join(lanes[j], x[i + j]);
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::int64_t j = 0; j < width; ++j) lanes[j] = Op::join(lanes[j], lanes[j + width]);
    }
    return static_cast<Partial>(lanes[0]);
  }

  static void rows(const void* x, void* out, std::int64_t size, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* row = static_cast<const float*>(x) + r * size;
      Partial total = chunk(row, std::min(size, kReduceChunk));
      for (std::int64_t i = kReduceChunk; i < size; i += kReduceChunk) {
        total = Op::join(total, chunk(row + i, std::min(size - i, kReduceChunk)));
      }
      static_cast<float*>(out)[r] = static_cast<float>(total);
    }
  }

  static void partial(const void* x, void* to, std::int64_t begin, std::int64_t end) {
    const Partial p = chunk(static_cast<const float*>(x) + begin, end - begin);
    std::memcpy(to, &p, sizeof p);
  }

  // Joins rows to the lanes in their order, each lane loaded and stored once.
  template <std::int64_t kAtOnce>
  static void some_rows(const float* HWY_RESTRICT x, std::int64_t inner, float* HWY_RESTRICT lanes, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
      float lane = lanes[j];
#pragma GCC unroll 8
      for (std::int64_t r = 0; r < kAtOnce; ++r) lane = Op::join(lane, x[r * inner + j]);
      lanes[j] = lane;
    }
  }

  static void columns(const void* x, void* out, std::int64_t size, std::int64_t inner, std::int64_t begin,
                      std::int64_t end) {
    constexpr std::int64_t kRows = 256, kTile = 1024;
    float lanes[kTile];
    Partial totals[kTile];
    for (std::int64_t c0 = begin; c0 < end; c0 += kTile) {
      const std::int64_t n = std::min(kTile, end - c0);
      for (std::int64_t r0 = 0; r0 < size; r0 += kRows) {
        std::fill_n(lanes, n, Op::kIdentity);
        const std::int64_t r1 = std::min(size, r0 + kRows);
        const float* from = static_cast<const float*>(x) + c0;
        std::int64_t r = r0;
        for (; r + 8 <= r1; r += 8) some_rows<8>(from + r * inner, inner, lanes, n);
        for (; r < r1; ++r) some_rows<1>(from + r * inner, inner, lanes, n);
        if (r0 == 0) {
          std::copy_n(lanes, n, totals);
        } else {
          for (std::int64_t j = 0; j < n; ++j) totals[j] = Op::join(totals[j], static_cast<Partial>(lanes[j]));
        }
      }
      float* HWY_RESTRICT to = static_cast<float*>(out) + c0;
      for (std::int64_t j = 0; j < n; ++j) to[j] = static_cast<float>(totals[j]);
    }
  }

  static ReduceKernel kernel() { return {rows, partial, nullptr, columns}; }
};

ReduceKernel find_float_reduce(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return FloatReducer<Sum>::kernel();
    case ReduceKind::max: return FloatReducer<Extremum<true>>::kernel();
    case ReduceKind::min: return FloatReducer<Extremum<false>>::kernel();
    default: return {};
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(find_float_reduce);

}  // namespace

ReduceKernel float_reduce_kernel(ReduceKind kind) {
  ReduceKernel kernel = HWY_DYNAMIC_DISPATCH(find_float_reduce)(kind);
  const ReduceKernel plain = reduce_kernel(kind, DType::float32);
  kernel.join = plain.join;
  return kernel.rows ? kernel : plain;
}

}  // namespace reprise::native
#endif
