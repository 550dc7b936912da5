#include "ops/cast/cast.mlx.hpp"

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
array lower_astype(const LowerContext& context, const ops::DTypeAttrs&) {
  return convert(context[0], context.dtype(), context.stream);
}

array lower_bitcast(const LowerContext& context, const ops::DTypeAttrs&) {
  if (context.dtype() == mx::bool_ && context[0].dtype() != mx::bool_) {
    // MLX relies on a bool's byte being 0 or 1.
    return mx::not_equal(mx::view(context[0], mx::uint8, context.stream), scalar(0, mx::uint8), context.stream);
  }
  return mx::view(context[0], context.dtype(), context.stream);
}

}  // namespace reprise::mlx_backend
