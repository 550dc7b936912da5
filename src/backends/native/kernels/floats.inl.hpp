// float16, bfloat16 and float32 elements as float32 and back, for kernels that compute in float32. Included once for
// each target of Highway (foreach_target.h), inside nothing.
#if defined(REPRISE_FLOATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_FLOATS_INL
#undef REPRISE_FLOATS_INL
#else
#define REPRISE_FLOATS_INL
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "reprise/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's conversions without F16C truncate and lose infinities, so these are spelled out there.
#undef REPRISE_HAS_F16C
#if HWY_TARGET <= HWY_AVX2
#define REPRISE_HAS_F16C 1
#else
#define REPRISE_HAS_F16C 0
#endif

// After "FP16" by M. Dukhan: the exponent is moved with a multiplication, which also makes subnormal numbers right.
HWY_INLINE float float_of_half(std::uint16_t h) {
  const std::uint32_t w = static_cast<std::uint32_t>(h) << 16;
  const std::uint32_t sign = w & 0x80000000u;
  const std::uint32_t two_w = w + w;
  const float normal = std::bit_cast<float>((two_w >> 4) + (0xE0u << 23)) * 0x1.0p-112f;
  const float small = std::bit_cast<float>((two_w >> 17) | (126u << 23)) - 0.5f;
  const float magnitude = two_w < (1u << 27) ? small : normal;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

// Rounds to nearest, ties to even.
HWY_INLINE std::uint16_t half_of_float(float f) {
  const std::uint32_t w = std::bit_cast<std::uint32_t>(f);
  const float absolute = std::bit_cast<float>(w & 0x7FFFFFFFu);
  float base = (absolute * 0x1.0p+112f) * 0x1.0p-110f;
  const std::uint32_t two_w = w + w;
  const std::uint32_t sign = w & 0x80000000u;
  std::uint32_t bias = two_w & 0xFF000000u;
  if (bias < 0x71000000u) bias = 0x71000000u;
  base = std::bit_cast<float>((bias >> 1) + 0x07800000u) + base;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(base);
  const std::uint32_t finite = ((bits >> 13) & 0x00007C00u) + (bits & 0x00000FFFu);
  return static_cast<std::uint16_t>((sign >> 16) | (two_w > 0xFF000000u ? 0x7E00u : finite));
}

HWY_INLINE float float_of_bfloat(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

// Rounds to nearest, ties to even; NaN stays NaN.
HWY_INLINE std::uint16_t bfloat_of_float(float f) {
  const std::uint32_t w = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t rounded = (w + 0x7FFFu + ((w >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>((w & 0x7FFFFFFFu) > 0x7F800000u ? (w >> 16) | 0x40u : rounded);
}

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
  for (; i < n; ++i) to[i] = float_of_half(from[i]);
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
  for (; i < n; ++i) to[i] = half_of_float(from[i]);
}

/// n elements of dtype `type` (float32, float16 or bfloat16) as float32.
HWY_INLINE void load_floats(const void* from, DType type, float* HWY_RESTRICT to, std::int64_t n) {
  if (type == DType::float32) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
  } else if (type == DType::float16) {
    floats_of_halves(static_cast<const std::uint16_t*>(from), to, n);
  } else {
    const auto* HWY_RESTRICT source = static_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = float_of_bfloat(source[i]);
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
    for (std::int64_t i = 0; i < n; ++i) target[i] = bfloat_of_float(from[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#endif
