#include "ops/rope/rope.hpp"

#include <cmath>

namespace reprise::ops {
namespace {

Status check_common(const InferContext& context, const RopeAttrs& attrs) {
  const TensorType& a = context[0];
  if (attrs.dims % 2 != 0 || attrs.dims > a.shape.back()) {
    return context.error("attribute 'dims' is {}; a is {}, so wanted an even number up to {}", attrs.dims, to_string(a),
                         a.shape.back());
  }
  if (!std::isfinite(attrs.base) || !(attrs.base > 0)) {
    return context.error("attribute 'base' is {}; wanted a positive number", attrs.base);
  }
  if (context.size() > 2) {
    REPRISE_RETURN_IF_ERROR(context.require_dtype(2, kFloats));
    if (context[2].shape != Shape{attrs.dims / 2}) {
      return context.error("freqs is {}; attribute 'dims' is {}, so wanted shape [{}]", to_string(context[2]),
                           attrs.dims, attrs.dims / 2);
    }
  }
  return {};
}

Status not_traditional(const InferContext& context, const RopeAttrs& attrs) {
  if (!attrs.traditional) return {};
  return context.error("traditional=true not supported with a position for each token");
}

}  // namespace

Result<Types> infer_rope(const InferContext& context, const RopeAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 3));
  REPRISE_RETURN_IF_ERROR(check_common(context, attrs));
  return Types{context[0]};
}

namespace {

// One position for each token of a (B, T, H, D).
Status check_token_positions(const InferContext& context) {
  const TensorType& a = context[0];
  REPRISE_RETURN_IF_ERROR(context.require_dtype(1, kReals));
  if (context[1].shape != Shape{a.shape[0], a.shape[1]}) {
    return context.error("positions is {}; a is {}, so wanted shape [{}, {}]", to_string(context[1]), to_string(a),
                         a.shape[0], a.shape[1]);
  }
  return {};
}

}  // namespace

Result<Types> infer_rope_positions(const InferContext& context, const RopeAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_rank(0, 4));
  REPRISE_RETURN_IF_ERROR(not_traditional(context, attrs));
  REPRISE_RETURN_IF_ERROR(check_common(context, attrs));
  REPRISE_RETURN_IF_ERROR(check_token_positions(context));
  return Types{context[0]};
}

Result<Types> infer_rope_ids(const InferContext& context, const RopeAttrs& attrs) {
  const TensorType& a = context[0];
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 3));
  REPRISE_RETURN_IF_ERROR(check_common(context, attrs));
  if (a.rank() == 4) {
    // The reference takes the first token's position for all when there is one head; here each token has its own.
    if (a.shape[2] != 1) REPRISE_RETURN_IF_ERROR(not_traditional(context, attrs));
    REPRISE_RETURN_IF_ERROR(check_token_positions(context));
    return Types{a};
  }
  REPRISE_RETURN_IF_ERROR(context.require_dtype(1, kIntegers));
  if (context[1].rank() != 2 || context[1].shape[0] != a.shape[0] || context[1].shape[1] < 1) {
    return context.error("positions is {}; a is {}, so wanted shape [{}, T]", to_string(context[1]), to_string(a),
                         a.shape[0]);
  }
  return Types{a};
}

}  // namespace reprise::ops
