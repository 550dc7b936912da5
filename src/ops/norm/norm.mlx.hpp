#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/norm/norm.hpp"

namespace reprise::mlx_backend {

array lower_rms_norm(const LowerContext& context, const ops::EpsAttrs& attrs);
array lower_layer_norm(const LowerContext& context, const ops::EpsAttrs& attrs);
array lower_swiglu(const LowerContext& context);

inline constexpr std::array kNormLowerings{
    lowering<ops::EpsAttrs, lower_rms_norm>("fast_rms_norm"),
    lowering<ops::EpsAttrs, lower_layer_norm>("fast_layer_norm"),
    lowering<ops::EpsAttrs, lower_layer_norm>("fast_layer_norm_no_bias"),
    lowering<lower_swiglu>("fast_swiglu"),
};

}  // namespace reprise::mlx_backend
