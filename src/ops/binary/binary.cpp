#include "ops/binary/binary.hpp"

namespace reprise::ops {

Result<Types> infer_binary(const InferContext& context) {
  REPRISE_ASSIGN(Shape shape, context.broadcast());
  return Types{{promote(context[0].dtype, context[1].dtype), std::move(shape)}};
}

Result<Types> infer_binary_floating(const InferContext& context) {
  REPRISE_ASSIGN(Types types, infer_binary(context));
  types[0].dtype = to_floating(types[0].dtype);
  return types;
}

Result<Types> infer_binary_predicate(const InferContext& context) {
  REPRISE_ASSIGN(Shape shape, context.broadcast());
  return Types{{DType::bool_, std::move(shape)}};
}

Result<Types> infer_bits(const InferContext& context) {
  REPRISE_ASSIGN(Types types, infer_binary(context));
  // uint64 with a signed integer promotes to float32, which has no bits to work on.
  if (is_floating(types[0].dtype)) {
    return context.error("a is {} and b is {}: their common dtype is {}; wanted an integer dtype",
                         to_string(context[0]), to_string(context[1]), name(types[0].dtype));
  }
  return types;
}

Result<Types> infer_shift(const InferContext& context) {
  REPRISE_ASSIGN(Types types, infer_bits(context));
  if (types[0].dtype == DType::bool_) types[0].dtype = DType::uint8;
  return types;
}

}  // namespace reprise::ops
