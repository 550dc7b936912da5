// MLX lowerings of the family slice.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/slice/slice.hpp"

namespace reprise::mlx_backend {

array lower_slice(const LowerContext& context, const ops::SliceAttrs& attrs);
array lower_put_slice(const LowerContext& context, const ops::PutSliceAttrs& attrs);

/// A start of one element of a real dtype, held in [0, last] in its own dtype, as int32 of shape {1}. Floats are
/// truncated, NaN becomes 0.
array clamp_start(const array& start, std::int64_t last, mx::Stream stream);

inline constexpr std::array kSliceLowerings{
    lowering<ops::SliceAttrs, lower_slice>("slice"),
    lowering<ops::PutSliceAttrs, lower_put_slice>("put_slice"),
};

}  // namespace reprise::mlx_backend
