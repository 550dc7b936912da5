#include "ops/linalg/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace reprise::mlx_backend {
namespace {

// x -= sum of row[j] * b[j, :] over j in [first, last), four rows of b at a time: x stays in registers meanwhile.
template <typename T>
void subtract_rows(double* x, const T* row, const double* b, std::size_t k, std::size_t first, std::size_t last) {
  std::size_t j = first;
  for (; j + 4 <= last; j += 4) {
    const double r0 = row[j], r1 = row[j + 1], r2 = row[j + 2], r3 = row[j + 3];
    const double* b0 = b + j * k;
    const double* b1 = b0 + k;
    const double* b2 = b1 + k;
    const double* b3 = b2 + k;
    for (std::size_t c = 0; c < k; ++c) x[c] -= r0 * b0[c] + r1 * b1[c] + r2 * b2[c] + r3 * b3[c];
  }
  for (; j < last; ++j) {
    const double r = row[j];
    for (std::size_t c = 0; c < k; ++c) x[c] -= r * b[j * k + c];
  }
}

using Complex = std::complex<double>;

// A complex matrix by columns.
struct Columns {
  std::size_t rows = 0;
  std::size_t count = 0;
  std::vector<Complex> data;

  Columns(std::size_t m, std::size_t n) : rows(m), count(n), data(m * n) {}
  Complex* operator[](std::size_t j) { return data.data() + j * rows; }
  const Complex* operator[](std::size_t j) const { return data.data() + j * rows; }
};

Complex inner(const Complex* x, const Complex* y, std::size_t n) {
  Complex sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::conj(x[i]) * y[i];
  return sum;
}

double norm(const Complex* x, std::size_t n) { return std::sqrt(std::max(0.0, inner(x, x, n).real())); }

// Columns x and y to c x - conj(s) y and s x + c y.
void rotate(Complex* x, Complex* y, std::size_t n, double c, Complex s) {
  for (std::size_t i = 0; i < n; ++i) {
    const Complex a = x[i];
    x[i] = c * a - std::conj(s) * y[i];
    y[i] = s * a + c * y[i];
  }
}

// One-sided Jacobi: rotations from the right until the columns are orthogonal; v collects the rotations.
void orthogonalise(Columns& a, Columns& v) {
  constexpr int kMostSweeps = 60;  // about ten are needed
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool rotated = false;
    for (std::size_t p = 0; p + 1 < a.count; ++p) {
      for (std::size_t q = p + 1; q < a.count; ++q) {
        const double pp = inner(a[p], a[p], a.rows).real();
        const double qq = inner(a[q], a[q], a.rows).real();
        const Complex pq = inner(a[p], a[q], a.rows);
        const double size = std::abs(pq);
        if (size == 0 || size <= kEpsilon * std::sqrt(pp) * std::sqrt(qq)) continue;
        rotated = true;
        const double zeta = (qq - pp) / (2 * size);
        const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double c = 1 / std::sqrt(1 + t * t);
        const Complex s = c * t * (pq / size);
        rotate(a[p], a[q], a.rows, c, s);
        rotate(v[p], v[q], v.rows, c, s);
      }
    }
    if (!rotated) return;
  }
}

// Makes the columns from `done` on orthonormal to those before, which are orthonormal.
void complete(Columns& u, std::size_t done) {
  std::vector<double> outside(u.rows, 1.0);  // of each unit vector: the square of its distance from the columns' space
  const auto account = [&](const Complex* x) {
    for (std::size_t i = 0; i < u.rows; ++i) outside[i] -= std::norm(x[i]);
  };
  for (std::size_t j = 0; j < done; ++j) account(u[j]);
  for (; done < u.count; ++done) {
    Complex* x = u[done];
    x[std::max_element(outside.begin(), outside.end()) - outside.begin()] = 1;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::size_t j = 0; j < done; ++j) {
        const Complex along = inner(u[j], x, u.rows);
        for (std::size_t i = 0; i < u.rows; ++i) x[i] -= along * u[j][i];
      }
    }
    const double left = norm(x, u.rows);
    for (std::size_t i = 0; i < u.rows; ++i) x[i] /= left;
    account(x);
  }
}

}  // namespace

template <typename T>
bool substitute(const T* a, std::size_t n, double* b, std::size_t k, bool upper, bool unit) {
  bool regular = true;
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = upper ? n - 1 - step : step;
    const T* row = a + i * n;
    double* x = b + i * k;
    subtract_rows(x, row, b, k, upper ? i + 1 : 0, upper ? n : i);
    if (unit) continue;
    const double d = row[i];
    regular = regular && d != 0;
    for (std::size_t c = 0; c < k; ++c) x[c] /= d;
  }
  return regular;
}

template bool substitute<float>(const float*, std::size_t, double*, std::size_t, bool, bool);
template bool substitute<double>(const double*, std::size_t, double*, std::size_t, bool, bool);

void complex_svd(const std::complex<float>* a, std::size_t m, std::size_t n, std::complex<float>* u, float* s,
                 std::complex<float>* vh) {
  // Of a or, when it is wide, of its conjugate transpose: the tall one has no more columns than rows.
  const bool wide = m < n;
  const std::size_t rows = std::max(m, n);
  const std::size_t columns = std::min(m, n);
  Columns work(rows, columns), right(columns, columns);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Complex x = a[i * n + j];
      wide ? work[i][j] = std::conj(x) : work[j][i] = x;
    }
  }
  for (std::size_t j = 0; j < columns; ++j) right[j][j] = 1;
  orthogonalise(work, right);

  std::vector<double> sizes(columns);
  for (std::size_t j = 0; j < columns; ++j) sizes[j] = norm(work[j], rows);
  std::vector<std::size_t> order(columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return sizes[x] > sizes[y]; });

  Columns left(rows, rows), sorted(columns, columns);
  // Columns below this are rounding errors, whose directions mean nothing.
  const double least = sizes[order[0]] * static_cast<double>(rows) * std::numeric_limits<double>::epsilon();
  std::size_t done = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t from = order[j];
    s[j] = static_cast<float>(sizes[from]);
    std::copy_n(right[from], columns, sorted[j]);
    if (sizes[from] <= least) continue;
    for (std::size_t i = 0; i < rows; ++i) left[j][i] = work[from][i] / sizes[from];
    done = j + 1;
  }
  complete(left, done);

  // work = left * s * sorted^H; of the transpose the sides change places.
  const Columns& of_u = wide ? sorted : left;
  const Columns& of_v = wide ? left : sorted;
  const auto single = [](Complex z) {
    return std::complex<float>(static_cast<float>(z.real()), static_cast<float>(z.imag()));
  };
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) u[i * m + j] = single(of_u[j][i]);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) vh[j * n + i] = single(std::conj(of_v[j][i]));
  }
}

}  // namespace reprise::mlx_backend
