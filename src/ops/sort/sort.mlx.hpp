// MLX lowerings of the family sort.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/sort/sort.hpp"

namespace reprise::mlx_backend {

array lower_sort(const LowerContext& context, const ops::SortAttrs& attrs);
array lower_argsort(const LowerContext& context, const ops::SortAttrs& attrs);

/// The positions along `axis`, uint32, that put x in the order of the family's rows. x has elements. With
/// `stable_argsort` false nothing but plain sorts of distinct 64-bit integers is asked of MLX.
array stable_order(const array& x, int axis, bool ascending, bool stable_argsort, mx::Stream stream);

inline constexpr std::array kSortLowerings{
    lowering<ops::SortAttrs, lower_sort>("sort"),
    lowering<ops::SortAttrs, lower_argsort>("argsort"),
};

}  // namespace reprise::mlx_backend
