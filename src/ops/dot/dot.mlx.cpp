#include "ops/dot/dot.mlx.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {
namespace {

mx::ShapeElem size_along(const array& x, const std::vector<int>& axes) {
  mx::ShapeElem n = 1;  // inference has checked that it fits
  for (const int a : axes) n *= x.shape(a);
  return n;
}

std::vector<int> free_axes(const array& x, const std::vector<int>& batch, const std::vector<int>& contracted) {
  std::vector<int> out;
  for (int a = 0; a < static_cast<int>(x.ndim()); ++a) {
    const auto in = [a](const std::vector<int>& list) { return std::find(list.begin(), list.end(), a) != list.end(); };
    if (!in(batch) && !in(contracted)) out.push_back(a);
  }
  return out;
}

// The axes of x in the order batch, first, second; the latter two groups merged into one axis each.
array as_matrices(const array& x, const std::vector<int>& batch, const std::vector<int>& first,
                  const std::vector<int>& second, mx::Stream stream) {
  std::vector<int> order = batch;
  order.insert(order.end(), first.begin(), first.end());
  order.insert(order.end(), second.begin(), second.end());
  mx::Shape shape;
  for (const int a : batch) shape.push_back(x.shape(a));
  shape.push_back(size_along(x, first));
  shape.push_back(size_along(x, second));
  const array ordered = order.empty() ? x : mx::transpose(x, order, stream);
  return mx::reshape(ordered, std::move(shape), stream);
}

// Values of the 16 codes of a 4-bit float (E2M1).
double fp4_value(unsigned code) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

// Values of the 256 codes of an 8-bit float (E4M3): all ones is NaN, there is no infinity.
double fp8_value(unsigned code) {
  const unsigned magnitude_bits = code & 127;
  const unsigned mantissa = code & 7;
  const auto exponent = static_cast<int>(magnitude_bits >> 3);
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  if (magnitude_bits == 127) magnitude = std::numeric_limits<double>::quiet_NaN();
  return (code & 128) != 0 ? -magnitude : magnitude;
}

// Values of the 256 scales that are powers of two (E8M0). The last is infinite, as in MLX.
double power_value(unsigned code) {
  return code == 255 ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, static_cast<int>(code) - 127);
}

template <typename Value>
array look_up(const array& codes, int count, Value value, mx::Dtype dtype, mx::Stream stream) {
  std::vector<double> table;
  for (int i = 0; i < count; ++i) table.push_back(value(static_cast<unsigned>(i)));
  return mx::take(array(table.begin(), {count}, dtype), codes, 0, stream);
}

// Codes of `bits` bits, lowest bits first along the last axis; a code may begin in one word and end in the next.
array unpack_codes(const array& w, int bits, mx::Stream stream) {
  const int words = 32 % bits == 0 ? 1 : bits;  // after so many words the pattern repeats
  const int codes = 32 * words / bits;
  std::vector<std::int32_t> low_word, high_word;
  std::vector<std::uint32_t> low_shift, high_shift, high_mask;
  for (int i = 0; i < codes; ++i) {
    const int position = i * bits;
    const int word = position / 32;
    const int offset = position % 32;
    const bool straddles = offset + bits > 32;
    low_word.push_back(word);
    high_word.push_back(straddles ? word + 1 : word);
    low_shift.push_back(static_cast<std::uint32_t>(offset));
    high_shift.push_back(straddles ? static_cast<std::uint32_t>(32 - offset) : 0);
    high_mask.push_back(straddles ? (1u << bits) - 1 : 0);
  }
  const auto constant = [codes](const auto& list, mx::Dtype dtype) { return array(list.begin(), {codes}, dtype); };
  mx::Shape grouped = w.shape();
  grouped.back() /= words;
  grouped.push_back(words);
  const array source = mx::reshape(w, grouped, stream);
  array out = mx::right_shift(mx::take(source, constant(low_word, mx::int32), -1, stream),
                              constant(low_shift, mx::uint32), stream);
  if (words > 1) {
    const array high = mx::left_shift(mx::take(source, constant(high_word, mx::int32), -1, stream),
                                      constant(high_shift, mx::uint32), stream);
    out = mx::bitwise_or(out, mx::bitwise_and(high, constant(high_mask, mx::uint32), stream), stream);
  }
  out = mx::bitwise_and(out, array((1u << bits) - 1, mx::uint32), stream);
  mx::Shape flat = w.shape();
  flat.back() = flat.back() / words * codes;
  return mx::reshape(out, std::move(flat), stream);
}

// Where MLX has no kernel: unpack, then a dense product.
array unpacked_product(const array& x, std::span<const array> weights, const ops::QuantizedMatmulAttrs& attrs,
                       mx::Stream stream) {
  const array dense = unpack_weights(weights, attrs, x.dtype(), stream);
  return mx::matmul(x, attrs.transpose ? mx::swapaxes(dense, -1, -2, stream) : dense, stream);
}

}  // namespace

