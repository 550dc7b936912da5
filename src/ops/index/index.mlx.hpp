// MLX lowerings of the family index.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/index/index.hpp"

namespace reprise::mlx_backend {

array lower_gather(const LowerContext& context, const ops::GatherAttrs& attrs);
array lower_indexed_add(const LowerContext& context, const ops::ScatterAttrs& attrs);
array lower_indexed_put(const LowerContext& context, const ops::ScatterAttrs& attrs);

/// N places in an array.
struct Places {
  std::vector<int> axes;
  std::vector<array> columns;  ///< for each of `axes` the N coordinates along it, within the axis
  array inside;                ///< N of bool: false where nothing is to be written
};

/// x with N blocks added or written at N places, x and the blocks not empty. `updates` has the dtype of x and the shape
/// (N, 1 along indexed axes and the block's extent along others). `in_order`: MLX writes one block after the other, as
/// its CPU kernel does, and 64-bit elements too, as its GPU kernels do not.
array add_blocks(const array& x, const Places& places, const array& updates, bool in_order, mx::Stream stream);
array put_blocks(const array& x, const Places& places, const array& updates, bool in_order, mx::Stream stream);

inline constexpr std::array kIndexLowerings{
    lowering<ops::GatherAttrs, lower_gather>("gather"),
    lowering<ops::ScatterAttrs, lower_indexed_add>("indexed_add"),
    lowering<ops::ScatterAttrs, lower_indexed_put>("indexed_put"),
};

}  // namespace reprise::mlx_backend
