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
inline constexpr Operand kSquare[] = {{"a", "(..., n, n)"}};
inline constexpr Operand kMatrix[] = {{"a", "(..., m, n)"}};
inline constexpr Operand kSystem[] = {{"a", "(..., n, n)"}, {"b", "(..., n) or (..., n, k)"}};
inline constexpr Tolerance kTolerance{
    2048, 1e-5, "rounding grows with the size and the condition of the matrix; signs of factors are not unique"};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view result, std::string_view rule,
                    std::string_view errors, std::span<const Operand> operands, std::uint8_t results, DTypeSet dtypes,
                    InferFn infer, const Schema* attrs = nullptr) {
  return {.name = name,
          .family = "linalg",
          .summary = summary,
          .result = result,
          .rule = rule,
          .errors = errors,
          .operands = operands,
          .attrs = attrs,
          .results = results,
          .dtypes = dtypes,
          .infer = infer,
          .tolerance = kTolerance};
}
}  // namespace linalg

inline constexpr std::array kLinalgOps{
    linalg::row(
        "cholesky", "Lower triangular factor L of a = L * L^T.", "L: shape and dtype of a.",
        "Only the lower triangle of a is read; the upper one of L is 0.",
        "Matrices that are not square. Errors of the run: a matrix that is not positive definite, or not finite.",
        linalg::kSquare, 1, linalg::kReal, infer_plain<infer_cholesky>),
    linalg::row("solve", "x with a * x = b.", "x: shape of b; promoted dtype.",
                "A b of one axis less than a holds one right side for each matrix, else its columns are right sides.",
                "Matrices that are not square; a b that does not fit a. Errors of the run: a singular matrix.",
                linalg::kSystem, 1, linalg::kReal, infer_plain<infer_solve>),
    linalg::row("solve_triangular", "x with a * x = b, a being triangular.", "x: shape of b; promoted dtype.",
                "As solve; reads only the named triangle.",
                "Matrices that are not square; a b that does not fit a. Errors of the run: a zero on the diagonal.",
                linalg::kSystem, 1, linalg::kReal, infer_as<TriangularAttrs, infer_solve_triangular>,
                &kTriangularSchema),
    linalg::row("qr", "Orthonormal Q and upper triangular R with a = Q * R.",
                "Q: (..., m, k), R: (..., k, n), k = min(m, n); dtype of a.", "Reduced. Signs are not normalised.",
                "A rank below 2.", linalg::kMatrix, 2, linalg::kReal, infer_plain<infer_qr>),
    linalg::row("eigh", "Eigenvalues and eigenvectors of a symmetric or Hermitian matrix.",
                "Eigenvalues: (..., n), dtype of a, but float32 for complex64. Eigenvectors: shape and dtype of a.",
                "Only the lower triangle is read. Eigenvalues ascend; the columns of the second result are their "
                "eigenvectors, whose signs (phases) are not normalised.",
                "Matrices that are not square. Errors of the run: a matrix that is not finite.", linalg::kSquare, 2,
                linalg::kRealOrComplex, infer_plain<infer_eigh>),
    linalg::row("svd", "U, S and V^T with a = U * diag(S) * V^T.",
                "U: (..., m, m), S: (..., min(m, n)), V^T: (..., n, n); dtype of a, but S is float32 for complex64.",
                "Full matrices. Singular values descend. Signs are not normalised.",
                "A rank below 2. Errors of the run: a matrix that is not finite.", linalg::kMatrix, 3,
                linalg::kRealOrComplex, infer_plain<infer_svd>),
    linalg::row("lu", "Permutation p, L and U with a = L[p] * U.",
                "p: (..., m) uint32, L: (..., m, k), U: (..., k, n), k = min(m, n); dtype of a.",
                "L has ones on the diagonal. A singular matrix has factors too.", "A rank below 2.", linalg::kMatrix, 3,
                linalg::kReal, infer_plain<infer_lu>),
};

}  // namespace reprise::ops
