// MLX lowerings of the family shape.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/shape/shape.hpp"

namespace reprise::mlx_backend {

array lower_reshape(const LowerContext& context, const ops::ShapeAttrs& attrs);
array lower_squeeze(const LowerContext& context, const ops::AxesAttrs& attrs);
array lower_transpose(const LowerContext& context, const ops::AxesAttrs& attrs);
array lower_broadcast(const LowerContext& context, const ops::BroadcastAttrs& attrs);
array lower_pad(const LowerContext& context, const ops::PadAttrs& attrs);
array lower_reverse(const LowerContext& context, const ops::AxesAttrs& attrs);
array lower_concatenate(const LowerContext& context, const ops::AxisAttrs& attrs);
array lower_stack(const LowerContext& context, const ops::AxisAttrs& attrs);

inline constexpr std::array kShapeLowerings{
    lowering<ops::ShapeAttrs, lower_reshape>("reshape"),
    lowering<ops::AxesAttrs, lower_squeeze>("squeeze"),
    lowering<ops::AxesAttrs, lower_transpose>("transpose"),
    lowering<ops::BroadcastAttrs, lower_broadcast>("broadcast"),
    lowering<ops::PadAttrs, lower_pad>("pad"),
    lowering<ops::AxesAttrs, lower_reverse>("reverse"),
    lowering<ops::AxisAttrs, lower_concatenate>("concatenate"),
    lowering<ops::AxisAttrs, lower_stack>("stack"),
};

}  // namespace reprise::mlx_backend
