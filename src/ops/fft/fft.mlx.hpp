// MLX lowerings of the family fft.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/fft/fft.hpp"

namespace reprise::mlx_backend {

array lower_fft(const LowerContext& context, const ops::FftAttrs& attrs);
array lower_ifft(const LowerContext& context, const ops::FftAttrs& attrs);
array lower_fft2(const LowerContext& context, const ops::Fft2Attrs& attrs);
array lower_ifft2(const LowerContext& context, const ops::Fft2Attrs& attrs);

inline constexpr std::array kFftLowerings{
    lowering<ops::FftAttrs, lower_fft>("fft"),
    lowering<ops::FftAttrs, lower_ifft>("ifft"),
    lowering<ops::Fft2Attrs, lower_fft2>("fft2"),
    lowering<ops::Fft2Attrs, lower_ifft2>("ifft2"),
};

}  // namespace reprise::mlx_backend
