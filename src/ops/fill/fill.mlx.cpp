#include "ops/fill/fill.mlx.hpp"

#include <limits>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

// 0, 1, ... along `axis`, with size 1 in the other axes of an array of rank `rank`.
array coordinates(mx::ShapeElem size, int axis, std::size_t rank, mx::Dtype dtype, mx::Stream stream) {
  mx::Shape shape(rank, 1);
  shape[static_cast<std::size_t>(axis)] = size;
  return mx::reshape(mx::arange(0, size, 1, dtype, stream), std::move(shape), stream);
}

}  // namespace

array count_by_axes(const mx::Shape& shape, mx::Stream stream) {
  array total = scalar(0, mx::int64);
  std::int64_t step = 1;
  for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
    const mx::ShapeElem size = shape[static_cast<std::size_t>(axis)];
    const array along = coordinates(size, axis, shape.size(), mx::int64, stream);
    total = mx::add(total, mx::multiply(along, array(step, mx::int64), stream), stream);
    step *= size;
  }
  return total;
}

array lower_iota(const LowerContext& context, const ops::IotaAttrs& attrs) {
  const mx::Shape shape = context.shape();
  const auto count = element_count(context.results[0].shape).value_or(0);
  if (count == 0 || shape.empty()) return zeros_of(context);
  const auto as_result = [&](const array& counted) { return convert(counted, context.dtype(), context.stream); };
  if (attrs.axis >= 0) {
    const int axis = to_axis(attrs.axis, shape.size());
    const auto size = shape[static_cast<std::size_t>(axis)];
    const array along = as_result(coordinates(size, axis, shape.size(), mx::int32, context.stream));
    return mx::broadcast_to(along, shape, context.stream);
  }
  if (count > std::numeric_limits<mx::ShapeElem>::max()) return as_result(count_by_axes(shape, context.stream));
  const array counted = mx::arange(0, static_cast<double>(count), 1, mx::int32, context.stream);
  return mx::reshape(as_result(counted), shape, context.stream);
}

array lower_eye(const LowerContext& context, const ops::EyeAttrs& attrs) {
  if (attrs.rows == 0 || attrs.columns == 0) return zeros_of(context);
  // A comparison has no offset that a large matrix could overflow, unlike MLX's own scatter.
  const mx::Shape shape = context.shape();
  const array row = coordinates(shape[0], 0, 2, mx::int32, context.stream);
  const array column = coordinates(shape[1], 1, 2, mx::int32, context.stream);
  return mx::astype(mx::equal(row, column, context.stream), context.dtype(), context.stream);
}

}  // namespace reprise::mlx_backend
