// The inner loop of products with a packed panel: a few rows of C, two vectors wide, stay in registers.
// Included once for each target of Highway.
#if defined(REPRISE_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_PANEL_INL
#undef REPRISE_PANEL_INL
#else
#define REPRISE_PANEL_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Columns of a panel.
HWY_INLINE std::int64_t panel_width() { return 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())); }

// C (kRows, width) += A (kRows, k) B (k, width); a_k is the distance of A's columns.
template <int kRows>
HWY_INLINE void panel_rows(const float* HWY_RESTRICT a, std::int64_t lda, std::int64_t a_k, const float* HWY_RESTRICT b,
                           std::int64_t ldb, std::int64_t k, float* HWY_RESTRICT c, std::int64_t ldc) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V left[kRows], right[kRows];
  for (int r = 0; r < kRows; ++r) {
    left[r] = hn::LoadU(d, c + r * ldc);
    right[r] = hn::LoadU(d, c + r * ldc + lanes);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    const V b0 = hn::LoadU(d, b + i * ldb);
    const V b1 = hn::LoadU(d, b + i * ldb + lanes);
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r * lda + i * a_k]);
      left[r] = hn::MulAdd(x, b0, left[r]);
      right[r] = hn::MulAdd(x, b1, right[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    hn::StoreU(left[r], d, c + r * ldc);
    hn::StoreU(right[r], d, c + r * ldc + lanes);
  }
}

/// C (m, width) += A (m, k) B (k, width). Each element is one sum in order of k, whatever m is.
HWY_INLINE void panel_product(const float* a, std::int64_t lda, std::int64_t a_k, const float* b, std::int64_t ldb,
                              std::int64_t m, std::int64_t k, float* c, std::int64_t ldc) {
  // As many sums as the registers hold beside two vectors of B and one of A.
#if HWY_TARGET <= HWY_AVX3
  constexpr int kRows = 12;
#else
  constexpr int kRows = 6;
#endif
  for (; m >= kRows; m -= kRows, a += kRows * lda, c += kRows * ldc) panel_rows<kRows>(a, lda, a_k, b, ldb, k, c, ldc);
#if HWY_TARGET <= HWY_AVX3
  if (m >= 8) {
    panel_rows<8>(a, lda, a_k, b, ldb, k, c, ldc);
    m -= 8, a += 8 * lda, c += 8 * ldc;
  }
#endif
  if (m >= 4) {
    panel_rows<4>(a, lda, a_k, b, ldb, k, c, ldc);
    m -= 4, a += 4 * lda, c += 4 * ldc;
  }
  switch (m) {
    case 3: return panel_rows<3>(a, lda, a_k, b, ldb, k, c, ldc);
    case 2: return panel_rows<2>(a, lda, a_k, b, ldb, k, c, ldc);
    case 1: return panel_rows<1>(a, lda, a_k, b, ldb, k, c, ldc);
    default: return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#endif
