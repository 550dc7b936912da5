#include "ops/window/window.hpp"

#include "ops/reduce/reduce.hpp"

namespace reprise::ops {
namespace {

// The number of windows along each axis.
Result<Shape> windows(const InferContext& context, const Ints& low, const Ints& high, const Ints& strides,
                      const Ints& sizes, const Ints& dilations) {
  const TensorType& x = context[0];
  if (sizes.size() != x.shape.size()) {
    return context.error("attribute 'sizes' has {} entries; x is {}, which has {} axes", sizes.size(), to_string(x),
                         x.rank());
  }
  Shape out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // 32-bit attributes and axes: the product and the sums stay within 64 bits.
    const std::int64_t padded = x.shape[i] + low[i] + high[i];
    const std::int64_t reach = (sizes[i] - 1) * (dilations.empty() ? 1 : dilations[i]) + 1;
    if (reach > padded + 1) {
      return context.error("x is {}: axis {} has {} elements with padding; a window reaches over {}", to_string(x), i,
                           padded, reach);
    }
    out.push_back(reach > padded ? 0 : (padded - reach) / strides[i] + 1);
  }
  return out;
}

}  // namespace

Result<Types> infer_window_sum(const InferContext& context, const WindowAttrs& a) {
  REPRISE_ASSIGN(Shape shape, windows(context, a.low, a.high, a.strides, a.sizes, a.dilations));
  return Types{{widened(context[0].dtype), std::move(shape)}};
}

Result<Types> infer_window_extremum(const InferContext& context, const WindowAttrs& a) {
  REPRISE_ASSIGN(Shape shape, windows(context, a.low, a.high, a.strides, a.sizes, a.dilations));
  return Types{{context[0].dtype, std::move(shape)}};
}

Result<Types> infer_window_scatter(const InferContext& context, const WindowScatterAttrs& a) {
  REPRISE_ASSIGN(const Shape shape, windows(context, a.low, a.high, a.strides, a.sizes, {}));
  if (context[1].shape != shape) {
    return context.error("source is {}; x is {}, so wanted shape {}, one element for each window",
                         to_string(context[1]), to_string(context[0]), to_string(shape));
  }
  REPRISE_RETURN_IF_ERROR(context.require_rank(2, 0));
  return Types{context[0]};
}

}  // namespace reprise::ops
