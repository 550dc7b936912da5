#include "ops/sort/sort.hpp"

namespace reprise::ops {

Result<Types> infer_sort(const InferContext& context, const SortAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 1));
  if (auto axis = context.axis("axis", attrs.axis, context[0].rank()); !axis) return axis.error();
  return Types{context[0]};
}

Result<Types> infer_argsort(const InferContext& context, const SortAttrs& attrs) {
  REPRISE_ASSIGN(Types types, infer_sort(context, attrs));
  types[0].dtype = DType::uint32;
  return types;
}

}  // namespace reprise::ops
