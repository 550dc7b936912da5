// MLX lowerings of the family select.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/select/select.hpp"

namespace reprise::mlx_backend {

array lower_select(const LowerContext& context);
array lower_clip(const LowerContext& context);
array lower_take(const LowerContext& context, const ops::AxisAttrs& attrs);
array lower_take_along_axis(const LowerContext& context, const ops::AxisAttrs& attrs);

inline constexpr std::array kSelectLowerings{
    lowering<lower_select>("select"),
    lowering<lower_clip>("clip"),
    lowering<ops::AxisAttrs, lower_take>("take"),
    lowering<ops::AxisAttrs, lower_take_along_axis>("take_along_axis"),
};

}  // namespace reprise::mlx_backend
