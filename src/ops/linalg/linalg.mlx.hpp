// MLX lowerings of the family linalg. All run on the CPU.
#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/linalg/linalg.hpp"

namespace reprise::mlx_backend {

array lower_cholesky(const LowerContext& context);
array lower_solve(const LowerContext& context);
array lower_solve_triangular(const LowerContext& context, const ops::TriangularAttrs& attrs);
std::vector<array> lower_qr(const LowerContext& context);
std::vector<array> lower_eigh(const LowerContext& context);
std::vector<array> lower_svd(const LowerContext& context);
std::vector<array> lower_lu(const LowerContext& context);

inline constexpr std::array kLinalgLowerings{
    lowering<lower_cholesky>("cholesky"),
    lowering<lower_solve>("solve"),
    lowering<ops::TriangularAttrs, lower_solve_triangular>("solve_triangular"),
    lowering<lower_qr>("qr"),
    lowering<lower_eigh>("eigh"),
    lowering<lower_svd>("svd"),
    lowering<lower_lu>("lu"),
};

}  // namespace reprise::mlx_backend
