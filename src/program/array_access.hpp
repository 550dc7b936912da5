// The little that the program model needs to know of an array, so that it and the passes compile without MLX's headers.
#pragma once

#include "reprise/dtype.hpp"

namespace mlx::core {
class array;
}

namespace reprise {

TensorType type_of(const mlx::core::array& array);
bool is_forced(const mlx::core::array& array);
bool same_content(const mlx::core::array& a, const mlx::core::array& b);

}  // namespace reprise
