#include "ops/fill/fill.hpp"

namespace reprise::ops {

Result<Types> infer_iota(const InferContext& context, const IotaAttrs& attrs) {
  if (attrs.axis >= 0) {
    REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, static_cast<int>(attrs.shape.size())));
    static_cast<void>(axis);
  }
  return Types{{attrs.dtype, attrs.shape}};
}

Result<Types> infer_eye(const InferContext&, const EyeAttrs& attrs) {
  return Types{{attrs.dtype, {attrs.rows, attrs.columns}}};
}

}  // namespace reprise::ops
