// Functions that MLX lacks, or computes on the CPU in float32 only or with too few correct digits.
#pragma once

#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {

// x is float16, bfloat16, float32 or float64 and keeps its dtype; half types are computed in float32.
Term exp_of(const Term& x);
Term sigmoid_of(const Term& x);
Term sin_of(const Term& x);
Term cos_of(const Term& x);
Term erf_of(const Term& x);
Term erfc_of(const Term& x);
Term erf_inv_of(const Term& x);
Term cbrt_of(const Term& x);
Term round_of(const Term& x);  ///< ties away from zero

}  // namespace reprise::mlx_backend
