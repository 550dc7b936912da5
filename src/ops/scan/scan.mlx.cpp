#include "ops/scan/scan.mlx.hpp"

#include <cmath>

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"
#include "ops/sort/sort.mlx.hpp"

namespace reprise::mlx_backend {
namespace {

array running_extremum(const array& x, const ops::ScanAttrs& attrs, bool greatest, mx::Stream stream) {
  const int axis = to_axis(attrs.axis, x.ndim());
  return greatest ? mx::cummax(x, axis, attrs.reverse, true, stream) : mx::cummin(x, axis, attrs.reverse, true, stream);
}

// Each element's rank among those of its row; the greatest rank so far says which element is the greatest so far.
array complex_running_max(const array& x, const ops::ScanAttrs& attrs, mx::Stream stream) {
  const int axis = to_axis(attrs.axis, x.ndim());
  const array nan = scalar_of(Constant::of(std::complex<double>(NAN, NAN), DType::complex64));
  const array marked = mx::where(mx::isnan(x, stream), nan, x, stream);
  const bool cpu = stream.device == mx::Device::cpu;
  const array order = stable_order(marked, axis, true, cpu, stream);
  const array rank = stable_order(order, axis, true, cpu, stream);  // the inverse permutation
  const array best = mx::cummax(mx::astype(rank, mx::int32, stream), axis, attrs.reverse, true, stream);
  const array sorted = mx::take_along_axis(marked, order, axis, stream);
  return mx::take_along_axis(sorted, best, axis, stream);
}

// MLX keeps the running value in x's dtype: 16-bit floats would round at each step, a bfloat16 count stop at 256.
array carried(const array& x, mx::Stream stream) { return is_half(x.dtype()) ? mx::astype(x, mx::float32, stream) : x; }

array lower_extremum(const LowerContext& context, const ops::ScanAttrs& attrs, bool greatest) {
  const array& x = context[0];
  // MLX divides by the length of the axis.
  if (x.size() == 0) return x;
  const DType d = from_mlx(x.dtype());
  if (d == DType::bool_) {
    const array bits = mx::astype(x, mx::uint8, context.stream);
    return mx::astype(running_extremum(bits, attrs, greatest, context.stream), mx::bool_, context.stream);
  }
  if (is_complex(d) || (is_floating(d) && !on_cpu(context))) {
    return composed_running_extremum(x, attrs, greatest, context.stream);
  }
  // MLX's scan of 16-bit floats writes 0 for NaN.
  const array y = running_extremum(carried(x, context.stream), attrs, greatest, context.stream);
  return mx::astype(y, x.dtype(), context.stream);
}

}  // namespace

array composed_running_extremum(const array& x, const ops::ScanAttrs& attrs, bool greatest, mx::Stream stream) {
  if (x.dtype() == mx::complex64) {
    // Negation turns the order by both parts around.
    return greatest ? complex_running_max(x, attrs, stream)
                    : mx::negative(complex_running_max(mx::negative(x, stream), attrs, stream), stream);
  }
  const int axis = to_axis(attrs.axis, x.ndim());
  const array is_nan = mx::astype(mx::isnan(x, stream), mx::int32, stream);
  const array nan_seen = mx::astype(mx::cummax(is_nan, axis, attrs.reverse, true, stream), mx::bool_, stream);
  return mx::where(nan_seen, scalar(NAN, x.dtype()), running_extremum(x, attrs, greatest, stream), stream);
}

array lower_cumulative_sum(const LowerContext& context, const ops::ScanAttrs& attrs) {
  if (context[0].size() == 0) return zeros_of(context);
  const array x = context[0].dtype() == mx::bool_ ? mx::astype(context[0], mx::int32, context.stream)
                                                  : carried(context[0], context.stream);
  const int axis = to_axis(attrs.axis, x.ndim());
  return mx::astype(mx::cumsum(x, axis, attrs.reverse, true, std::nullopt, context.stream), context.dtype(),
                    context.stream);
}

array lower_cumulative_product(const LowerContext& context, const ops::ScanAttrs& attrs) {
  if (context[0].dtype() == mx::bool_) return lower_extremum(context, attrs, false);
  if (context[0].size() == 0) return context[0];
  const array x = carried(context[0], context.stream);
  const int axis = to_axis(attrs.axis, x.ndim());
  return mx::astype(mx::cumprod(x, axis, attrs.reverse, true, std::nullopt, context.stream), context.dtype(),
                    context.stream);
}

array lower_cumulative_max(const LowerContext& context, const ops::ScanAttrs& attrs) {
  return lower_extremum(context, attrs, true);
}
array lower_cumulative_min(const LowerContext& context, const ops::ScanAttrs& attrs) {
  return lower_extremum(context, attrs, false);
}

}  // namespace reprise::mlx_backend
