#include "ops/control/control.hpp"

namespace reprise::ops {

Result<Types> infer_control(const InferContext& context) {
  return make_error(ErrorCode::internal, "{} has no inference rule of its own", context.op.name);
}

}  // namespace reprise::ops
