#include "ops/select/select.hpp"

namespace reprise::ops {
namespace {

// Indices into an empty axis have nothing to be clamped to.
Status check_indexable(const InferContext& context, std::size_t axis, const TensorType& indices) {
  if (context[0].shape[axis] == 0 && element_count(indices.shape) != 0) {
    return context.error("x is {}: axis {} is empty; wanted elements to take", to_string(context[0]), axis);
  }
  return {};
}

}  // namespace

Result<Types> infer_select(const InferContext& context) {
  REPRISE_ASSIGN(Shape shape, context.broadcast());
  return Types{{promote(context[1].dtype, context[2].dtype), std::move(shape)}};
}

Result<Types> infer_clip(const InferContext& context) {
  REPRISE_ASSIGN(Shape shape, context.broadcast());
  return Types{{promote(promote(context[0].dtype, context[1].dtype), context[2].dtype), std::move(shape)}};
}

Result<Types> infer_take(const InferContext& context, const AxisAttrs& attrs) {
  const TensorType& x = context[0];
  REPRISE_RETURN_IF_ERROR(context.require_dtype(1, kIntegers));
  REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, x.rank()));
  REPRISE_RETURN_IF_ERROR(check_indexable(context, axis, context[1]));
  TensorType out{x.dtype, {}};
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis) {
      out.shape.insert(out.shape.end(), context[1].shape.begin(), context[1].shape.end());
    } else {
      out.shape.push_back(x.shape[i]);
    }
  }
  return Types{std::move(out)};
}

Result<Types> infer_take_along_axis(const InferContext& context, const AxisAttrs& attrs) {
  const TensorType& x = context[0];
  const TensorType& indices = context[1];
  REPRISE_RETURN_IF_ERROR(context.require_dtype(1, kIntegers));
  REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, x.rank()));
  REPRISE_RETURN_IF_ERROR(context.require_rank(1, x.rank()));
  REPRISE_RETURN_IF_ERROR(check_indexable(context, axis, indices));
  TensorType out{x.dtype, indices.shape};
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis || x.shape[i] == indices.shape[i] || x.shape[i] == 1) continue;
    if (indices.shape[i] != 1) {
      return context.error("x is {} and indices is {}: they do not broadcast at axis {}", to_string(x),
                           to_string(indices), i);
    }
    out.shape[i] = x.shape[i];
  }
  return Types{std::move(out)};
}

}  // namespace reprise::ops
