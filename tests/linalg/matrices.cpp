#include "linalg/matrices.hpp"

#include <algorithm>
#include <random>

namespace reprise::movement {

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      for (std::int64_t j = 0; j < b.columns; ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

Matrix operator-(const Matrix& a, const Matrix& b) {
  Matrix out = a;
  for (std::size_t k = 0; k < out.data.size(); ++k) out.data[k] -= b.data[k];
  return out;
}

Matrix adjoint(const Matrix& a) {
  Matrix out(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) out(j, i) = std::conj(a(i, j));
  }
  return out;
}

Matrix identity(std::int64_t n) { return diagonal(std::vector<Complex>(static_cast<std::size_t>(n), 1)); }

Matrix first_columns(const Matrix& a, std::int64_t end) {
  Matrix out(a.rows, end);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < end; ++j) out(i, j) = a(i, j);
  }
  return out;
}

Matrix first_rows(const Matrix& a, std::int64_t end) { return adjoint(first_columns(adjoint(a), end)); }

Matrix diagonal(const std::vector<Complex>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  Matrix out(n, n);
  for (std::int64_t i = 0; i < n; ++i) out(i, i) = values[static_cast<std::size_t>(i)];
  return out;
}

double greatest(const Matrix& a) {
  double most = 0;
  for (const Complex& z : a.data) {
    if (!(std::abs(z) <= most)) most = std::abs(z);
  }
  return most;
}

double skew(const Matrix& q) { return greatest(adjoint(q) * q - identity(q.columns)); }

std::vector<Matrix> matrices(const array& x) {
  const std::int64_t m = x.shape(-2), n = x.shape(-1);
  const auto all = elements(x);
  std::vector<Matrix> out;
  for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(m * n)) {
    Matrix& one = out.emplace_back(m, n);
    for (std::size_t k = 0; k < one.data.size(); ++k) one.data[k] = {all[at + k].re, all[at + k].im};
  }
  return out;
}

std::vector<std::vector<Complex>> vectors(const array& x) {
  const auto n = static_cast<std::size_t>(x.shape(-1));
  const auto all = elements(x);
  std::vector<std::vector<Complex>> out;
  for (std::size_t at = 0; at < all.size(); at += n) {
    auto& one = out.emplace_back();
    for (std::size_t k = 0; k < n; ++k) {
      const bool whole = is_integer(type_of(x).dtype);
      one.emplace_back(whole ? static_cast<double>(all[at + k].i) : all[at + k].re, all[at + k].im);
    }
  }
  return out;
}

array random(const Shape& shape, DType d, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> re, im;
  for (std::int64_t k = 0; k < count(shape); ++k) {
    re.push_back(uniform(engine));
    im.push_back(uniform(engine));
  }
  return make(shape, re, d, im);
}

array random_hermitian(Shape batch, std::int64_t n, DType d, unsigned seed, bool positive) {
  batch.insert(batch.end(), {n, n});
  std::vector<double> re, im;
  for (const Matrix& r : matrices(random(batch, d, seed))) {
    const Matrix sum = r - (Matrix(n, n) - adjoint(r));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        re.push_back(sum(i, j).real() / 2 + (positive && i == j ? static_cast<double>(n) : 0));
        im.push_back(sum(i, j).imag() / 2);
      }
    }
  }
  return make(batch, re, d, im);
}

double epsilon(DType d) { return d == float64 ? 0x1p-52 : 0x1p-23; }

}  // namespace reprise::movement
