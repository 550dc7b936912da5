// Blocks to floats as the formats' definition reads, element by element, sharing no code with the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reprise::gguf::testing {

inline float oracle_half(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int fraction = static_cast<int>(bits & 1023);
  const float sign = bits >> 15 != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return sign * (fraction != 0 ? NAN : INFINITY);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

/// `type` as in files: 2 is Q4_0, 3 Q4_1, 8 Q8_0.
inline std::vector<float> oracle_dequantise(std::span<const std::byte> data, unsigned type) {
  const std::size_t block_bytes = type == 2 ? 18 : type == 3 ? 20 : 34;
  const auto byte = [&](std::size_t at) { return std::to_integer<unsigned>(data[at]); };
  std::vector<float> values;
  for (std::size_t start = 0; start < data.size(); start += block_bytes) {
    const float d = oracle_half(byte(start) | byte(start + 1) << 8);
    for (std::size_t i = 0; i < 32; ++i) {
      if (type == 8) {
        values.push_back(d * static_cast<float>(static_cast<std::int8_t>(byte(start + 2 + i))));
        continue;
      }
      const unsigned pair = byte(start + (type == 2 ? 2 : 4) + i % 16);
      const auto code = static_cast<float>(i < 16 ? pair & 15 : pair >> 4);
      if (type == 2) {
        values.push_back((code - 8.0F) * d);
      } else {
        values.push_back(code * d + oracle_half(byte(start + 2) | byte(start + 3) << 8));
      }
    }
  }
  return values;
}

}  // namespace reprise::gguf::testing
