#include "ops/slice/slice.mlx.hpp"

#include <algorithm>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

// The starts of all axes: known ones, and the axes whose start is an operand with that operand's place.
struct Starts {
  mx::Shape known;  // 0 where unknown
  std::vector<int> axes;
  std::vector<std::size_t> operands;
};

Starts read_starts(const LowerContext& context, std::int64_t mask, const ops::Ints& lengths, const ops::Ints& starts,
                   std::size_t first) {
  Starts out;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t last = context[0].shape(static_cast<int>(i)) - lengths[i];
    const bool dynamic = i < 62 && ((mask >> i) & 1) != 0;
    // Where the window is as large as the axis there is but one place for it.
    if (dynamic && last > 0) {
      out.axes.push_back(static_cast<int>(i));
      out.operands.push_back(first);
    }
    first += dynamic ? 1 : 0;
    const std::int64_t start = dynamic ? 0 : std::clamp<std::int64_t>(starts[i], 0, last);
    out.known.push_back(static_cast<mx::ShapeElem>(start));
  }
  return out;
}

array clamped_operand(const LowerContext& context, const ops::Ints& lengths, int axis, std::size_t operand) {
  const std::int64_t last = context[0].shape(axis) - lengths[static_cast<std::size_t>(axis)];
  return clamp_start(context[operand], last, context.stream);
}

array joined(std::vector<array> starts, mx::Stream stream) {
  return starts.size() == 1 ? starts[0] : mx::concatenate(std::move(starts), 0, stream);
}

}  // namespace

array clamp_start(const array& start, std::int64_t last, mx::Stream stream) {
  array s = mx::reshape(start, {1}, stream);
  const DType d = from_mlx(s.dtype());
  if (is_floating(d)) {
    s = convert(s, mx::int32, stream);
  } else if (d == DType::bool_ || size_of(d) < 4) {
    s = mx::astype(s, mx::int32, stream);
  }
  const auto limit = scalar(static_cast<double>(last), s.dtype());
  s = mx::minimum(s, limit, stream);
  if (kind(from_mlx(s.dtype())) == DTypeKind::signed_integer) s = mx::maximum(s, scalar(0, s.dtype()), stream);
  return mx::astype(s, mx::int32, stream);
}

array lower_slice(const LowerContext& context, const ops::SliceAttrs& attrs) {
  if (element_count(context.results[0].shape) == 0) return zeros_of(context);
  const Starts starts = read_starts(context, attrs.dynamic_mask, attrs.lengths, attrs.starts, 1);
  array x = context[0];
  if (!starts.axes.empty()) {
    mx::Shape sizes = x.shape();
    std::vector<array> dynamic;
    for (std::size_t k = 0; k < starts.axes.size(); ++k) {
      const int axis = starts.axes[k];
      sizes[static_cast<std::size_t>(axis)] = static_cast<mx::ShapeElem>(attrs.lengths[static_cast<std::size_t>(axis)]);
      dynamic.push_back(clamped_operand(context, attrs.lengths, axis, starts.operands[k]));
    }
    // The known starts first: that is a view, so the dynamic slice copies no more than the window.
    mx::Shape stop = x.shape();
    for (std::size_t i = 0; i < stop.size(); ++i) {
      if (std::find(starts.axes.begin(), starts.axes.end(), static_cast<int>(i)) != starts.axes.end()) continue;
      stop[i] = starts.known[i] + static_cast<mx::ShapeElem>(attrs.lengths[i]);
      sizes[i] = static_cast<mx::ShapeElem>(attrs.lengths[i]);
    }
    x = mx::slice(x, starts.known, std::move(stop), context.stream);
    x = mx::slice(x, joined(std::move(dynamic), context.stream), starts.axes, std::move(sizes), context.stream);
  }
  mx::Shape start = starts.axes.empty() ? starts.known : mx::Shape(attrs.lengths.size(), 0);
  mx::Shape stop;
  mx::Shape steps;
  for (std::size_t i = 0; i < attrs.lengths.size(); ++i) {
    stop.push_back(start[i] + static_cast<mx::ShapeElem>(attrs.lengths[i]));
    // MLX adds a step to a 32-bit length.
    steps.push_back(static_cast<mx::ShapeElem>(std::min(attrs.strides[i], attrs.lengths[i])));
  }
  return mx::slice(x, std::move(start), std::move(stop), std::move(steps), context.stream);
}

array lower_put_slice(const LowerContext& context, const ops::PutSliceAttrs& attrs) {
  const array& x = context[0];
  if (context[1].size() == 0) return x;
  const array update = convert(context[1], x.dtype(), context.stream);
  const Starts starts = read_starts(context, attrs.dynamic_mask, attrs.lengths, attrs.starts, 2);
  if (starts.axes.empty()) {
    mx::Shape stop = starts.known;
    for (std::size_t i = 0; i < stop.size(); ++i) stop[i] += static_cast<mx::ShapeElem>(attrs.lengths[i]);
    return mx::slice_update(x, update, starts.known, std::move(stop), context.stream);
  }
  std::vector<int> axes = starts.axes;
  std::vector<array> values;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    values.push_back(clamped_operand(context, attrs.lengths, axes[k], starts.operands[k]));
  }
  for (std::size_t i = 0; i < starts.known.size(); ++i) {
    if (starts.known[i] == 0) continue;
    axes.push_back(static_cast<int>(i));
    values.push_back(array({starts.known[i]}, {1}, mx::int32));
  }
  return mx::slice_update(x, update, joined(std::move(values), context.stream), std::move(axes), context.stream);
}

}  // namespace reprise::mlx_backend
