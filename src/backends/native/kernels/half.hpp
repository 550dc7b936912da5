// Sixteen-bit floats in plain code that compilers turn into vector code.
#pragma once

#include <bit>
#include <cstdint>

namespace reprise::native {

struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

inline float widen(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

// After "FP16" by M. Dukhan, without a branch: a multiplication moves exponents, a subtraction makes subnormals right.
inline float widen(Float16 x) {
  const std::uint32_t w = static_cast<std::uint32_t>(x.bits) << 16;
  const std::uint32_t sign = w & 0x80000000u;
  const std::uint32_t twice = w + w;
  const float normal = std::bit_cast<float>((twice >> 4) + (0xE0u << 23)) * 0x1.0p-112f;
  const float subnormal = std::bit_cast<float>((twice >> 17) | (126u << 23)) - 0.5f;
  const std::uint32_t magnitude =
      twice < (1u << 27) ? std::bit_cast<std::uint32_t>(subnormal) : std::bit_cast<std::uint32_t>(normal);
  return std::bit_cast<float>(sign | magnitude);
}

// Rounds to nearest, ties to even; NaN stays NaN.
inline BFloat16 to_bfloat16(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
  return {static_cast<std::uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? (u >> 16) | 0x40u : rounded)};
}

inline Float16 to_float16(float x) {
  const std::uint32_t w = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = w & 0x80000000u;
  const std::uint32_t twice = w + w;
  // Scaling up and down again overflows what is too large; adding the bias rounds at the right bit.
  const float magnitude = std::bit_cast<float>(w & 0x7FFFFFFFu);
  const float base = (magnitude * 0x1.0p+112f) * 0x1.0p-110f;
  std::uint32_t bias = twice & 0xFF000000u;
  bias = bias < 0x71000000u ? 0x71000000u : bias;
  const float shifted = std::bit_cast<float>((bias >> 1) + 0x07800000u) + base;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(shifted);
  const std::uint32_t body = ((bits >> 13) & 0x7C00u) + (bits & 0x0FFFu);
  return {static_cast<std::uint16_t>((sign >> 16) | (twice > 0xFF000000u ? 0x7E00u : body))};
}

}  // namespace reprise::native
