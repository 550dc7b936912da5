// MLX arrays of a replay: the memory of slots that MLX or the caller see.
#pragma once

#include <mlx/array.h>

#include "backends/native/plan.hpp"

namespace reprise::native {

/// Row-major, with memory and nothing in it. Throws MemoryError when that cannot be had.
mlx::core::array new_array(const TensorType& type);

/// The same elements, row-major.
mlx::core::array dense_copy(const mlx::core::array& x, int threads);
/// The array itself where it is that already.
mlx::core::array as_dense(mlx::core::array x, int threads);

/// Throws MemoryError when so many bytes cannot be had: the system hands out more than it has, and ends the process
/// when that is written to.
void require_memory(std::size_t bytes);

/// An array of its own for a dense view of a slot whose storage is input, constant or array; they share memory.
mlx::core::array array_of(const Frame& frame, const View& view);

/// For each view that step `index` reads: nothing looks at its slot afterwards.
std::vector<bool> last_uses(const Plan& plan, std::uint32_t index, std::span<const View> views);

/// The arrays of views. What nothing reads afterwards is handed over, so that who gets it may write into it.
std::vector<mlx::core::array> take_arrays(const Frame& frame, std::span<const View> views,
                                          const std::vector<bool>& last_use);

}  // namespace reprise::native
