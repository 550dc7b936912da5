// Small pieces that the lowerings of several families share.
#pragma once

#include "backends/mlx/lowering.hpp"

namespace reprise::mlx_backend {

/// The conversion of the cast family's row: floats truncate toward zero and saturate, NaN becomes 0, bool is x != 0,
/// complex numbers keep their real part.
array convert(const array& x, mx::Dtype dtype, mx::Stream stream);

/// x != 0 as bool: NaN is true, -0.0 is false, either part of a complex number counts.
array is_nonzero(const array& x, mx::Stream stream);

/// Zeros of result i's type.
array zeros_of(const LowerContext& context, std::size_t i = 0);

inline bool on_cpu(const LowerContext& context) { return context.stream.device == mx::Device::cpu; }

}  // namespace reprise::mlx_backend
