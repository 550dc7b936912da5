// Arrays of float16, bfloat16 or float32 to float32 and back.
#pragma once

#include <cstdint>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// n elements of dtype `type` as float32.
void to_floats(const void* from, DType type, float* to, std::int64_t n, int threads);
/// n float32 elements, rounded to `type`: to nearest, ties to even.
void from_floats(const float* from, DType type, void* to, std::int64_t n, int threads);

}  // namespace reprise::native
