#include "ops/rope/rope.mlx.hpp"

#include <cmath>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

// Radians by which pair i turns for each unit of position, float32 (dims/2). From the attributes, or 1 / freqs.
array turns(const LowerContext& context, const ops::RopeAttrs& attrs) {
  if (context.size() > 2) {
    return mx::reciprocal(mx::astype(context[2], mx::float32, context.stream), context.stream);
  }
  std::vector<float> theta;
  for (std::int64_t i = 0; i < attrs.dims / 2; ++i) {
    theta.push_back(
        static_cast<float>(std::pow(attrs.base, -2.0 * static_cast<double>(i) / static_cast<double>(attrs.dims))));
  }
  return array(theta.begin(), {static_cast<int>(theta.size())}, mx::float32);
}

array last_axis(const array& x, int from, int to, int step, mx::Stream s) {
  mx::Shape start(x.ndim(), 0);
  mx::Shape strides(x.ndim(), 1);
  mx::Shape stop = x.shape();
  start.back() = from;
  stop.back() = to;
  strides.back() = step;
  return mx::slice(x, start, stop, strides, s);
}

// Turns the first dims features of `x`; `angles` broadcasts to x with a last axis of dims / 2.
array rotate(const array& x, const array& angles, const ops::RopeAttrs& attrs, mx::Stream s) {
  const int dims = static_cast<int>(attrs.dims);
  const array cos = mx::astype(mx::cos(angles, s), x.dtype(), s);
  const array sin = mx::astype(mx::sin(angles, s), x.dtype(), s);
  const int step = attrs.traditional ? 2 : 1;
  const int second = attrs.traditional ? 1 : dims / 2;
  const array u = last_axis(x, 0, attrs.traditional ? dims : dims / 2, step, s);
  const array v = last_axis(x, second, dims, step, s);
  const array first = mx::subtract(mx::multiply(u, cos, s), mx::multiply(v, sin, s), s);
  const array other = mx::add(mx::multiply(u, sin, s), mx::multiply(v, cos, s), s);
  std::vector<array> parts;
  if (attrs.traditional) {
    mx::Shape shape = x.shape();
    shape.back() = dims;
    parts.push_back(mx::reshape(mx::stack({first, other}, -1, s), shape, s));
  } else {
    parts = {first, other};
  }
  if (dims < x.shape(-1)) parts.push_back(last_axis(x, dims, x.shape(-1), 1, s));
  return mx::concatenate(parts, -1, s);
}

// scale * position * turn, with two new axes: (positions..., 1, dims/2) for `heads`, else (positions..., dims/2).
array angles_of(const array& positions, const LowerContext& context, const ops::RopeAttrs& attrs, bool heads) {
  const mx::Stream s = context.stream;
  array scaled = mx::multiply(mx::astype(positions, mx::float32, s), scalar(attrs.scale, mx::float32), s);
  scaled = mx::expand_dims(scaled, -1, s);
  if (heads) scaled = mx::expand_dims(scaled, -1, s);
  return mx::multiply(scaled, turns(context, attrs), s);
}

}  // namespace

array lower_rope(const LowerContext& context, const ops::RopeAttrs& attrs) {
  const array& a = context[0];
  if (attrs.dims == 0 || a.size() == 0) return a;
  if (!on_cpu(context)) {
    // MLX's CUDA kernel gives other rows' angles to a batch of single positions and reads strided operands wrongly.
    const mx::Stream s = context.stream;
    const double start = static_cast<double>(attrs.offset);
    const array positions = mx::arange(start, start + a.shape(-2), 1.0, mx::float32, s);
    return rotate(a, angles_of(positions, context, attrs, false), attrs, s);
  }
  return mx::fast::rope(a, static_cast<int>(attrs.dims), attrs.traditional, static_cast<float>(attrs.base),
                        static_cast<float>(attrs.scale), static_cast<int>(attrs.offset), std::nullopt, context.stream);
}

array lower_rope_positions(const LowerContext& context, const ops::RopeAttrs& attrs) {
  if (attrs.dims == 0 || context[0].size() == 0) return context[0];
  return rotate(context[0], angles_of(context[1], context, attrs, true), attrs, context.stream);
}

array lower_rope_ids(const LowerContext& context, const ops::RopeAttrs& attrs) {
  const array& a = context[0];
  if (a.ndim() == 4 || attrs.dims == 0 || a.size() == 0) return lower_rope_positions(context, attrs);
  // Batch row b starts at positions[b, 0]; time is the second-to-last axis.
  const mx::Stream s = context.stream;
  const int batch = a.shape(0);
  const array start = mx::slice(context[1], {0, 0}, {batch, 1}, s);
  const array steps = mx::arange(0.0, static_cast<double>(a.shape(-2)), 1.0, mx::float32, s);
  mx::Shape shape(a.ndim() - 1, 1);
  shape.front() = batch;
  shape.back() = a.shape(-2);
  const array positions = mx::reshape(mx::add(mx::astype(start, mx::float32, s), steps, s), shape, s);
  return rotate(a, angles_of(positions, context, attrs, false), attrs, s);
}

}  // namespace reprise::mlx_backend
