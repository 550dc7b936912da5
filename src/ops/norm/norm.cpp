#include "ops/norm/norm.hpp"

#include <cmath>

namespace reprise::ops {

Result<Types> infer_norm(const InferContext& context, const EpsAttrs& attrs) {
  const TensorType& x = context[0];
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 1));
  if (!(attrs.eps >= 0) || std::isinf(attrs.eps)) {
    return context.error("attribute 'eps' is {}; wanted a finite number, 0 or more", attrs.eps);
  }
  TensorType out = x;
  for (std::size_t i = 1; i < context.size(); ++i) {
    if (context[i].shape != Shape{x.shape.back()}) {
      return context.error("{} is {}; x is {}, so wanted shape [{}]", context.operand_name(i), to_string(context[i]),
                           to_string(x), x.shape.back());
    }
    out.dtype = promote(out.dtype, context[i].dtype);
  }
  return Types{std::move(out)};
}

Result<Types> infer_swiglu(const InferContext& context) {
  REPRISE_ASSIGN(Shape shape, context.broadcast());
  return Types{{to_floating(promote(context[0].dtype, context[1].dtype)), std::move(shape)}};
}

}  // namespace reprise::ops
