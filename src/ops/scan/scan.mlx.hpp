// MLX lowerings of the family scan.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/scan/scan.hpp"

namespace reprise::mlx_backend {

array lower_cumulative_sum(const LowerContext& context, const ops::ScanAttrs& attrs);
array lower_cumulative_product(const LowerContext& context, const ops::ScanAttrs& attrs);
array lower_cumulative_max(const LowerContext& context, const ops::ScanAttrs& attrs);
array lower_cumulative_min(const LowerContext& context, const ops::ScanAttrs& attrs);

/// The running extremum in terms of operations whose treatment of NaN does not depend on the device: what complex64
/// uses everywhere and floats use on a GPU. x has elements.
array composed_running_extremum(const array& x, const ops::ScanAttrs& attrs, bool greatest, mx::Stream stream);

inline constexpr std::array kScanLowerings{
    lowering<ops::ScanAttrs, lower_cumulative_sum>("cumulative_sum"),
    lowering<ops::ScanAttrs, lower_cumulative_product>("cumulative_product"),
    lowering<ops::ScanAttrs, lower_cumulative_max>("cumulative_max"),
    lowering<ops::ScanAttrs, lower_cumulative_min>("cumulative_min"),
};

}  // namespace reprise::mlx_backend
