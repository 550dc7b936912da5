#include "ops/unary/unary.mlx.hpp"

#include <limits>
#include <type_traits>

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"
#include "ops/unary/special.mlx.hpp"

namespace reprise::mlx_backend {
namespace {

DType dtype_of(const LowerContext& context) { return from_mlx(context[0].dtype()); }
bool is_inexact(DType d) { return is_floating(d) || is_complex(d); }

// |x| of complex numbers without overflow on the way. MLX's own does not compile once it is fused on CUDA.
array modulus(const array& x, mx::Stream s) {
  const Term a = magnitude({mx::real(x, s), s});
  const Term b = magnitude({mx::imag(x, s), s});
  const Term large = a.apply(mx::maximum, b);
  const Term ratio = a.apply(mx::minimum, b) / large;
  const Term size = select(large == 0.0, large, large * (ratio * ratio + 1.0).apply(mx::sqrt));
  const double infinity = std::numeric_limits<double>::infinity();
  return select((a == infinity).apply(mx::logical_or, b == infinity), a.constant(infinity), size);
}

Term term(const array& x, const LowerContext& context) { return {x, context.stream}; }
Term operand(const LowerContext& context) { return term(context[0], context); }
Term real_part(const LowerContext& context) { return term(mx::real(context[0], context.stream), context); }
Term imaginary_part(const LowerContext& context) { return term(mx::imag(context[0], context.stream), context); }

array join(const Term& real, const Term& imaginary) { return make_complex(real, imaginary, real.stream()); }
array nowhere(const LowerContext& context) { return mx::zeros(context.shape(), mx::bool_, context.stream); }

// A function of the result's floating dtype, or what MLX has for complex numbers.
template <Term (*Real)(const Term&), auto Complex = nullptr>
array lower_real_or(const LowerContext& context) {
  if constexpr (!std::is_null_pointer_v<decltype(Complex)>) {
    if (context.dtype() == mx::complex64) return Complex(context[0], context.stream);
  }
  return Real(operand(context).astype(context.dtype()));
}

}  // namespace

array lower_abs(const LowerContext& context) {
  const auto k = kind(dtype_of(context));
  // MLX refuses unsigned integers in some versions.
  if (k == DTypeKind::boolean || k == DTypeKind::unsigned_integer) return context[0];
  if (k == DTypeKind::complex && !on_cpu(context)) return modulus(context[0], context.stream);
  if (k != DTypeKind::signed_integer) return mx::abs(context[0], context.stream);
  // The least integer has no magnitude of its dtype: unsigned arithmetic wraps where C++'s abs is undefined.
  const Term x = operand(context);
  const Term bits = x.view(unsigned_like(x.dtype()));
  const Term sign = (x >> static_cast<std::int64_t>(8 * x.dtype().size() - 1)).view(bits.dtype());
  return ((bits ^ sign) - sign).view(x.dtype());
}

array lower_ceil(const LowerContext& context) {
  return is_floating(dtype_of(context)) ? mx::ceil(context[0], context.stream) : context[0];
}

array lower_floor(const LowerContext& context) {
  return is_floating(dtype_of(context)) ? mx::floor(context[0], context.stream) : context[0];
}

array lower_round(const LowerContext& context) {
  if (is_complex(dtype_of(context))) return join(round_of(real_part(context)), round_of(imaginary_part(context)));
  return is_floating(dtype_of(context)) ? round_of(operand(context)).value() : context[0];
}

array lower_negate(const LowerContext& context) { return mx::negative(context[0], context.stream); }

array lower_sign(const LowerContext& context) {
  const Term x = operand(context);
  if (is_complex(dtype_of(context))) {
    // Scaled first, since the magnitude may overflow or vanish.
    const Term real = real_part(context);
    const Term imaginary = imaginary_part(context);
    const Term size = magnitude(real).apply(&mx::maximum, magnitude(imaginary));
    const Term scale = select(size == 0.0, size.constant(1.0), size);
    const Term a = real / scale;
    const Term b = imaginary / scale;
    const Term sum = a * a + b * b;
    const Term norm = select(size == 0.0, size.constant(1.0), sum.apply(&mx::sqrt));
    return join(a / norm, b / norm);
  }
  const Term sign = x.apply(&mx::sign);
  return is_floating(dtype_of(context)) ? select(is_nan(x), x, sign) : sign;
}

array lower_real(const LowerContext& context) { return mx::real(context[0], context.stream); }

array lower_imag(const LowerContext& context) {
  if (is_complex(dtype_of(context))) return mx::imag(context[0], context.stream);
  return mx::zeros(context.shape(), context.dtype(), context.stream);
}

array lower_conjugate(const LowerContext& context) { return mx::conjugate(context[0], context.stream); }

array lower_is_nan(const LowerContext& context) {
  return is_inexact(dtype_of(context)) ? is_nan(operand(context)).value() : nowhere(context);
}

array lower_is_infinity(const LowerContext& context) {
  if (!is_inexact(dtype_of(context))) return nowhere(context);
  const auto infinite = [](const Term& x) {
    return magnitude(x) == x.constant(std::numeric_limits<double>::infinity());
  };
  if (!is_complex(dtype_of(context))) return infinite(operand(context));
  return infinite(real_part(context)) | infinite(imaginary_part(context));
}

array lower_bitwise_not(const LowerContext& context) { return mx::bitwise_invert(context[0], context.stream); }

array lower_logical_not(const LowerContext& context) {
  return mx::equal(context[0], scalar(0, context[0].dtype()), context.stream);
}

array lower_sigmoid(const LowerContext& context) { return lower_real_or<sigmoid_of>(context); }
array lower_exp(const LowerContext& context) { return lower_real_or<exp_of, &mx::exp>(context); }
array lower_sin(const LowerContext& context) { return lower_real_or<sin_of, &mx::sin>(context); }
array lower_cos(const LowerContext& context) { return lower_real_or<cos_of, &mx::cos>(context); }
array lower_erf(const LowerContext& context) { return lower_real_or<erf_of>(context); }
array lower_erf_inv(const LowerContext& context) { return lower_real_or<erf_inv_of>(context); }
array lower_erfc(const LowerContext& context) { return lower_real_or<erfc_of>(context); }
array lower_cbrt(const LowerContext& context) { return lower_real_or<cbrt_of>(context); }

}  // namespace reprise::mlx_backend
