// MLX lowerings of the family conv.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/conv/conv.hpp"

namespace reprise::mlx_backend {

array lower_conv(const LowerContext& context, const ops::ConvAttrs& attrs);

inline constexpr std::array kConvLowerings{
    lowering<ops::ConvAttrs, lower_conv>("conv_general"),
};

}  // namespace reprise::mlx_backend
