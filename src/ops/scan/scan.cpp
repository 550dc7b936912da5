#include "ops/scan/scan.hpp"

namespace reprise::ops {

Result<Types> infer_scan(const InferContext& context, const ScanAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 1));
  if (auto axis = context.axis("axis", attrs.axis, context[0].rank()); !axis) return axis.error();
  return Types{context[0]};
}

Result<Types> infer_cumulative_sum(const InferContext& context, const ScanAttrs& attrs) {
  REPRISE_ASSIGN(Types types, infer_scan(context, attrs));
  if (types[0].dtype == DType::bool_) types[0].dtype = DType::int32;
  return types;
}

}  // namespace reprise::ops
