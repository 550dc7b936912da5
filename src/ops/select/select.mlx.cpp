#include "ops/select/select.mlx.hpp"

#include "backends/mlx/convert.hpp"
#include "ops/binary/binary.mlx.hpp"

namespace reprise::mlx_backend {

array lower_select(const LowerContext& context) {
  const auto as_result = [&](const array& x) { return mx::astype(x, context.dtype(), context.stream); };
  return mx::where(is_nonzero(context[0], context.stream), as_result(context[1]), as_result(context[2]),
                   context.stream);
}

array lower_clip(const LowerContext& context) {
  const auto as_result = [&](std::size_t i) { return Term(context[i], context.stream).astype(context.dtype()); };
  return lesser(greater(as_result(0), as_result(1)), as_result(2));
}

array lower_take(const LowerContext& context, const ops::AxisAttrs& attrs) {
  const array& x = context[0];
  // MLX refuses to take anything from an array without elements, even where the axis itself has some.
  if (element_count(context.results[0].shape) == 0) return zeros_of(context);
  const int axis = to_axis(attrs.axis, x.ndim());
  return mx::take(x, clamp_indices(context[1], x.shape(axis), context.stream), axis, context.stream);
}

array lower_take_along_axis(const LowerContext& context, const ops::AxisAttrs& attrs) {
  const array& x = context[0];
  if (element_count(context.results[0].shape) == 0) return zeros_of(context);
  const int axis = to_axis(attrs.axis, x.ndim());
  mx::Shape source = context.shape();
  source[static_cast<std::size_t>(axis)] = x.shape(axis);
  const array indices = clamp_indices(context[1], x.shape(axis), context.stream);
  return mx::take_along_axis(mx::broadcast_to(x, source, context.stream),
                             mx::broadcast_to(indices, context.shape(), context.stream), axis, context.stream);
}

}  // namespace reprise::mlx_backend
