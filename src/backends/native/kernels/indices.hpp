// Integer tensors read as places, by the rules that all ops share: a negative index counts from the end of its axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// What becomes of an index beyond its axis.
enum class Outside : std::uint8_t { nearest, dropped };

/// places[i] = where indices[i * stride] points to in an axis of `size` elements; -1 for one that is dropped.
void read_places(const std::byte* indices, DType dtype, std::int64_t stride, std::int64_t n, std::int64_t size,
                 Outside outside, std::int64_t* places);

/// An axis that is indexed, and its stride in elements.
struct IndexedAxis {
  std::int64_t size, stride;
};

/// Rows [begin, end) of indices, which are (rows, axes.size()) without gaps, as offsets in elements; -1 where any of
/// the row is dropped.
void read_offsets(const std::byte* indices, DType dtype, std::span<const IndexedAxis> axes, std::int64_t begin,
                  std::int64_t end, Outside outside, std::int64_t* offsets);

/// One number of any real dtype, truncated and held to [0, last]; NaN gives 0.
std::int64_t clamped_start(const std::byte* start, DType dtype, std::int64_t last);

}  // namespace reprise::native
