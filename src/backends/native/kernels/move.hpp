// Blocks moved by offset: what gathers and scatters do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/native/copy.hpp"

namespace reprise::native {

/// out[i] = the block of x that begins `offsets[i]` elements after it, n blocks one after the other. `block` copies one
/// from x to a dense place.
void gather_blocks(const std::byte* x, const std::int64_t* offsets, std::int64_t n, const StridedCopy& block,
                   std::int64_t block_elements, std::size_t element_bytes, std::byte* out);

/// Writes block i, of n dense ones, to x at offsets[i], when that lies in [begin, end). In order: the last one stays.
void put_blocks(const std::byte* blocks, const std::int64_t* offsets, std::int64_t n, std::int64_t begin,
                std::int64_t end, const StridedCopy& block, std::int64_t block_elements, std::size_t element_bytes,
                std::byte* x);

/// Adds instead; true for booleans where either is. In order, so that sums of floats come out the same each time.
using AddBlocks = void (*)(const std::byte* blocks, const std::int64_t* offsets, std::int64_t n, std::int64_t begin,
                           std::int64_t end, const StridedCopy& block, std::int64_t block_elements, std::byte* x);

/// Null for 16-bit floats, whose sums are float32.
AddBlocks add_blocks(DType dtype);

/// out[i] = x[places[i] * axis_stride + i * stride]
void take_elements(const std::byte* x, const std::int64_t* places, std::int64_t n, std::int64_t axis_stride,
                   std::int64_t stride, std::size_t element_bytes, std::byte* out);

}  // namespace reprise::native
