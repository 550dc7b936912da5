// Element-wise functions over short contiguous runs of elements: what fused groups are interpreted with.
//
//   const TileFn add = tile_kernel("add", DType::float32);
//   const void* in[] = {a, b};
//   add(in, out, 3);
#pragma once

#include <cstddef>
#include <string_view>

#include "reprise/dtype.hpp"

namespace reprise::native {

/// Reads n elements of each operand and writes n. `out` may be an operand whose elements have the size of the result's;
/// else they do not overlap. An element's result does not depend on its place in the run.
using TileFn = void (*)(const void* const* in, void* out, std::size_t n);

/// The op on operands of `dtype` (select's first is bool), chosen for this processor; null when there is none. Half
/// precision has no kernels of its own, except where bits are only moved: it is computed in float32.
TileFn tile_kernel(std::string_view op, DType dtype);

/// One step of a conversion as `astype` defines it, or null when it takes several (by way of float32).
TileFn cast_kernel(DType from, DType to);

/// float32 numbers to the nearest that `half` (float16, bfloat16) holds, still as float32.
TileFn round_kernel(DType half);

/// Copies n elements of so many bytes (1, 2, 4, 8).
TileFn copy_kernel(std::size_t bytes);
/// Repeats the one element that it is given.
TileFn splat_kernel(std::size_t bytes);

// The files that make up tile_kernel().
TileFn float_tile(std::string_view op, DType dtype);    // arithmetic and comparisons of float32 and float64
TileFn integer_tile(std::string_view op, DType dtype);  // integers and booleans; bits of any dtype
TileFn math_tile(std::string_view op, DType dtype);     // functions of float32 around the exponential, vectorised
TileFn trig_tile(std::string_view op, DType dtype);     // those around the circle
TileFn library_tile(std::string_view op, DType dtype);  // functions of the C library: float64 and rare ones of float32
TileFn complex_tile(std::string_view op, DType dtype);

}  // namespace reprise::native
