// Factorisations and solvers, on matrices in the last two axes. They run on the CPU whatever the device.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct TriangularAttrs {
  bool upper = false;
  bool operator==(const TriangularAttrs&) const = default;
};
inline constexpr Field kTriangularFields[] = {
    flag<&TriangularAttrs::upper>("upper", "read the upper triangle instead of the lower")};
inline constexpr Schema kTriangularSchema = schema<TriangularAttrs>(kTriangularFields);

Result<Types> infer_cholesky(const InferContext& context);
Result<Types> infer_solve(const InferContext& context);
Result<Types> infer_solve_triangular(const InferContext& context, const TriangularAttrs& attrs);
Result<Types> infer_qr(const InferContext& context);
Result<Types> infer_eigh(const InferContext& context);
Result<Types> infer_svd(const InferContext& context);
Result<Types> infer_lu(const InferContext& context);

namespace linalg {
inline constexpr DTypeSet kReal = set_of(DType::float32, DType::float64);
inline constexpr DTypeSet kRealOrComplex = set_of(DType::float32, DType::float64, DType::complex64);
inline constexpr std::string_view kA[] = {"a"};
inline constexpr std::string_view kABOperands[] = {"a", "b"};
inline constexpr Tolerance kTolerance{
    2048, 1e-5, "rounding grows with the size and the condition of the matrix; signs of factors are not unique"};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule,
                    std::span<const std::string_view> operands, std::uint8_t results, DTypeSet dtypes, InferFn infer,
                    const Schema* attrs = nullptr) {
  return {.name = name,
          .family = "linalg",
          .summary = summary,
          .rule = rule,
          .operands = operands,
          .attrs = attrs,
          .results = results,
          .dtypes = dtypes,
          .checked = 255,
          .infer = infer,
          .tolerance = kTolerance};
}
}  // namespace linalg

inline constexpr std::array kLinalgOps{
    linalg::row(
        "cholesky", "Lower triangular factor L of a = L * L^T.",
        "a is (..., n, n); only its lower triangle is read. A matrix that is not positive definite is an error of "
        "the run.",
        linalg::kA, 1, linalg::kReal, infer_plain<infer_cholesky>),
    linalg::row(
        "solve", "x with a * x = b.",
        "a is (..., n, n), b (..., n) or (..., n, k); x has the shape of b. A singular matrix is an error of the run.",
        linalg::kABOperands, 1, linalg::kReal, infer_plain<infer_solve>),
    linalg::row("solve_triangular", "x with a * x = b, a being triangular.",
                "As solve; reads only the named triangle. A zero on the diagonal is an error of the run.",
                linalg::kABOperands, 1, linalg::kReal, infer_as<TriangularAttrs, infer_solve_triangular>,
                &kTriangularSchema),
    linalg::row("qr", "Orthonormal Q and upper triangular R with a = Q * R.",
                "a is (..., m, n); Q is (..., m, k), R (..., k, n) with k = min(m, n). Signs are not normalised.",
                linalg::kA, 2, linalg::kReal, infer_plain<infer_qr>),
    linalg::row(
        "eigh", "Eigenvalues and eigenvectors of a symmetric or Hermitian matrix.",
        "a is (..., n, n); only its lower triangle is read. Eigenvalues (..., n), ascending, float32 for complex64; "
        "eigenvectors in the columns of (..., n, n).",
        linalg::kA, 2, linalg::kRealOrComplex, infer_plain<infer_eigh>),
    linalg::row("svd", "U, S and V^T with a = U * diag(S) * V^T.",
                "a is (..., m, n); U is (..., m, m), S (..., min(m, n)), descending, float32 for complex64, V^T "
                "(..., n, n).",
                linalg::kA, 3, linalg::kRealOrComplex, infer_plain<infer_svd>),
    linalg::row(
        "lu", "Permutation p, L and U with a = L[p] * U.",
        "a is (..., m, n); p is (..., m) uint32, L (..., m, k) with ones on the diagonal, U (..., k, n), k = min(m, "
        "n). A singular matrix has factors too.",
        linalg::kA, 3, linalg::kReal, infer_plain<infer_lu>),
};

}  // namespace reprise::ops
