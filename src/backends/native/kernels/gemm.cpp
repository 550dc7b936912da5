#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "backends/native/kernels/gemm.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows by vectors of C that stay in registers.
template <int kRows, int kVectors, typename T>
HWY_INLINE void block(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT c, const GemmShape& s,
                      std::int64_t tail) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(tail));  // of the last vector
  for (std::int64_t k = 0; k < s.k; ++k) {
    V row[kVectors];
    for (int v = 0; v + 1 < kVectors; ++v) row[v] = hn::LoadU(d, b + k * s.b_k + v * lanes);
    row[kVectors - 1] = tail == lanes ? hn::LoadU(d, b + k * s.b_k + (kVectors - 1) * lanes)
                                      : hn::MaskedLoad(mask, d, b + k * s.b_k + (kVectors - 1) * lanes);
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r * s.a_m + k * s.a_k]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, row[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * s.c_m + v * lanes);
    T* last = c + r * s.c_m + (kVectors - 1) * lanes;
    if (tail == lanes) {
      hn::StoreU(sums[r][kVectors - 1], d, last);
    } else {
      hn::BlendedStore(sums[r][kVectors - 1], mask, d, last);
    }
  }
}

template <int kVectors, typename T>
HWY_INLINE void column(const T* a, const T* b, T* c, const GemmShape& s, std::int64_t m, std::int64_t tail) {
  std::int64_t r = 0;
  for (; r + 4 <= m; r += 4) block<4, kVectors>(a + r * s.a_m, b, c + r * s.c_m, s, tail);
  if (r + 2 <= m) {
    block<2, kVectors>(a + r * s.a_m, b, c + r * s.c_m, s, tail);
    r += 2;
  }
  if (r < m) block<1, kVectors>(a + r * s.a_m, b, c + r * s.c_m, s, tail);
}

// C's columns [begin, end); rows of B are contiguous.
template <typename T>
void columns(const T* a, const T* b, T* c, const GemmShape& s, std::int64_t m, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = begin;
  for (; n + 4 * lanes <= end; n += 4 * lanes) column<4>(a, b + n, c + n, s, m, lanes);
  for (; n < end; n += lanes) column<1>(a, b + n, c + n, s, m, std::min(lanes, end - n));
}

// One row of A, rows of B contiguous and many: B is read once, front to back, several rows at a time.
template <typename T>
void row_times_matrix(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT c, const GemmShape& s,
                      std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::fill(c + begin, c + end, T{0});
  constexpr std::int64_t kAtOnce = 8;
  std::int64_t k = 0;
  for (; k + kAtOnce <= s.k; k += kAtOnce) {
    const T* rows = b + k * s.b_k;
    hn::Vec<decltype(d)> x[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) x[i] = hn::Set(d, a[(k + i) * s.a_k]);
    std::int64_t n = begin;
    for (; n + lanes <= end; n += lanes) {
      auto sum = hn::LoadU(d, c + n);
      for (int i = 0; i < kAtOnce; ++i) sum = hn::MulAdd(x[i], hn::LoadU(d, rows + i * s.b_k + n), sum);
      hn::StoreU(sum, d, c + n);
    }
    if (n < end) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(end - n));
      auto sum = hn::MaskedLoad(mask, d, c + n);
      for (int i = 0; i < kAtOnce; ++i) sum = hn::MulAdd(x[i], hn::MaskedLoad(mask, d, rows + i * s.b_k + n), sum);
      hn::BlendedStore(sum, mask, d, c + n);
    }
  }
  for (; k < s.k; ++k) {
    const T x = a[k * s.a_k];
    for (std::int64_t n = begin; n < end; ++n) c[n] += x * b[k * s.b_k + n];
  }
}

// Columns of B are contiguous, and so are rows of A: dot products.
template <typename T>
void dots(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT c, const GemmShape& s, std::int64_t m,
          std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < m; ++r) {
    const T* x = a + r * s.a_m;
    for (std::int64_t n = begin; n < end; ++n) {
      const T* y = b + n * s.b_n;
      auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      std::int64_t k = 0;
      for (; k + 4 * lanes <= s.k; k += 4 * lanes) {
        s0 = hn::MulAdd(hn::LoadU(d, x + k), hn::LoadU(d, y + k), s0);
        s1 = hn::MulAdd(hn::LoadU(d, x + k + lanes), hn::LoadU(d, y + k + lanes), s1);
        s2 = hn::MulAdd(hn::LoadU(d, x + k + 2 * lanes), hn::LoadU(d, y + k + 2 * lanes), s2);
        s3 = hn::MulAdd(hn::LoadU(d, x + k + 3 * lanes), hn::LoadU(d, y + k + 3 * lanes), s3);
      }
      for (; k < s.k; k += lanes) {
        const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, s.k - k)));
        s0 = hn::MulAdd(hn::MaskedLoad(mask, d, x + k), hn::MaskedLoad(mask, d, y + k), s0);
      }
      const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
      c[r * s.c_m + n] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
  }
}

template <typename T>
void part(const T* a, const T* b, T* c, const GemmShape& s, std::int64_t begin, std::int64_t end) {
  if (s.b_n != 1) {
    dots(a, b, c, s, s.m, begin, end);
  } else if (s.m == 1 && s.k >= 8) {
    row_times_matrix(a, b, c, s, begin, end);
  } else {
    columns(a, b, c, s, s.m, begin, end);
  }
}

void part_f32(const float* a, const float* b, float* c, const GemmShape& s, std::int64_t begin, std::int64_t end) {
  part(a, b, c, s, begin, end);
}
void part_f64(const double* a, const double* b, double* c, const GemmShape& s, std::int64_t begin, std::int64_t end) {
  part(a, b, c, s, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(part_f32);
HWY_EXPORT(part_f64);

template <typename T, typename Part>
void run(const T* a, const T* b, T* c, const GemmShape& s, int threads, Part part) {
  if (s.batch == 1 || s.m * s.n * s.k > kParallelGrain) {
    // Whole cache lines of C to each thread.
    constexpr std::int64_t kLine = 64;
    const std::int64_t lines = (s.n + kLine - 1) / kLine;
    const std::int64_t grain =
        std::max<std::int64_t>(1, kParallelGrain / std::max<std::int64_t>(1, kLine * s.k * s.m / 4));
    for (std::int64_t i = 0; i < s.batch; ++i) {
      parallel_for(threads, lines, grain, [&](std::int64_t begin, std::int64_t end) {
        part(a + i * s.a_batch, b + i * s.b_batch, c + i * s.c_batch, s, begin * kLine, std::min(end * kLine, s.n));
      });
    }
    return;
  }
  parallel_for(threads, s.batch,
               std::max<std::int64_t>(1, kParallelGrain / std::max<std::int64_t>(1, s.m * s.n * s.k / 4)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   part(a + i * s.a_batch, b + i * s.b_batch, c + i * s.c_batch, s, 0, s.n);
                 }
               });
}

}  // namespace

void gemm(const float* a, const float* b, float* c, const GemmShape& shape, int threads) {
  run(a, b, c, shape, threads, HWY_DYNAMIC_DISPATCH(part_f32));
}

void gemm(const double* a, const double* b, double* c, const GemmShape& shape, int threads) {
  run(a, b, c, shape, threads, HWY_DYNAMIC_DISPATCH(part_f64));
}

}  // namespace reprise::native
#endif
