// Copies between views of one shape and dtype.
#pragma once

#include <memory>

#include "backends/native/plan.hpp"

namespace reprise::native {

/// Writes the elements of `from` to `to`, both of one shape and of elements of one size. They must not overlap.
std::unique_ptr<Step> make_copy_step(const View& from, const View& to);

/// The same at once. `from` and `to` point to elements [0, 0, ...]; strides are in elements.
void copy_strided(const std::byte* from, std::span<const std::int64_t> from_strides, std::byte* to,
                  std::span<const std::int64_t> to_strides, const Shape& shape, std::size_t element_bytes, int threads);

}  // namespace reprise::native
