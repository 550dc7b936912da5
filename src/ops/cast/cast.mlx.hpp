// Lowerings of casts and reinterpretation.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/cast/cast.hpp"

namespace reprise::mlx_backend {

array lower_astype(const LowerContext& context, const ops::DTypeAttrs& attrs);
array lower_bitcast(const LowerContext& context, const ops::DTypeAttrs& attrs);

inline constexpr std::array kCastLowerings{
    lowering<ops::DTypeAttrs, lower_astype>("astype"),
    lowering<ops::DTypeAttrs, lower_bitcast>("bitcast"),
};

}  // namespace reprise::mlx_backend
