#include "ops/cast/cast.hpp"

namespace reprise::ops {

Result<Types> infer_astype(const InferContext& context, const DTypeAttrs& attrs) {
  return Types{{attrs.dtype, context[0].shape}};
}

Result<Types> infer_bitcast(const InferContext& context, const DTypeAttrs& attrs) {
  const auto from = static_cast<std::int64_t>(size_of(context[0].dtype));
  const auto to = static_cast<std::int64_t>(size_of(attrs.dtype));
  TensorType out{attrs.dtype, context[0].shape};
  if (from == to) return Types{out};
  if (out.shape.empty()) {
    return context.error("x is {}; a scalar can only be read as a dtype of {} bytes, {} has {}", to_string(context[0]),
                         from, name(attrs.dtype), to);
  }
  if (from > to) {
    if (__builtin_mul_overflow(out.shape.back(), from / to, &out.shape.back())) {
      return context.error("x is {}: its last axis overflows as {}", to_string(context[0]), name(attrs.dtype));
    }
    return Types{out};
  }
  const std::int64_t ratio = to / from;
  if (out.shape.back() % ratio != 0) {
    return context.error("x is {}: its last axis has {} elements; wanted a multiple of {} to read them as {}",
                         to_string(context[0]), out.shape.back(), ratio, name(attrs.dtype));
  }
  out.shape.back() /= ratio;
  return Types{out};
}

}  // namespace reprise::ops
