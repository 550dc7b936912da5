#include "ops/shape/shape.mlx.hpp"

#include <algorithm>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

std::vector<array> promoted(const LowerContext& context) {
  std::vector<array> out;
  for (const array& x : context.operands) out.push_back(mx::astype(x, context.dtype(), context.stream));
  return out;
}

// Where the elements of one axis land: those in [first, last) of x go to start, start + step, ...
struct PadAxis {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t start = 0;
  std::int64_t step = 1;
};

PadAxis pad_axis(std::int64_t size, std::int64_t low, std::int64_t interior, std::int64_t result) {
  PadAxis p{.step = interior + 1};
  const auto count_below = [&](std::int64_t limit) { return limit <= 0 ? 0 : (limit + p.step - 1) / p.step; };
  p.first = std::min(count_below(-low), size);
  p.last = std::clamp(count_below(result - low), p.first, size);
  p.start = low + p.first * p.step;
  // MLX adds the step to a 32-bit position, also when there is nothing to step to.
  if (p.last - p.first <= 1) p.step = 1;
  return p;
}

}  // namespace

array lower_reshape(const LowerContext& context, const ops::ShapeAttrs&) {
  return mx::reshape(context[0], context.shape(), context.stream);
}

array lower_squeeze(const LowerContext& context, const ops::AxesAttrs& attrs) {
  if (attrs.axes.empty()) return context[0];
  return mx::squeeze(context[0], to_axes(attrs.axes, context[0].ndim()), context.stream);
}

array lower_transpose(const LowerContext& context, const ops::AxesAttrs& attrs) {
  if (attrs.axes.empty()) return context[0];
  return mx::transpose(context[0], to_axes(attrs.axes, context[0].ndim()), context.stream);
}

array lower_broadcast(const LowerContext& context, const ops::BroadcastAttrs& attrs) {
  mx::Shape placed(attrs.shape.size(), 1);
  const auto axes = to_axes(attrs.axes, attrs.shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    placed[static_cast<std::size_t>(axes[i])] = context[0].shape(static_cast<int>(i));
  }
  return mx::broadcast_to(mx::reshape(context[0], placed, context.stream), context.shape(), context.stream);
}

array lower_pad(const LowerContext& context, const ops::PadAttrs& attrs) {
  const array& x = context[0];
  const mx::Shape shape = context.shape();
  mx::Shape first, last, start, stop, steps;
  bool some = true;
  bool unchanged = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = x.shape(static_cast<int>(i));
    const PadAxis p = pad_axis(size, attrs.low[i], attrs.interior[i], shape[i]);
    const auto narrow = [](std::int64_t v) { return static_cast<mx::ShapeElem>(v); };
    first.push_back(narrow(p.first));
    last.push_back(narrow(p.last));
    start.push_back(narrow(p.start));
    stop.push_back(narrow(p.start + (p.last - p.first - 1) * p.step + 1));
    steps.push_back(narrow(p.step));
    some = some && p.last > p.first;
    unchanged = unchanged && attrs.low[i] == 0 && p.last - p.first == size && shape[i] == size;
  }
  if (unchanged) return x;
  const array filled = mx::full(shape, convert(context[1], x.dtype(), context.stream), x.dtype(), context.stream);
  if (!some) return filled;
  const array kept = mx::slice(x, std::move(first), std::move(last), context.stream);
  return mx::slice_update(filled, kept, std::move(start), std::move(stop), std::move(steps), context.stream);
}

array lower_reverse(const LowerContext& context, const ops::AxesAttrs& attrs) {
  const array& x = context[0];
  mx::Shape start(x.ndim(), 0);
  mx::Shape stop = x.shape();
  mx::Shape steps(x.ndim(), 1);
  bool any = false;
  for (const int axis : to_axes(attrs.axes, x.ndim())) {
    const auto a = static_cast<std::size_t>(axis);
    if (x.shape(axis) <= 1) continue;
    start[a] = x.shape(axis) - 1;
    stop[a] = -x.shape(axis) - 1;
    steps[a] = -1;
    any = true;
  }
  if (!any) return x;
  const array view = mx::slice(x, std::move(start), std::move(stop), std::move(steps), context.stream);
  // MLX's GPU kernels have misread views with negative strides.
  return on_cpu(context) ? view : mx::contiguous(view, false, context.stream);
}

array lower_concatenate(const LowerContext& context, const ops::AxisAttrs& attrs) {
  return mx::concatenate(promoted(context), to_axis(attrs.axis, context[0].ndim()), context.stream);
}

array lower_stack(const LowerContext& context, const ops::AxisAttrs& attrs) {
  return mx::stack(promoted(context), to_axis(attrs.axis, context[0].ndim() + 1), context.stream);
}

}  // namespace reprise::mlx_backend
