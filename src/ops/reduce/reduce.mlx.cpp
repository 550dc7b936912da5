#include "ops/reduce/reduce.mlx.hpp"

#include <cmath>
#include <limits>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

array extremum(const array& x, const std::vector<int>& axes, bool keep, bool greatest, mx::Stream stream) {
  return greatest ? mx::max(x, axes, keep, stream) : mx::min(x, axes, keep, stream);
}

// MLX's CPU kernels run astray where a strided view has no element: what such an axis reduces to is written down
// instead.
bool is_empty(const LowerContext& context) { return context[0].size() == 0; }

array constant_result(const LowerContext& context, int value) {
  return mx::full(context.shape(), scalar(value, context.dtype()), context.stream);
}

// Sums and products of 16-bit floats: MLX's CPU kernels carry float32, its GPU kernels need not.
template <typename Reduce>
array widened_reduce(const LowerContext& context, const ops::ReduceAttrs& attrs, int neutral, Reduce reduce) {
  const array& x = context[0];
  if (attrs.axes.empty()) return x;
  if (is_empty(context)) return constant_result(context, neutral);
  const bool narrow = is_floating(from_mlx(x.dtype())) && mx::size_of(x.dtype()) == 2;
  const array terms = narrow && !on_cpu(context) ? mx::astype(x, mx::float32, context.stream) : x;
  const array reduced = reduce(terms, to_axes(attrs.axes, x.ndim()), attrs.keep_axes, context.stream);
  return mx::astype(reduced, context.dtype(), context.stream);
}

// MLX's CPU kernels test floats by value and complex numbers by their bits; elsewhere we do not rely on either.
array truth_values(const LowerContext& context) {
  const DType d = from_mlx(context[0].dtype());
  const bool by_value = !is_complex(d) && (!is_floating(d) || on_cpu(context));
  return by_value ? context[0] : is_nonzero(context[0], context.stream);
}

bool needs_composition(const LowerContext& context) {
  const DType d = from_mlx(context[0].dtype());
  return is_complex(d) || (is_floating(d) && !on_cpu(context));
}

array lower_extremum(const LowerContext& context, const ops::ReduceAttrs& attrs, bool greatest) {
  if (attrs.axes.empty()) return context[0];
  if (is_empty(context)) return zeros_of(context);
  const auto axes = to_axes(attrs.axes, context[0].ndim());
  return needs_composition(context) ? composed_extremum(context[0], axes, attrs.keep_axes, greatest, context.stream)
                                    : extremum(context[0], axes, attrs.keep_axes, greatest, context.stream);
}

array lower_arg_extremum(const LowerContext& context, const ops::ArgReduceAttrs& attrs, bool greatest) {
  if (is_empty(context)) return zeros_of(context);
  const bool flat = attrs.axis < 0;
  const array x =
      flat ? mx::reshape(context[0], {static_cast<mx::ShapeElem>(context[0].size())}, context.stream) : context[0];
  const int axis = flat ? 0 : to_axis(attrs.axis, x.ndim());
  // GPU kernels have no order of bool.
  const array ordered = x.dtype() == mx::bool_ ? mx::astype(x, mx::uint8, context.stream) : x;
  const array index = needs_composition(context) ? composed_arg_extremum(ordered, axis, greatest, context.stream)
                      : greatest                 ? mx::argmax(ordered, axis, false, context.stream)
                                                 : mx::argmin(ordered, axis, false, context.stream);
  return mx::reshape(index, context.shape(), context.stream);
}

// Marks the elements that are extrema: all NaN where there is one, else the greatest (least) by real part, then by
// imaginary part. The reduced axes are kept in what follows.
array extrema_mask(const array& x, const std::vector<int>& axes, bool greatest, mx::Stream stream) {
  const array is_nan = mx::isnan(x, stream);
  const array has_nan = mx::any(is_nan, axes, true, stream);
  const bool complex = x.dtype() == mx::complex64;
  const array re = complex ? mx::real(x, stream) : x;
  array best = mx::equal(re, extremum(re, axes, true, greatest, stream), stream);
  if (complex) {
    const float infinity = std::numeric_limits<float>::infinity();
    const array im = mx::where(best, mx::imag(x, stream), scalar(greatest ? -infinity : infinity, mx::float32), stream);
    best = mx::logical_and(best, mx::equal(im, extremum(im, axes, true, greatest, stream), stream), stream);
  }
  return mx::where(has_nan, is_nan, best, stream);
}

}  // namespace

array composed_extremum(const array& x, const std::vector<int>& axes, bool keep, bool greatest, mx::Stream stream) {
  const array nan_found = mx::any(mx::isnan(x, stream), axes, keep, stream);
  if (x.dtype() != mx::complex64) {
    return mx::where(nan_found, scalar(NAN, x.dtype()), extremum(x, axes, keep, greatest, stream), stream);
  }
  // The extrema are equal to each other, so each part is the part of any of them.
  const array mask = extrema_mask(x, axes, greatest, stream);
  const array none = scalar(-std::numeric_limits<float>::infinity(), mx::float32);
  const auto part = [&](const array& of) {
    const array value = mx::max(mx::where(mask, of, none, stream), axes, keep, stream);
    return mx::where(nan_found, scalar(NAN, mx::float32), value, stream);
  };
  return make_complex(part(mx::real(x, stream)), part(mx::imag(x, stream)), stream);
}

array composed_arg_extremum(const array& x, int axis, bool greatest, mx::Stream stream) {
  return mx::argmax(mx::astype(extrema_mask(x, {axis}, greatest, stream), mx::uint8, stream), axis, false, stream);
}

array lower_sum(const LowerContext& context, const ops::ReduceAttrs& attrs) {
  return widened_reduce(context, attrs, 0, [](const array& x, const std::vector<int>& axes, bool keep, mx::Stream s) {
    return mx::sum(x, axes, keep, s);
  });
}

array lower_product(const LowerContext& context, const ops::ReduceAttrs& attrs) {
  return widened_reduce(context, attrs, 1, [](const array& x, const std::vector<int>& axes, bool keep, mx::Stream s) {
    return mx::prod(x, axes, keep, s);
  });
}

array lower_all(const LowerContext& context, const ops::ReduceAttrs& attrs) {
  if (attrs.axes.empty()) return is_nonzero(context[0], context.stream);
  if (is_empty(context)) return constant_result(context, 1);
  return mx::all(truth_values(context), to_axes(attrs.axes, context[0].ndim()), attrs.keep_axes, context.stream);
}

array lower_any(const LowerContext& context, const ops::ReduceAttrs& attrs) {
  if (attrs.axes.empty()) return is_nonzero(context[0], context.stream);
  if (is_empty(context)) return constant_result(context, 0);
  return mx::any(truth_values(context), to_axes(attrs.axes, context[0].ndim()), attrs.keep_axes, context.stream);
}

array lower_reduce_max(const LowerContext& context, const ops::ReduceAttrs& attrs) {
  return lower_extremum(context, attrs, true);
}
array lower_reduce_min(const LowerContext& context, const ops::ReduceAttrs& attrs) {
  return lower_extremum(context, attrs, false);
}
array lower_argmax(const LowerContext& context, const ops::ArgReduceAttrs& attrs) {
  return lower_arg_extremum(context, attrs, true);
}
array lower_argmin(const LowerContext& context, const ops::ArgReduceAttrs& attrs) {
  return lower_arg_extremum(context, attrs, false);
}

}  // namespace reprise::mlx_backend
