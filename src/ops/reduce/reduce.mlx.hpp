// MLX lowerings of the families reduce and arg_reduce.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/reduce/reduce.hpp"

namespace reprise::mlx_backend {

array lower_sum(const LowerContext& context, const ops::ReduceAttrs& attrs);
array lower_product(const LowerContext& context, const ops::ReduceAttrs& attrs);
array lower_all(const LowerContext& context, const ops::ReduceAttrs& attrs);
array lower_any(const LowerContext& context, const ops::ReduceAttrs& attrs);
array lower_reduce_max(const LowerContext& context, const ops::ReduceAttrs& attrs);
array lower_reduce_min(const LowerContext& context, const ops::ReduceAttrs& attrs);
array lower_argmax(const LowerContext& context, const ops::ArgReduceAttrs& attrs);
array lower_argmin(const LowerContext& context, const ops::ArgReduceAttrs& attrs);

/// The greatest (least) elements and where they are first found, in terms of operations whose treatment of NaN does not
/// depend on the device: what complex64 uses everywhere and floats use on a GPU. Nothing may be empty.
array composed_extremum(const array& x, const std::vector<int>& axes, bool keep, bool greatest, mx::Stream stream);
array composed_arg_extremum(const array& x, int axis, bool greatest, mx::Stream stream);

inline constexpr std::array kReduceLowerings{
    lowering<ops::ReduceAttrs, lower_sum>("sum"),
    lowering<ops::ReduceAttrs, lower_product>("product"),
    lowering<ops::ReduceAttrs, lower_all>("all"),
    lowering<ops::ReduceAttrs, lower_any>("any"),
    lowering<ops::ReduceAttrs, lower_reduce_max>("reduce_max"),
    lowering<ops::ReduceAttrs, lower_reduce_min>("reduce_min"),
    lowering<ops::ArgReduceAttrs, lower_argmax>("argmax"),
    lowering<ops::ArgReduceAttrs, lower_argmin>("argmin"),
};

}  // namespace reprise::mlx_backend
