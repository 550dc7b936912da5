#include "ops/shape/shape.hpp"

#include <algorithm>

namespace reprise::ops {
namespace {

DType promote_all(const InferContext& context) {
  DType d = context[0].dtype;
  for (const TensorType& type : context.operands) d = promote(d, type.dtype);
  return d;
}

}  // namespace

Result<Types> infer_reshape(const InferContext& context, const ShapeAttrs& attrs) {
  const TensorType& x = context[0];
  const auto wrong = [&] {
    return context.error("x is {}; its elements do not fill the shape {}", to_string(x), to_string(attrs.shape));
  };
  const auto size = element_count(x.shape);
  Shape shape = attrs.shape;
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    if (std::count(shape.begin(), shape.end(), -1) > 1) {
      return context.error("attribute 'shape' is {}; wanted at most one -1", to_string(attrs.shape));
    }
    *unknown = 1;
    const auto known = element_count(shape);
    if (!size || !known || *known == 0 || *size % *known != 0) return wrong();
    *unknown = *size / *known;
  }
  if (element_count(shape) != size) return wrong();
  return Types{{x.dtype, std::move(shape)}};
}

Result<Types> infer_squeeze(const InferContext& context, const AxesAttrs& attrs) {
  const TensorType& x = context[0];
  REPRISE_ASSIGN(const auto axes, context.axes("axes", attrs.axes, x.rank()));
  TensorType out{x.dtype, {}};
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      out.shape.push_back(x.shape[i]);
    } else if (x.shape[i] != 1) {
      return context.error("x is {}; axis {} has size {}, wanted 1", to_string(x), i, x.shape[i]);
    }
  }
  return Types{std::move(out)};
}

Result<Types> infer_transpose(const InferContext& context, const AxesAttrs& attrs) {
  const TensorType& x = context[0];
  if (attrs.axes.size() != x.shape.size()) {
    return context.error("attribute 'axes' names {} axes; x is {}, which has {}", attrs.axes.size(), to_string(x),
                         x.rank());
  }
  REPRISE_ASSIGN(const auto axes, context.axes("axes", attrs.axes, x.rank()));
  TensorType out{x.dtype, {}};
  for (const auto a : axes) out.shape.push_back(x.shape[a]);
  return Types{std::move(out)};
}

Result<Types> infer_broadcast(const InferContext& context, const BroadcastAttrs& attrs) {
  const TensorType& x = context[0];
  if (attrs.axes.size() != x.shape.size()) {
    return context.error("attribute 'axes' has {} entries; x is {}, which has {} axes", attrs.axes.size(), to_string(x),
                         x.rank());
  }
  REPRISE_ASSIGN(const auto axes, context.axes("axes", attrs.axes, static_cast<int>(attrs.shape.size())));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t to = attrs.shape[axes[i]];
    if (x.shape[i] != to && x.shape[i] != 1) {
      return context.error("x is {}; its axis {} lies at axis {} of the result, which has {}; wanted {} or 1",
                           to_string(x), i, axes[i], to, to);
    }
  }
  return Types{{x.dtype, attrs.shape}};
}

Result<Types> infer_pad(const InferContext& context, const PadAttrs& attrs) {
  const TensorType& x = context[0];
  REPRISE_RETURN_IF_ERROR(context.require_rank(1, 0));
  if (attrs.low.size() != x.shape.size()) {
    return context.error("attribute 'low' has {} entries; x is {}, which has {} axes", attrs.low.size(), to_string(x),
                         x.rank());
  }
  TensorType out = x;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    // 32-bit attributes and a 32-bit axis: the product and the sums stay within 64 bits.
    const std::int64_t spread = x.shape[i] == 0 ? 0 : x.shape[i] + (x.shape[i] - 1) * attrs.interior[i];
    const std::int64_t cut =
        spread + std::min<std::int64_t>(attrs.low[i], 0) + std::min<std::int64_t>(attrs.high[i], 0);
    if (cut < 0) {
      return context.error("x is {}: axis {} has {} elements after interior padding; low {} and high {} cut more",
                           to_string(x), i, spread, attrs.low[i], attrs.high[i]);
    }
    out.shape[i] = spread + attrs.low[i] + attrs.high[i];
  }
  return Types{std::move(out)};
}

Result<Types> infer_reverse(const InferContext& context, const AxesAttrs& attrs) {
  REPRISE_ASSIGN(const auto axes, context.axes("axes", attrs.axes, context[0].rank()));
  static_cast<void>(axes);
  return Types{context[0]};
}

Result<Types> infer_concatenate(const InferContext& context, const AxisAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 1));
  REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, context[0].rank()));
  TensorType out{promote_all(context), context[0].shape};
  for (std::size_t i = 1; i < context.size(); ++i) {
    Shape rest = context[i].shape;
    if (rest.size() == out.shape.size()) rest[axis] = out.shape[axis];
    if (rest != out.shape) {
      return context.error("operand {} is {}; wanted {} in all axes but {}", i, to_string(context[i]),
                           to_string(context[0].shape), axis);
    }
    out.shape[axis] += context[i].shape[axis];
  }
  return Types{std::move(out)};
}

Result<Types> infer_stack(const InferContext& context, const AxisAttrs& attrs) {
  REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, context[0].rank() + 1));
  TensorType out{promote_all(context), context[0].shape};
  for (std::size_t i = 1; i < context.size(); ++i) {
    if (context[i].shape != out.shape) {
      return context.error("operand {} is {}; wanted the shape {}", i, to_string(context[i]), to_string(out.shape));
    }
  }
  out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(context.size()));
  return Types{std::move(out)};
}

}  // namespace reprise::ops
