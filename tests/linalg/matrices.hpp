// Small dense matrices of complex numbers in double, for residuals.
#pragma once

#include <complex>
#include <vector>

#include "run_op.hpp"

namespace reprise::movement {

using Complex = std::complex<double>;

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Complex> data;

  Matrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), data(static_cast<std::size_t>(m * n)) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i * columns + j)]; }
  Complex operator()(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * columns + j)]; }
};

Matrix operator*(const Matrix& a, const Matrix& b);
Matrix operator-(const Matrix& a, const Matrix& b);
Matrix adjoint(const Matrix& a);
Matrix identity(std::int64_t n);
/// The columns, or rows, before `end`.
Matrix first_columns(const Matrix& a, std::int64_t end);
Matrix first_rows(const Matrix& a, std::int64_t end);
/// `values` on the diagonal of an n by n matrix.
Matrix diagonal(const std::vector<Complex>& values);
/// The greatest absolute element; NaN when there is one.
double greatest(const Matrix& a);
/// How far the columns are from orthonormal.
double skew(const Matrix& q);

/// The matrices in the last two axes, whatever the layout.
std::vector<Matrix> matrices(const array& x);
/// The vectors in the last axis.
std::vector<std::vector<Complex>> vectors(const array& x);

/// Uniform pseudo-random elements in (-1, 1), rounded to `d`.
array random(const Shape& shape, DType d, unsigned seed);
/// As random, but equal to its own adjoint, or that plus n times the identity: then positive definite.
array random_hermitian(Shape batch, std::int64_t n, DType d, unsigned seed, bool positive = false);

/// The epsilon of the dtype.
double epsilon(DType d);

}  // namespace reprise::movement
