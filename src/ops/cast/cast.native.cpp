#include "ops/cast/cast.native.hpp"

namespace reprise::native {

// The same bytes under another type: no step.
Decision plan_bitcast(OpPlanner& op, const ops::DTypeAttrs& attrs) {
  if (attrs.dtype == DType::bool_ && op[0].type.dtype != DType::bool_) return decline("bytes become booleans");
  const View x = op.dense(0);
  const auto from = static_cast<std::int64_t>(size_of(x.type.dtype)),
             to = static_cast<std::int64_t>(size_of(attrs.dtype));
  if (x.offset * from % to != 0) return decline("elements begin within one of the result");
  View out = dense_view(x.slot, op.result_type());
  out.offset = x.offset * from / to;
  op.set_view(std::move(out));
  return {};
}

}  // namespace reprise::native
