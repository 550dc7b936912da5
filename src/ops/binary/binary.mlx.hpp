// Lowerings of the element-wise functions of two operands.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {

/// Of two terms of one dtype; NaN if either is, be it in one part of a complex number.
Term lesser(const Term& a, const Term& b);
Term greater(const Term& a, const Term& b);

array lower_add(const LowerContext& context);
array lower_subtract(const LowerContext& context);
array lower_multiply(const LowerContext& context);
array lower_divide(const LowerContext& context);
array lower_pow(const LowerContext& context);
array lower_atan2(const LowerContext& context);
array lower_min(const LowerContext& context);
array lower_max(const LowerContext& context);
array lower_quotient(const LowerContext& context);
array lower_remainder(const LowerContext& context);
array lower_left_shift(const LowerContext& context);
array lower_right_shift(const LowerContext& context);
array lower_bitwise_and(const LowerContext& context);
array lower_bitwise_or(const LowerContext& context);
array lower_bitwise_xor(const LowerContext& context);
array lower_equal(const LowerContext& context);
array lower_not_equal(const LowerContext& context);
array lower_less(const LowerContext& context);
array lower_less_equal(const LowerContext& context);
array lower_greater(const LowerContext& context);
array lower_greater_equal(const LowerContext& context);
array lower_logical_and(const LowerContext& context);
array lower_logical_or(const LowerContext& context);
array lower_logical_xor(const LowerContext& context);

inline constexpr std::array kBinaryLowerings{
    lowering<lower_add>("add"),
    lowering<lower_subtract>("subtract"),
    lowering<lower_multiply>("multiply"),
    lowering<lower_divide>("divide"),
    lowering<lower_pow>("pow"),
    lowering<lower_atan2>("atan2"),
    lowering<lower_min>("min"),
    lowering<lower_max>("max"),
    lowering<lower_quotient>("quotient"),
    lowering<lower_remainder>("remainder"),
    lowering<lower_left_shift>("left_shift"),
    lowering<lower_right_shift>("right_shift"),
    lowering<lower_bitwise_and>("bitwise_and"),
    lowering<lower_bitwise_or>("bitwise_or"),
    lowering<lower_bitwise_xor>("bitwise_xor"),
    lowering<lower_equal>("equal"),
    lowering<lower_not_equal>("not_equal"),
    lowering<lower_less>("less"),
    lowering<lower_less_equal>("less_equal"),
    lowering<lower_greater>("greater"),
    lowering<lower_greater_equal>("greater_equal"),
    lowering<lower_logical_and>("logical_and"),
    lowering<lower_logical_or>("logical_or"),
    lowering<lower_logical_xor>("logical_xor"),
};

}  // namespace reprise::mlx_backend
