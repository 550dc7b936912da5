// Sorting of dense rows: stable, NaN behind everything (in front when descending), zeros of both signs alike, complex
// numbers by their real, then their imaginary part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// Bytes that the functions below need to work in, for rows of n elements.
std::size_t sort_scratch_bytes(DType dtype, std::int64_t n);
std::size_t argsort_scratch_bytes(DType dtype, std::int64_t n);

/// `out`, `x` and `scratch` do not overlap; `scratch` is aligned to 16 bytes.
void sort_rows(DType dtype, const std::byte* x, std::byte* out, std::int64_t rows, std::int64_t n, bool ascending,
               std::byte* scratch, int threads);
/// The positions that put each row in order.
void argsort_rows(DType dtype, const std::byte* x, std::uint32_t* out, std::int64_t rows, std::int64_t n,
                  bool ascending, std::byte* scratch, int threads);

}  // namespace reprise::native
