#include "ops/unary/unary.hpp"

namespace reprise::ops {

Result<Types> infer_same(const InferContext& context) { return Types{context[0]}; }

Result<Types> infer_magnitude(const InferContext& context) {
  return Types{{is_complex(context[0].dtype) ? DType::float32 : context[0].dtype, context[0].shape}};
}

Result<Types> infer_predicate(const InferContext& context) { return Types{{DType::bool_, context[0].shape}}; }

Result<Types> infer_floating(const InferContext& context) {
  return Types{{to_floating(context[0].dtype), context[0].shape}};
}

}  // namespace reprise::ops
