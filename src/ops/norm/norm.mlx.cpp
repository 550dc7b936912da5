#include "ops/norm/norm.mlx.hpp"

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"
#include "ops/unary/special.mlx.hpp"

namespace reprise::mlx_backend {
namespace {

// MLX normalises in float32 whatever the dtype; double precision has to be spelled out.
array normalise_double(const LowerContext& context, double eps, bool centre) {
  const mx::Stream s = context.stream;
  array x = mx::astype(context[0], mx::float64, s);
  if (centre) x = mx::subtract(x, mx::mean(x, -1, true, s), s);
  const array square = mx::mean(mx::square(x, s), -1, true, s);
  array out = mx::multiply(x, mx::rsqrt(mx::add(square, scalar(eps, mx::float64), s), s), s);
  out = mx::multiply(out, mx::astype(context[1], mx::float64, s), s);
  if (context.size() > 2) out = mx::add(out, mx::astype(context[2], mx::float64, s), s);
  return out;
}

}  // namespace

array lower_rms_norm(const LowerContext& context, const ops::EpsAttrs& attrs) {
  // MLX's mean over an axis without elements reads past the plan of the reduction, and may never come back.
  if (context[0].size() == 0) return zeros_of(context);
  if (context.dtype() == mx::float64) return normalise_double(context, attrs.eps, false);
  return mx::fast::rms_norm(context[0], context[1], static_cast<float>(attrs.eps), context.stream);
}

array lower_layer_norm(const LowerContext& context, const ops::EpsAttrs& attrs) {
  if (context[0].size() == 0) return zeros_of(context);
  if (context.dtype() == mx::float64) return normalise_double(context, attrs.eps, true);
  std::optional<array> bias;
  if (context.size() > 2) bias = context[2];
  const array out = mx::fast::layer_norm(context[0], context[1], bias, static_cast<float>(attrs.eps), context.stream);
  return mx::astype(out, context.dtype(), context.stream);
}

array lower_swiglu(const LowerContext& context) {
  const mx::Stream s = context.stream;
  // Half types are computed in float32: one rounding instead of three, and their own exponential would overflow for
  // gates below -11.
  const Term gate = widen(Term(mx::astype(context[0], context.dtype(), s), s));
  const Term up = widen(Term(mx::astype(context[1], context.dtype(), s), s));
  return (gate * sigmoid_of(gate) * up).astype(context.dtype());
}

}  // namespace reprise::mlx_backend
