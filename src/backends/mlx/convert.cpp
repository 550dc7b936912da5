#include "backends/mlx/convert.hpp"

#include <cmath>

#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {
namespace {

// float32 or float64 to an integer dtype. What MLX does outside the range is undefined.
Term saturate(const Term& x, mx::Dtype to) {
  const bool is_signed = kind(from_mlx(to)) == DTypeKind::signed_integer;
  const int digits = static_cast<int>(8 * to.size()) - (is_signed ? 1 : 0);
  // Powers of two, which unlike the greatest integer every float format has.
  const double least = is_signed ? -std::ldexp(1.0, digits) : 0.0;
  const double end = std::ldexp(1.0, digits);
  const Term held = greater_of(x, least);  // NaN stays
  const Term inside = held < end;
  const Term greatest{scalar(end, to), x.stream()};
  const Term nothing{scalar(0, to), x.stream()};
  return select(inside, select(inside, held, held.constant(0.0)).astype(to), select(is_nan(x), nothing, greatest));
}

}  // namespace

array convert(const array& x, mx::Dtype to, mx::Stream stream) {
  const DType from = from_mlx(x.dtype());
  const DType target = from_mlx(to);
  if (from == target) return x;
  if (target == DType::bool_) return is_nonzero(x, stream);
  if (is_complex(from)) return convert(mx::real(x, stream), to, stream);
  if (is_floating(from) && is_integer(target)) return saturate(widen(Term(x, stream)), to);
  return mx::astype(x, to, stream);
}

array is_nonzero(const array& x, mx::Stream stream) {
  return x.dtype() == mx::bool_ ? x : mx::not_equal(x, scalar(0, x.dtype()), stream);
}

array zeros_of(const LowerContext& context, std::size_t i) {
  return mx::full(context.shape(i), scalar(0, context.dtype(i)), context.dtype(i), context.stream);
}

}  // namespace reprise::mlx_backend