array lower_dot(const LowerContext& context, const ops::DotAttrs& attrs) {
  const mx::Stream stream = context.stream;
  const array a = mx::astype(context[0], context.dtype(), stream);
  const array b = mx::astype(context[1], context.dtype(), stream);
  const auto batch_a = to_axes(attrs.batch_a, a.ndim());
  const auto batch_b = to_axes(attrs.batch_b, b.ndim());
  const auto contract_a = to_axes(attrs.contract_a, a.ndim());
  const auto contract_b = to_axes(attrs.contract_b, b.ndim());
  if (element_count(context.results[0].shape) == 0 || size_along(a, contract_a) == 0) return zeros_of(context);
  const array left = as_matrices(a, batch_a, free_axes(a, batch_a, contract_a), contract_a, stream);
  const array right = as_matrices(b, batch_b, contract_b, free_axes(b, batch_b, contract_b), stream);
  const array product = contract_a.empty() ? mx::multiply(left, right, stream) : mx::matmul(left, right, stream);
  return mx::reshape(product, context.shape(), stream);
}

array unpack_weights(std::span<const array> operands, const ops::QuantizedMatmulAttrs& attrs, mx::Dtype dtype,
                     mx::Stream stream) {
  const array codes = unpack_codes(operands[0], static_cast<int>(attrs.bits), stream);
  const array grouped = mx::unflatten(codes, -1, {-1, static_cast<mx::ShapeElem>(attrs.group_size)}, stream);
  const auto per_group = [&](const array& values) { return mx::expand_dims(values, -1, stream); };
  const auto scaled = [&](const array& values, const array& scales) {
    return mx::multiply(values, per_group(scales), stream);
  };
  array weights = grouped;
  switch (attrs.mode) {
    case ops::QuantMode::affine:
      weights = mx::add(scaled(mx::astype(grouped, dtype, stream), mx::astype(operands[1], dtype, stream)),
                        per_group(mx::astype(operands[2], dtype, stream)), stream);
      break;
    case ops::QuantMode::mxfp4:
      weights =
          scaled(look_up(grouped, 16, fp4_value, dtype, stream), look_up(operands[1], 256, power_value, dtype, stream));
      break;
    case ops::QuantMode::mxfp8:
      weights = scaled(look_up(grouped, 256, fp8_value, dtype, stream),
                       look_up(operands[1], 256, power_value, dtype, stream));
      break;
    case ops::QuantMode::nvfp4:
      weights =
          scaled(look_up(grouped, 16, fp4_value, dtype, stream), look_up(operands[1], 256, fp8_value, dtype, stream));
      break;
  }
  return mx::reshape(weights, codes.shape(), stream);
}

array lower_quantized_matmul(const LowerContext& context, const ops::QuantizedMatmulAttrs& attrs) {
  const mx::Stream stream = context.stream;
  // MLX divides by the sizes of x.
  if (element_count(context.results[0].shape) == 0 || context[0].size() == 0) return zeros_of(context);

  // MLX's CPU kernels add up in the dtype of x, which loses whole terms in 16 bits, and have none for float64.
  mx::Dtype dtype = context.dtype();
  const bool batched_on_gpu = !on_cpu(context) && context[1].ndim() > 2;  // MLX has no CUDA kernel for that
  if ((on_cpu(context) || batched_on_gpu) && mx::size_of(dtype) == 2) dtype = mx::float32;
  array x = mx::astype(context[0], dtype, stream);
  if (x.ndim() == 1) x = mx::expand_dims(x, 0, stream);

  std::vector<array> weights{context[1], context[2]};
  if (attrs.has_biases) weights.push_back(context[3]);
  if (weights[0].ndim() > 2) {
    // MLX broadcasts batch axes only when both sides have some.
    const auto with_batch = [&](const array& y) {
      mx::Shape shape = context.shape();
      shape[shape.size() - 2] = y.shape(-2);
      shape[shape.size() - 1] = y.shape(-1);
      return mx::broadcast_to(y, shape, stream);
    };
    x = with_batch(x);
    for (array& w : weights) w = with_batch(w);
  }

  if (dtype == mx::float64 || batched_on_gpu) {
    const array product = unpacked_product(x, weights, attrs, stream);
    return mx::reshape(mx::astype(product, context.dtype(), stream), context.shape(), stream);
  }
  std::optional<array> biases;
  if (attrs.mode == ops::QuantMode::affine) {
    weights[1] = mx::astype(weights[1], dtype, stream);
    biases = mx::astype(weights[2], dtype, stream);
  }
  const array product =
      mx::quantized_matmul(x, weights[0], weights[1], biases, attrs.transpose, static_cast<int>(attrs.group_size),
                           static_cast<int>(attrs.bits), std::string(ops::name(attrs.mode)), stream);
  return mx::reshape(mx::astype(product, context.dtype(), stream), context.shape(), stream);
}

}  // namespace reprise::mlx_backend
