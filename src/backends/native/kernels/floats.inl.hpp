// float16, bfloat16 and float32 elements as float32 and back, for kernels that compute in float32. Included once for
// each target of Highway (foreach_target.h), inside nothing.
#if defined(REPRISE_FLOATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_FLOATS_INL
#undef REPRISE_FLOATS_INL
#else
#define REPRISE_FLOATS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "backends/native/kernels/half.hpp"
#include "reprise/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's conversions without F16C truncate and lose infinities, so those of half.hpp are taken there.
#undef REPRISE_HAS_F16C
#if HWY_TARGET <= HWY_AVX2
#define REPRISE_HAS_F16C 1
#else
#define REPRISE_HAS_F16C 0
#endif

HWY_INLINE void floats_of_halves(const std::uint16_t* HWY_RESTRICT from, float* HWY_RESTRICT to, std::int64_t n) {
  std::int64_t i = 0;
#if REPRISE_HAS_F16C
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from + i))), d, to + i);
  }
#endif
  for (; i < n; ++i) to[i] = widen(Float16{from[i]});
}

HWY_INLINE void halves_of_floats(const float* HWY_RESTRICT from, std::uint16_t* HWY_RESTRICT to, std::int64_t n) {
  std::int64_t i = 0;
#if REPRISE_HAS_F16C
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, from + i)), dh, reinterpret_cast<hwy::float16_t*>(to + i));
  }
#endif
  for (; i < n; ++i) to[i] = to_float16(from[i]).bits;
}

/// n elements of dtype `type` (float32, float16 or bfloat16) as float32.
HWY_INLINE void load_floats(const void* from, DType type, float* HWY_RESTRICT to, std::int64_t n) {
  if (type == DType::float32) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
  } else if (type == DType::float16) {
    floats_of_halves(static_cast<const std::uint16_t*>(from), to, n);
  } else {
    const auto* HWY_RESTRICT source = static_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = widen(BFloat16{source[i]});
  }
}

/// n float32 elements, rounded to `type`.
HWY_INLINE void store_floats(const float* HWY_RESTRICT from, DType type, void* to, std::int64_t n) {
  if (type == DType::float32) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
  } else if (type == DType::float16) {
    halves_of_floats(from, static_cast<std::uint16_t*>(to), n);
  } else {
    auto* HWY_RESTRICT target = static_cast<std::uint16_t*>(to);
    for (std::int64_t i = 0; i < n; ++i) target[i] = to_bfloat16(from[i]).bits;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#endif
