// Counting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// out[i] = first + i, counted in 64 bits and then cast to dtype.
void count_up(DType dtype, std::int64_t first, std::int64_t n, std::byte* out);

}  // namespace reprise::native
