#include "ops/fft/fft.mlx.hpp"

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

// x cut or filled with zeros at its end. MLX's transforms can do it, but fill on the thread's default stream.
array resized(const array& x, int axis, mx::ShapeElem length, mx::Stream stream) {
  const auto a = static_cast<std::size_t>(axis);
  mx::Shape shape = x.shape();
  const mx::ShapeElem size = std::exchange(shape[a], length);
  if (size == length) return x;
  if (size > length) return mx::slice(x, mx::Shape(x.ndim(), 0), shape, stream);
  shape[a] = length - size;
  return mx::concatenate({x, mx::full(shape, scalar(0, x.dtype()), x.dtype(), stream)}, axis, stream);
}

// MLX transforms complex64 only, which is what the row gives for every operand.
array transformed(const LowerContext& context, const ops::Ints& axes, bool inverse) {
  if (element_count(context.results[0].shape) == 0) return zeros_of(context);
  array x = mx::astype(context[0], mx::complex64, context.stream);
  const std::vector<int> at = to_axes(axes, x.ndim());
  mx::Shape lengths;
  for (const int axis : at) {
    lengths.push_back(context.shape()[static_cast<std::size_t>(axis)]);
    x = resized(x, axis, lengths.back(), context.stream);
  }
  return inverse ? mx::fft::ifftn(x, lengths, at, mx::fft::FFTNorm::Backward, context.stream)
                 : mx::fft::fftn(x, lengths, at, mx::fft::FFTNorm::Backward, context.stream);
}

}  // namespace

array lower_fft(const LowerContext& context, const ops::FftAttrs& attrs) {
  return transformed(context, {attrs.axis}, false);
}

array lower_ifft(const LowerContext& context, const ops::FftAttrs& attrs) {
  return transformed(context, {attrs.axis}, true);
}

array lower_fft2(const LowerContext& context, const ops::Fft2Attrs& attrs) {
  return transformed(context, {attrs.axis0, attrs.axis1}, false);
}

array lower_ifft2(const LowerContext& context, const ops::Fft2Attrs& attrs) {
  return transformed(context, {attrs.axis0, attrs.axis1}, true);
}

}  // namespace reprise::mlx_backend
