#include "ops/window/window.mlx.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"
#include "ops/index/index.mlx.hpp"
#include "ops/reduce/reduce.mlx.hpp"
#include "ops/window/fold.mlx.hpp"

namespace reprise::mlx_backend {
namespace {

template <typename Attrs>
std::vector<WindowAxis> window_axes(const Attrs& attrs, const mx::Shape& counts) {
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    WindowAxis axis{attrs.low[i], attrs.strides[i], attrs.sizes[i], 1, counts[i]};
    if constexpr (std::is_same_v<Attrs, ops::WindowAttrs>) axis.dilation = attrs.dilations[i];
    axes.push_back(axis);
  }
  return axes;
}

using Join = array (*)(const array&, const array&, mx::StreamOrDevice);
using Reduce = array (*)(const array&, int, bool, mx::StreamOrDevice);

array reduced(const LowerContext& context, const ops::WindowAttrs& attrs, mx::Dtype dtype, double neutral, Join join,
              Reduce reduce) {
  const mx::Stream stream = context.stream;
  if (element_count(context.results[0].shape) == 0) return zeros_of(context);
  const array outside = scalar(neutral, dtype);
  if (context[0].size() == 0) {
    // All padding.
    return mx::astype(mx::full(context.shape(), outside, dtype, stream), context.dtype(), stream);
  }
  const Fold fold{.join = [&](const FoldState& a, const FoldState& b) { return FoldState{join(a[0], b[0], stream)}; },
                  .outside = {outside},
                  .neutral = true,
                  .reduce = [&](const FoldState& a, int axis) { return FoldState{reduce(a[0], axis, false, stream)}; }};
  const array x = mx::astype(context[0], dtype, stream);
  const FoldState out = fold_windows({x}, fold, window_axes(attrs, context.shape()), stream);
  return mx::astype(out[0], context.dtype(), stream);
}

// GPU kernels of reductions need not let NaN win.
template <bool kGreatest>
array extremum(const array& x, int axis, bool keep, mx::StreamOrDevice s) {
  const mx::Stream stream = mx::to_stream(s);
  if (stream.device != mx::Device::cpu && is_floating(from_mlx(x.dtype()))) {
    return composed_extremum(x, {axis}, keep, kGreatest, stream);
  }
  return kGreatest ? mx::max(x, axis, keep, stream) : mx::min(x, axis, keep, stream);
}

// What sums and products are carried in.
mx::Dtype carrier(const LowerContext& context) { return is_half(context.dtype()) ? mx::float32 : context.dtype(); }

// bool has no order on all devices.
mx::Dtype ordered(mx::Dtype dtype) { return dtype == mx::bool_ ? mx::uint8 : dtype; }

// The value and the position of the greatest element, the first of several. The position is that in x, -1 in padding.
FoldState join_greatest(const FoldState& a, const FoldState& b, mx::Stream stream) {
  Term later = Term(b[0], stream) > Term(a[0], stream);
  if (is_floating(from_mlx(a[0].dtype()))) {
    later = later | (is_nan(Term(b[0], stream)) & !is_nan(Term(a[0], stream)));
  }
  return {mx::where(later, b[0], a[0], stream), mx::where(later, b[1], a[1], stream)};
}

// The value and the position of the least element, the last of several, or, where there is a NaN, of the first element
// of all, whose position is kept beside.
FoldState join_least(const FoldState& a, const FoldState& b, mx::Stream stream) {
  array position = mx::where(Term(b[0], stream) <= Term(a[0], stream), b[1], a[1], stream);
  array value = mx::minimum(a[0], b[0], stream);
  if (is_floating(from_mlx(a[0].dtype()))) position = mx::where(is_nan(Term(value, stream)), a[2], position, stream);
  return {std::move(value), std::move(position), a[2]};
}

array scattered(const LowerContext& context, const ops::WindowScatterAttrs& attrs, bool greatest) {
  const mx::Stream stream = context.stream;
  const array& x = context[0];
  if (x.size() == 0) return zeros_of(context);
  if (x.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::invalid_argument(fmt::format(
        "{}: x has {} elements; wanted up to 2147483647, the positions that MLX counts", context.op.name, x.size()));
  }
  const array init = convert(context[2], x.dtype(), stream);
  const mx::Shape flat{static_cast<mx::ShapeElem>(x.size())};
  const array buffer = mx::full(flat, init, x.dtype(), stream);
  if (context[1].size() == 0) return mx::reshape(buffer, x.shape(), stream);

  const array position = mx::reshape(mx::arange(0, flat[0], 1, stream), x.shape(), stream);
  const array nowhere = scalar(-1, mx::int32);
  FoldState state{mx::astype(x, ordered(x.dtype()), stream), position};
  Fold fold{[&](const FoldState& a, const FoldState& b) { return join_greatest(a, b, stream); },
            {mx::astype(init, ordered(x.dtype()), stream), nowhere}};
  if (!greatest) {
    fold.join = [&](const FoldState& a, const FoldState& b) { return join_least(a, b, stream); };
    fold.outside.push_back(nowhere);
    state.push_back(position);
  }
  const FoldState chosen = fold_windows(std::move(state), fold, window_axes(attrs, context[1].shape()), stream);

  const auto n = static_cast<mx::ShapeElem>(context[1].size());
  const array at = mx::reshape(chosen[1], {n}, stream);
  const array zero = scalar(0, mx::int32);
  const Places places{{0}, {mx::maximum(at, zero, stream)}, mx::greater_equal(at, zero, stream)};
  const array source = mx::reshape(convert(context[1], x.dtype(), stream), {n, 1}, stream);
  return mx::reshape(add_blocks(buffer, places, source, on_cpu(context), stream), x.shape(), stream);
}

}  // namespace

array lower_window_sum(const LowerContext& context, const ops::WindowAttrs& attrs) {
  return reduced(context, attrs, carrier(context), 0, mx::add, mx::sum);
}
array lower_window_product(const LowerContext& context, const ops::WindowAttrs& attrs) {
  return reduced(context, attrs, carrier(context), 1, mx::multiply, mx::prod);
}
// scalar() saturates: an infinity is the greatest or least integer.
array lower_window_max(const LowerContext& context, const ops::WindowAttrs& attrs) {
  return reduced(context, attrs, ordered(context.dtype()), -INFINITY, mx::maximum, extremum<true>);
}
array lower_window_min(const LowerContext& context, const ops::WindowAttrs& attrs) {
  return reduced(context, attrs, ordered(context.dtype()), INFINITY, mx::minimum, extremum<false>);
}

array lower_window_scatter_max(const LowerContext& context, const ops::WindowScatterAttrs& attrs) {
  return scattered(context, attrs, true);
}
array lower_window_scatter_min(const LowerContext& context, const ops::WindowScatterAttrs& attrs) {
  return scattered(context, attrs, false);
}

}  // namespace reprise::mlx_backend
