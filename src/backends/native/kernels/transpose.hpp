// Transposed copies of 32-bit words.
#pragma once

#include <cstdint>

namespace reprise::native {

/// to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < columns.
void transpose_words(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to, std::int64_t to_stride,
                     std::int64_t rows, std::int64_t columns);

}  // namespace reprise::native
