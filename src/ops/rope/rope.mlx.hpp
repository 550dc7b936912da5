#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/rope/rope.hpp"

namespace reprise::mlx_backend {

array lower_rope(const LowerContext& context, const ops::RopeAttrs& attrs);
array lower_rope_ids(const LowerContext& context, const ops::RopeAttrs& attrs);
array lower_rope_positions(const LowerContext& context, const ops::RopeAttrs& attrs);

inline constexpr std::array kRopeLowerings{
    lowering<ops::RopeAttrs, lower_rope>("fast_rope"),
    lowering<ops::RopeAttrs, lower_rope_ids>("fast_rope_ids"),
    lowering<ops::RopeAttrs, lower_rope_ids>("fast_rope_with_freqs"),
    lowering<ops::RopeAttrs, lower_rope_positions>("fast_rope_positions"),
    lowering<ops::RopeAttrs, lower_rope_positions>("fast_rope_with_freqs_positions"),
};

}  // namespace reprise::mlx_backend
