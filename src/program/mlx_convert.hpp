// dtypes and shapes to and from MLX's.
#pragma once

#include <mlx/array.h>
#include <mlx/dtype.h>

#include "reprise/dtype.hpp"

namespace reprise {

inline mlx::core::Dtype to_mlx(DType d) {
  return mlx::core::Dtype(static_cast<mlx::core::Dtype::Val>(d), static_cast<std::uint8_t>(size_of(d)));
}

inline DType from_mlx(mlx::core::Dtype d) { return static_cast<DType>(d.val()); }

/// Callers have checked that each dimension fits 32 bits.
inline mlx::core::Shape to_mlx(const Shape& shape) {
  mlx::core::Shape out;
  out.reserve(shape.size());
  for (const auto dim : shape) out.push_back(static_cast<mlx::core::ShapeElem>(dim));
  return out;
}

}  // namespace reprise
