// MLX arrays of a replay: the memory of slots that MLX or the caller see.
#pragma once

#include <mlx/array.h>

#include "backends/native/plan.hpp"

namespace reprise::native {

/// Row-major, with memory and nothing in it. Throws MemoryError when that cannot be had.
mlx::core::array new_array(const TensorType& type);

/// The same elements, row-major.
mlx::core::array dense_copy(const mlx::core::array& x, int threads);

/// An array of its own for a dense view of a slot whose storage is input, constant or array; they share memory.
mlx::core::array array_of(const Frame& frame, const View& view);

}  // namespace reprise::native
