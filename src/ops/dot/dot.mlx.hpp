// MLX lowerings of the family dot.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/dot/dot.hpp"

namespace reprise::mlx_backend {

array lower_dot(const LowerContext& context, const ops::DotAttrs& attrs);
array lower_quantized_matmul(const LowerContext& context, const ops::QuantizedMatmulAttrs& attrs);

/// The weights that packed codes stand for, as floats of `dtype`. `operands` are w, scales and, for affine, biases.
array unpack_weights(std::span<const array> operands, const ops::QuantizedMatmulAttrs& attrs, mx::Dtype dtype,
                     mx::Stream stream);

inline constexpr std::array kDotLowerings{
    lowering<ops::DotAttrs, lower_dot>("dot"),
    lowering<ops::QuantizedMatmulAttrs, lower_quantized_matmul>("quantized_matmul"),
};

}  // namespace reprise::mlx_backend
