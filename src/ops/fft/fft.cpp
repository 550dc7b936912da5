#include "ops/fft/fft.hpp"

namespace reprise::ops {

Result<Types> infer_fft(const InferContext& context, const FftAttrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 1));
  REPRISE_ASSIGN(const auto axis, context.axis("axis", attrs.axis, context[0].rank()));
  TensorType out{DType::complex64, context[0].shape};
  out.shape[axis] = attrs.length;
  return Types{std::move(out)};
}

Result<Types> infer_fft2(const InferContext& context, const Fft2Attrs& attrs) {
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(0, 2));
  REPRISE_ASSIGN(const auto axes, context.axes("axis0 and axis1", {attrs.axis0, attrs.axis1}, context[0].rank()));
  TensorType out{DType::complex64, context[0].shape};
  out.shape[axes[0]] = attrs.length0;
  out.shape[axes[1]] = attrs.length1;
  return Types{std::move(out)};
}

}  // namespace reprise::ops
