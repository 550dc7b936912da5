// Plain C++ for what LAPACK as MLX has it does not give: triangular systems without inverses and without exceptions,
// and singular values of complex matrices of every shape. Matrices are row-major; sums are in double.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise::mlx_backend {

/// Replaces b (n rows of k) by x with a * x = b. `a` has n rows of n, of which one triangle is read; `unit` takes its
/// diagonal as ones. False when there is a zero on the diagonal; x has infinities and NaN then.
template <typename T>
bool substitute(const T* a, std::size_t n, double* b, std::size_t k, bool upper, bool unit);

/// Singular values of `a`, m rows of n, in descending order, with u (m rows of m) and v^H (n rows of n).
void complex_svd(const std::complex<float>* a, std::size_t m, std::size_t n, std::complex<float>* u, float* s,
                 std::complex<float>* vh);

}  // namespace reprise::mlx_backend
