#include "ops/conv/conv.hpp"

namespace reprise::ops {

Result<Types> infer_conv(const InferContext& context, const ConvAttrs& attrs) {
  const TensorType& input = context[0];
  const TensorType& weight = context[1];
  const DType dtype = promote(input.dtype, weight.dtype);
  if (!is_floating(dtype)) {
    return context.error("input is {} and weight is {}; wanted a floating dtype", to_string(input), to_string(weight));
  }
  const auto n = static_cast<int>(attrs.strides.size());
  if (n < 1 || n > 3) return context.error("{} spatial axes; wanted 1, 2 or 3", n);
  REPRISE_RETURN_IF_ERROR(context.require_rank(0, n + 2));
  REPRISE_RETURN_IF_ERROR(context.require_rank(1, n + 2));
  const std::int64_t channels = input.shape.back();
  const std::int64_t outputs = weight.shape.front();
  if (channels % attrs.groups != 0 || outputs % attrs.groups != 0) {
    return context.error("input is {} and weight is {}: {} and {} channels are not multiples of {} groups",
                         to_string(input), to_string(weight), channels, outputs, attrs.groups);
  }
  if (weight.shape.back() != channels / attrs.groups) {
    return context.error("weight is {}; input is {} in {} groups, so wanted {} channels (last axis)", to_string(weight),
                         to_string(input), attrs.groups, channels / attrs.groups);
  }
  TensorType out{dtype, {input.shape.front()}};
  for (std::size_t i = 0; i < attrs.strides.size(); ++i) {
    // 32-bit attributes and axes: the products stay within 64 bits.
    const std::int64_t size = input.shape[i + 1];
    const std::int64_t kernel = weight.shape[i + 1];
    const std::int64_t spread = size == 0 ? 0 : (size - 1) * attrs.input_dilation[i] + 1;
    const std::int64_t padded = spread + attrs.low[i] + attrs.high[i];
    const std::int64_t reach = kernel == 0 ? 0 : (kernel - 1) * attrs.kernel_dilation[i] + 1;
    if (kernel == 0) return context.error("weight is {}: kernel axis {} is empty", to_string(weight), i + 1);
    if (padded < 0) {
      return context.error("input is {}: low {} and high {} cut more than spatial axis {} has", to_string(input),
                           attrs.low[i], attrs.high[i], i);
    }
    if (padded + 1 < reach) {
      return context.error("spatial axis {} has {} elements with padding; the kernel reaches over {}", i, padded,
                           reach);
    }
    out.shape.push_back((padded - reach) / attrs.strides[i] + 1);
    if (padded < reach) out.shape.back() = 0;
  }
  out.shape.push_back(outputs);
  return Types{std::move(out)};
}

}  // namespace reprise::ops
