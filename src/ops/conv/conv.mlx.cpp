#include "ops/conv/conv.mlx.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/mlx/convert.hpp"
#include "backends/mlx/tape.hpp"
#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {
namespace {

bool all_one(const ops::Ints& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 1; });
}

mx::ShapeElem narrow(std::int64_t v) { return static_cast<mx::ShapeElem>(v); }

// Elements of a shape as a double: only compared, and free of overflow.
double volume(const mx::Shape& shape) {
  double n = 1;
  for (const auto s : shape) n *= s;
  return n;
}

// What MLX's own convolution computes well: undilated float32 on the CPU, as matrix products or, by groups, in loops
// (its loops for the rest are slow, and none knows float64 or wide positions); on a GPU all but dilated inputs. Neither
// has groups in three dimensions, and both write out padding, which may dwarf what is computed from it.
bool suits_mlx(const array& input, const ops::ConvAttrs& attrs, bool cpu) {
  if (input.size() == 0) return false;
  double padded = input.shape(0) * static_cast<double>(input.shape(-1));
  double kept = volume(input.shape());
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    const auto cut = [](std::int64_t v) { return std::max<std::int64_t>(v, 0); };
    std::int64_t size = input.shape(static_cast<int>(i) + 1);
    if (size <= cut(-attrs.low[i]) + cut(-attrs.high[i])) return false;  // nothing of the input is left
    size += cut(attrs.low[i]) + cut(attrs.high[i]);
    if (size > std::numeric_limits<mx::ShapeElem>::max()) return false;
    padded *= static_cast<double>(size);
  }
  if (padded > 1e6 + 16 * kept) return false;
  if (!all_one(attrs.input_dilation) || (attrs.groups > 1 && attrs.low.size() == 3)) return false;
  if (!cpu) return input.dtype() != mx::float64;
  return input.dtype() == mx::float32 && all_one(attrs.kernel_dilation);
}

array mlx_convolution(const array& input, const array& weight, const ops::ConvAttrs& attrs, mx::Stream stream) {
  // Negative padding is cut off first; some of MLX's kernels start before the array otherwise.
  mx::Shape start(input.ndim(), 0);
  mx::Shape stop = input.shape();
  std::vector<int> low, high;
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    start[i + 1] = narrow(std::max<std::int64_t>(-attrs.low[i], 0));
    stop[i + 1] -= narrow(std::max<std::int64_t>(-attrs.high[i], 0));
    low.push_back(static_cast<int>(std::max<std::int64_t>(attrs.low[i], 0)));
    high.push_back(static_cast<int>(std::max<std::int64_t>(attrs.high[i], 0)));
  }
  const array kept = mx::slice(input, std::move(start), std::move(stop), stream);
  return mx::conv_general(kept, weight, to_ints(attrs.strides), low, high, to_ints(attrs.kernel_dilation),
                          to_ints(attrs.input_dilation), static_cast<int>(attrs.groups), false, stream);
}

// Which element of x each tap of each output reads along one axis; `size`, one past the end, where it reads padding or
// between dilated elements.
array read_table(std::int64_t size, std::int64_t out, std::int64_t kernel, const ops::ConvAttrs& attrs, std::size_t i) {
  std::vector<std::int32_t> table;
  table.reserve(static_cast<std::size_t>(out * kernel));
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = o * attrs.strides[i] + k * attrs.kernel_dilation[i] - attrs.low[i];
      const std::int64_t source = at / attrs.input_dilation[i];
      const bool inside = at >= 0 && at % attrs.input_dilation[i] == 0 && source < size;
      table.push_back(static_cast<std::int32_t>(inside ? source : size));
    }
  }
  return array(table.begin(), {narrow(out), narrow(kernel)}, mx::int32);
}

// Any convolution: gathers what each output reads, then multiplies matrices.
array gathered_convolution(const array& input, const array& weight, const ops::ConvAttrs& attrs,
                           const mx::Shape& result, mx::Stream stream) {
  const int n = static_cast<int>(attrs.strides.size());
  array x = input;  // (N, spatial..., C) becomes (N, out, kernel, out, kernel, ..., C)
  mx::ShapeElem places = result[0];
  mx::ShapeElem taps = 1;
  for (int i = 0; i < n; ++i) {
    const int axis = 1 + 2 * i;
    mx::Shape one = x.shape();
    const mx::ShapeElem size = std::exchange(one[static_cast<std::size_t>(axis)], 1);
    const array nothing = mx::full(one, scalar(0, x.dtype()), x.dtype(), stream);
    const array extended = mx::concatenate({x, nothing}, axis, stream);
    const mx::ShapeElem out = result[static_cast<std::size_t>(i) + 1];
    const mx::ShapeElem kernel = weight.shape(i + 1);
    x = mx::take(extended, read_table(size, out, kernel, attrs, static_cast<std::size_t>(i)), axis, stream);
    places *= out;
    taps *= kernel;
  }
  const auto groups = narrow(attrs.groups);
  const mx::ShapeElem channels = weight.shape(-1);
  const mx::ShapeElem outputs = weight.shape(0) / groups;

  // (N, out, kernel, ..., groups, channels) to (groups, N, out..., kernel..., channels)
  x = mx::unflatten(x, -1, {groups, channels}, stream);
  std::vector<int> order{1 + 2 * n, 0};
  for (int i = 0; i < n; ++i) order.push_back(1 + 2 * i);
  for (int i = 0; i < n; ++i) order.push_back(2 + 2 * i);
  order.push_back(2 + 2 * n);
  const array patches = mx::reshape(mx::transpose(x, order, stream), {groups, places, taps * channels}, stream);
  const array filters = mx::reshape(weight, {groups, outputs, taps * channels}, stream);
  const array products = mx::matmul(patches, mx::swapaxes(filters, 1, 2, stream), stream);
  return mx::reshape(mx::transpose(products, {1, 0, 2}, stream), result, stream);
}

// Convolution unfolds its input on the CPU: for each place of the result all the elements that the kernel covers. MLX
// does so out of sight of whoever adds up the results.
std::size_t unfolded_bytes(const LowerContext& context) {
  std::size_t bytes = std::max<std::size_t>(context.dtype().size(), sizeof(float));
  bool overflow = false;
  const auto times = [&](std::int64_t n) {
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &bytes);
  };
  const Shape& out = context.results[0].shape;
  for (std::size_t i = 0; i + 1 < out.size(); ++i) times(out[i]);  // batch and places
  for (int axis = 1; axis < static_cast<int>(context[1].ndim()); ++axis) times(context[1].shape(axis));
  return overflow ? SIZE_MAX : bytes;
}

}  // namespace

array lower_conv(const LowerContext& context, const ops::ConvAttrs& attrs) {
  const mx::Stream stream = context.stream;
  if (element_count(context.results[0].shape) == 0 || context[1].size() == 0) return zeros_of(context);
  if (on_cpu(context)) require_memory(unfolded_bytes(context));
  // MLX's CPU products add up 16-bit numbers in 16 bits.
  const mx::Dtype dtype = on_cpu(context) && is_half(context.dtype()) ? mx::float32 : context.dtype();
  const auto operand = [&](std::size_t i) {
    return mx::astype(mx::astype(context[i], context.dtype(), stream), dtype, stream);
  };
  const array input = operand(0);
  const array weight = operand(1);
  const array out = suits_mlx(input, attrs, on_cpu(context))
                        ? mlx_convolution(input, weight, attrs, stream)
                        : gathered_convolution(input, weight, attrs, context.shape(), stream);
  return mx::astype(out, context.dtype(), stream);
}

}  // namespace reprise::mlx_backend
