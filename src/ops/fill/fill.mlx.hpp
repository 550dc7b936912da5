// MLX lowerings of the family fill.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/fill/fill.hpp"

namespace reprise::mlx_backend {

array lower_iota(const LowerContext& context, const ops::IotaAttrs& attrs);
array lower_eye(const LowerContext& context, const ops::EyeAttrs& attrs);

/// Counts 0, 1, 2, ... through `shape` in row-major order, as int64, without an axis of all the elements: for arrays of
/// more elements than an axis may have.
array count_by_axes(const mx::Shape& shape, mx::Stream stream);

inline constexpr std::array kFillLowerings{
    lowering<ops::IotaAttrs, lower_iota>("iota"),
    lowering<ops::EyeAttrs, lower_eye>("eye"),
};

}  // namespace reprise::mlx_backend
