// The two 16-bit floats as bits, without a compiler's or MLX's types.
//
//   float_from_half(0xBD00);    // -1.25
//   bfloat16_from_float(1.0F);  // 0x3F80
#pragma once

#include <bit>
#include <cstdint>

namespace reprise::gguf {

inline float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  if (magnitude >= 0x0400U) return std::bit_cast<float>(sign | ((magnitude << 13) + ((127U - 15U) << 23)));
  // Zero and subnormals: multiples of 2^-24.
  const float value = static_cast<float>(magnitude) * 0x1p-24F;
  return sign != 0 ? -value : value;
}

/// To nearest, ties to even; infinite when too large.
inline std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U | ((magnitude >> 13) & 0x3ffU);  // NaN stays NaN even when the kept part of its payload is zero
  } else if (magnitude >= 0x477ff000U) {
    half = 0x7c00U;  // 65520 and above
  } else if (magnitude >= 0x38800000U) {
    const std::uint32_t rebased = magnitude - ((127U - 15U) << 23);
    half = (rebased + 0xfffU + ((rebased >> 13) & 1U)) >> 13;
  } else {
    // Adding 0.5 leaves multiples of 2^-24 in the lowest bits, rounded by the processor.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  }
  return static_cast<std::uint16_t>(sign | half);
}

/// To nearest, ties to even.
inline std::uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace reprise::gguf
