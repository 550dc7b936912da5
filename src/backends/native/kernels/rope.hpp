// Rotary position embedding.
#pragma once

#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// Cosines and sines, `half` of each for each of `count` positions: (count, 2, half). The angle of pair i is
/// scale * position * turns[i], in float32.
void rotation_table(const float* positions, std::int64_t count, const float* turns, std::int64_t half, float scale,
                    float* table, int threads);

/// x and out are (rows, width), dense; row r turns by entry (r / inner) % period + (r / (inner * period)) / outer *
/// period of the table.
struct Rotation {
  std::int64_t rows = 0, width = 0, dims = 0;
  bool neighbours = false;  ///< pairs are (2i, 2i + 1) instead of (i, i + dims / 2)
  std::int64_t inner = 1;   ///< rows one behind the other that share a position
  std::int64_t period = 1;  ///< positions one behind the other
  std::int64_t outer = 1;   ///< how often those repeat before the next ones are used
  const void* x = nullptr;
  void* out = nullptr;
  DType type = DType::float32;
  const float* table = nullptr;
};
void rotate(const Rotation& r, int threads);

}  // namespace reprise::native
