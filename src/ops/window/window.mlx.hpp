// MLX lowerings of the family window.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/window/window.hpp"

namespace reprise::mlx_backend {

array lower_window_sum(const LowerContext& context, const ops::WindowAttrs& attrs);
array lower_window_product(const LowerContext& context, const ops::WindowAttrs& attrs);
array lower_window_max(const LowerContext& context, const ops::WindowAttrs& attrs);
array lower_window_min(const LowerContext& context, const ops::WindowAttrs& attrs);
array lower_window_scatter_max(const LowerContext& context, const ops::WindowScatterAttrs& attrs);
array lower_window_scatter_min(const LowerContext& context, const ops::WindowScatterAttrs& attrs);

inline constexpr std::array kWindowLowerings{
    lowering<ops::WindowAttrs, lower_window_sum>("window_sum"),
    lowering<ops::WindowAttrs, lower_window_product>("window_product"),
    lowering<ops::WindowAttrs, lower_window_max>("window_max"),
    lowering<ops::WindowAttrs, lower_window_min>("window_min"),
    lowering<ops::WindowScatterAttrs, lower_window_scatter_max>("window_scatter_max"),
    lowering<ops::WindowScatterAttrs, lower_window_scatter_min>("window_scatter_min"),
};

}  // namespace reprise::mlx_backend
