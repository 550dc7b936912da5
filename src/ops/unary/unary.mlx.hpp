// Lowerings of the element-wise functions of one operand.
#pragma once

#include <array>

#include "backends/mlx/convert.hpp"

namespace reprise::mlx_backend {

array lower_abs(const LowerContext& context);
array lower_ceil(const LowerContext& context);
array lower_floor(const LowerContext& context);
array lower_round(const LowerContext& context);
array lower_negate(const LowerContext& context);
array lower_sign(const LowerContext& context);
array lower_real(const LowerContext& context);
array lower_imag(const LowerContext& context);
array lower_conjugate(const LowerContext& context);
array lower_is_nan(const LowerContext& context);
array lower_is_infinity(const LowerContext& context);
array lower_bitwise_not(const LowerContext& context);
array lower_logical_not(const LowerContext& context);
array lower_sigmoid(const LowerContext& context);
array lower_exp(const LowerContext& context);
array lower_sin(const LowerContext& context);
array lower_cos(const LowerContext& context);
array lower_erf(const LowerContext& context);
array lower_erf_inv(const LowerContext& context);
array lower_erfc(const LowerContext& context);
array lower_cbrt(const LowerContext& context);

/// A function that MLX computes well in all dtypes of the row.
template <array (*Function)(const array&, mx::StreamOrDevice)>
array lower_function(const LowerContext& context) {
  return Function(mx::astype(context[0], context.dtype(), context.stream), context.stream);
}

/// One of complex numbers that MLX computes on the CPU only; memory is shared, so a GPU's program goes on with it.
template <array (*Function)(const array&, mx::StreamOrDevice)>
array lower_cpu_function(const LowerContext& context) {
  if (!is_complex(from_mlx(context.dtype())) || on_cpu(context)) return lower_function<Function>(context);
  return Function(context[0], mx::default_stream(mx::Device::cpu));
}

inline constexpr std::array kUnaryLowerings{
    lowering<lower_abs>("abs"),
    lowering<lower_ceil>("ceil"),
    lowering<lower_floor>("floor"),
    lowering<lower_round>("round"),
    lowering<lower_negate>("negate"),
    lowering<lower_sign>("sign"),
    lowering<lower_real>("real"),
    lowering<lower_imag>("imag"),
    lowering<lower_conjugate>("conjugate"),
    lowering<lower_is_nan>("is_nan"),
    lowering<lower_is_infinity>("is_infinity"),
    lowering<lower_bitwise_not>("bitwise_not"),
    lowering<lower_logical_not>("logical_not"),
    lowering<lower_sigmoid>("sigmoid"),
    lowering<lower_function<&mx::sqrt>>("sqrt"),
    lowering<lower_function<&mx::rsqrt>>("rsqrt"),
    lowering<lower_exp>("exp"),
    lowering<lower_function<&mx::expm1>>("expm1"),
    lowering<lower_function<&mx::log>>("log"),
    lowering<lower_function<&mx::log1p>>("log1p"),
    lowering<lower_sin>("sin"),
    lowering<lower_cos>("cos"),
    lowering<lower_function<&mx::tan>>("tan"),
    lowering<lower_function<&mx::arcsin>>("asin"),
    lowering<lower_function<&mx::arccos>>("acos"),
    lowering<lower_function<&mx::arctan>>("atan"),
    lowering<lower_function<&mx::sinh>>("sinh"),
    lowering<lower_function<&mx::cosh>>("cosh"),
    lowering<lower_function<&mx::tanh>>("tanh"),
    lowering<lower_cpu_function<&mx::arcsinh>>("asinh"),
    lowering<lower_cpu_function<&mx::arccosh>>("acosh"),
    lowering<lower_cpu_function<&mx::arctanh>>("atanh"),
    lowering<lower_erf>("erf"),
    lowering<lower_erf_inv>("erf_inv"),
    lowering<lower_erfc>("erfc"),
    lowering<lower_cbrt>("cbrt"),
};

}  // namespace reprise::mlx_backend
