// Residuals of random factorisations, in every layout.
#include "linalg/matrices.hpp"

namespace reprise::movement {
namespace {

constexpr unsigned kSeed = 4711;

std::vector<array> results(std::string_view name, const array& a) { return run_op(name, {}, {a}).value(); }

// What rounding of one factorisation of k by k elements of size 1 may cost.
double bound(DType d, std::int64_t k) { return 16 * epsilon(d) * static_cast<double>(k + 1); }

struct Size {
  Shape shape;
  std::int64_t rows() const { return shape[shape.size() - 2]; }
  std::int64_t columns() const { return shape.back(); }
  std::int64_t most() const { return std::max(rows(), columns()); }
  std::int64_t least() const { return std::min(rows(), columns()); }
};

const Size kSizes[] = {{{1, 1}},       {{2, 2}},    {{3, 2}},   {{2, 3}},   {{5, 5}},   {{4, 2, 2}},
                       {{2, 3, 4, 3}}, {{7, 1, 3}}, {{33, 17}}, {{17, 33}}, {{28, 16}}, {{16, 28}},
                       {{20, 16}},     {{64, 64}},  {{1, 9}},   {{9, 1}},   {{40, 12}}, {{2, 12, 19}}};

TEST(Factors, Qr) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const DType d : {float32, float64}) {
    for (const Size& size : kSizes) {
      const array dense = random(size.shape, d, kSeed);
      const auto wanted = matrices(dense);
      for (const array& a : layouts(dense)) {
        const auto qr = results("qr", a);
        const auto q = matrices(qr[0]), r = matrices(qr[1]);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_LT(greatest(q[i] * r[i] - wanted[i]), bound(d, size.most())) << to_string(size.shape);
          EXPECT_LT(skew(q[i]), bound(d, size.most()));
          for (std::int64_t row = 0; row < r[i].rows; ++row) {
            for (std::int64_t c = 0; c < row; ++c) EXPECT_EQ(r[i](row, c), 0.0);
          }
        }
      }
    }
  }
}

TEST(Factors, Svd) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const DType d : {float32, float64, complex64}) {
    for (const Size& size : kSizes) {
      const array dense = random(size.shape, d, kSeed + 1);
      const auto wanted = matrices(dense);
      for (const array& a : layouts(dense)) {
        const auto svd = results("svd", a);
        const auto u = matrices(svd[0]), vt = matrices(svd[2]);
        const auto s = vectors(svd[1]);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const Matrix back = first_columns(u[i], size.least()) * diagonal(s[i]) * first_rows(vt[i], size.least());
          EXPECT_LT(greatest(back - wanted[i]), bound(d, size.most())) << to_string(size.shape);
          EXPECT_LT(skew(u[i]), bound(d, size.most())) << to_string(size.shape);
          EXPECT_LT(skew(adjoint(vt[i])), bound(d, size.most())) << to_string(size.shape);
          for (std::size_t k = 0; k < s[i].size(); ++k) {
            EXPECT_GE(s[i][k].real(), 0);
            EXPECT_LE(s[i][k].real(), s[i][k == 0 ? 0 : k - 1].real());
          }
        }
      }
    }
  }
}

TEST(Factors, SvdOfDeficientMatrices) {
  for (const DType d : {float32, float64, complex64}) {
    for (const Size& size : {Size{{12, 7}}, Size{{7, 12}}, Size{{28, 16}}, Size{{5, 5}}}) {
      for (const int rank : {0, 1, 3}) {
        const array left = random({size.rows(), std::max(rank, 1)}, d, 5);
        const array right = random({std::max(rank, 1), size.columns()}, d, 6);
        Matrix product = matrices(left)[0] * matrices(right)[0];
        std::vector<double> re, im;
        for (const Complex& z : product.data) {
          re.push_back(rank == 0 ? 0 : z.real());
          im.push_back(rank == 0 ? 0 : z.imag());
        }
        const array a = make(size.shape, re, d, im);
        const auto svd = results("svd", a);
        const Matrix u = matrices(svd[0])[0], vt = matrices(svd[2])[0];
        const auto s = vectors(svd[1])[0];
        for (std::size_t k = static_cast<std::size_t>(rank); k < s.size(); ++k) EXPECT_LT(s[k].real(), 64 * epsilon(d));
        EXPECT_LT(skew(u), bound(d, size.most())) << to_string(size.shape) << " rank " << rank;
        EXPECT_LT(skew(adjoint(vt)), bound(d, size.most()));
        const Matrix back = first_columns(u, size.least()) * diagonal(s) * first_rows(vt, size.least());
        EXPECT_LT(greatest(back - matrices(a)[0]), 4 * bound(d, size.most()));
      }
    }
  }
}

TEST(Factors, Eigh) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const DType d : {float32, float64, complex64}) {
    for (const auto& [batch, n] : std::vector<std::pair<Shape, std::int64_t>>{
             {{}, 1}, {{}, 2}, {{3}, 3}, {{2, 2}, 4}, {{}, 17}, {{}, 64}, {{5}, 1}}) {
      const array dense = random_hermitian(batch, n, d, kSeed + 2);
      const auto wanted = matrices(dense);
      for (const array& a : layouts(dense)) {
        const auto eigh = results("eigh", a);
        const auto w = vectors(eigh[0]);
        const auto v = matrices(eigh[1]);
        EXPECT_EQ(type_of(eigh[0]).dtype, d == float64 ? float64 : float32);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_LT(greatest(wanted[i] * v[i] - v[i] * diagonal(w[i])), bound(d, n)) << name(d) << n;
          EXPECT_LT(skew(v[i]), bound(d, n));
          for (std::size_t k = 1; k < w[i].size(); ++k) EXPECT_GE(w[i][k].real(), w[i][k - 1].real());
        }
      }
    }
  }
}

TEST(Factors, Cholesky) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const DType d : {float32, float64}) {
    for (const auto& [batch, n] :
         std::vector<std::pair<Shape, std::int64_t>>{{{}, 1}, {{}, 2}, {{3}, 3}, {{2, 2}, 4}, {{}, 100}, {{}, 257}}) {
      const array dense = random_hermitian(batch, n, d, kSeed + 3, true);
      const auto wanted = matrices(dense);
      for (const array& a : layouts(dense)) {
        const auto l = matrices(results("cholesky", a)[0]);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_LT(greatest(l[i] * adjoint(l[i]) - wanted[i]), bound(d, n) * static_cast<double>(n));
          for (std::int64_t row = 0; row < n; ++row) {
            for (std::int64_t c = row + 1; c < n; ++c) EXPECT_EQ(l[i](row, c), 0.0);
          }
        }
        if (n > 50) break;
      }
    }
  }
}

TEST(Factors, Lu) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const DType d : {float32, float64}) {
    for (const Size& size : kSizes) {
      const array dense = random(size.shape, d, kSeed + 4);
      const auto wanted = matrices(dense);
      for (const array& a : layouts(dense)) {
        const auto lu = results("lu", a);
        const auto p = vectors(lu[0]);
        const auto l = matrices(lu[1]), u = matrices(lu[2]);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const Matrix product = l[i] * u[i];
          Matrix back(size.rows(), size.columns());
          for (std::int64_t row = 0; row < size.rows(); ++row) {
            const auto from = static_cast<std::int64_t>(p[i][static_cast<std::size_t>(row)].real());
            for (std::int64_t c = 0; c < size.columns(); ++c) back(row, c) = product(from, c);
          }
          EXPECT_LT(greatest(back - wanted[i]), bound(d, size.most())) << to_string(size.shape);
          EXPECT_LE(greatest(l[i]), 1.0);  // the pivots are the greatest
          for (std::int64_t k = 0; k < size.least(); ++k) EXPECT_EQ(l[i](k, k), 1.0);
        }
      }
    }
  }
}

TEST(Factors, Solve) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const DType d : {float32, float64}) {
    for (const auto& [batch, n] :
         std::vector<std::pair<Shape, std::int64_t>>{{{}, 1}, {{}, 2}, {{3}, 3}, {{2, 2}, 5}, {{}, 64}, {{}, 130}}) {
      Shape square = batch, one = batch, many = batch;
      square.insert(square.end(), {n, n});
      one.push_back(n);
      many.insert(many.end(), {n, 3});
      const array a = random(square, d, kSeed + 5);
      const auto as = layouts(a);
      for (const Shape& shape : {one, many}) {
        const auto bs = layouts(random(shape, d, kSeed + 6));
        const array as_columns = shape == one ? mx::expand_dims(bs[0], -1, mx::Device::cpu) : bs[0];
        const auto wanted = matrices(as_columns);
        for (std::size_t layout = 0; layout < as.size(); ++layout) {
          for (const int triangle : {-1, 0, 1}) {  // general, lower, upper
            const std::string_view name = triangle < 0 ? "solve" : "solve_triangular";
            const Builder::Attrs attrs = triangle < 0 ? Builder::Attrs{} : Builder::Attrs{{"upper", triangle == 1}};
            // Random triangles are hopelessly conditioned; a heavy diagonal mends that.
            array given = as[layout];
            if (triangle >= 0) given = random_hermitian(batch, n, d, kSeed + 7, true);
            const array x = run_one(name, attrs, {given, bs[layout]});
            EXPECT_EQ(type_of(x), (TensorType{d, shape}));
            auto left = matrices(given);
            const auto found = matrices(shape == one ? mx::expand_dims(x, -1, mx::Device::cpu) : x);
            for (std::size_t i = 0; i < wanted.size(); ++i) {
              for (std::int64_t row = 0; row < n && triangle >= 0; ++row) {
                for (std::int64_t c = 0; c < n; ++c) {
                  if (triangle == 0 ? c > row : c < row) left[i](row, c) = 0;
                }
              }
              EXPECT_LT(greatest(left[i] * found[i] - wanted[i]), bound(d, n) * (1 + greatest(found[i])))
                  << name << " " << to_string(square);
            }
          }
        }
      }
    }
  }
}

// Explicit inverses would lose all digits here; substitution keeps the residual small.
TEST(Factors, SolveOfAnIllConditionedMatrix) {
  std::vector<double> hilbert;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) hilbert.push_back(1.0 / (i + j + 1));
  }
  const array a = make({8, 8}, hilbert), b = make({8, 1}, std::vector<double>(8, 1));
  const Matrix x = matrices(run_one("solve", {}, {a, b}))[0];
  EXPECT_LT(greatest(matrices(a)[0] * x - matrices(b)[0]), 16 * epsilon(float32) * greatest(x));
}

// LAPACK's iterations overflow there and end without result.
TEST(Factors, NearTheGreatestNumbers) {
  for (const DType d : {float32, float64, complex64}) {
    const array up = make({}, {std::ldexp(1.0, d == float64 ? 1019 : 123)}, d);
    const array down = make({}, {std::ldexp(1.0, d == float64 ? -1019 : -123)}, is_complex(d) ? float32 : d);
    for (const std::int64_t n : {2, 4, 7}) {
      for (unsigned seed = kSeed; seed < kSeed + 5; ++seed) {
        const array a = random_hermitian({2}, n, d, seed);
        const array large = mx::multiply(a, up, mx::Device::cpu);
        for (const auto& [op, at] : {std::pair{"eigh", 0u}, std::pair{"svd", 1u}}) {
          const auto wanted = vectors(results(op, a)[at]);
          const auto seen = vectors(mx::multiply(results(op, large)[at], down, mx::Device::cpu));
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            for (std::size_t k = 0; k < wanted[i].size(); ++k) {
              EXPECT_LT(std::abs(seen[i][k] - wanted[i][k]), bound(d, n)) << op << " of " << n << ", " << name(d);
            }
          }
        }
      }
    }
  }
  // As the fuzzer found it: alone at 3.4e38.
  std::vector<double> re(16, 0), im(16, 0);
  re[4] = -0.0, im[4] = 65536, re[8] = 1.5, im[8] = -3.75, re[9] = 65536, im[9] = -0.5, re[12] = 16777216;
  im[12] = -3.4e38, re[13] = -3.75, im[13] = -2.75, re[14] = -1.5, im[14] = -1.5;
  re[0] = -1.25, re[10] = 2.75, re[15] = -0.75;
  const auto values = vectors(results("eigh", make({4, 4}, re, complex64, im))[0])[0];
  EXPECT_NEAR(values[0].real() / 3.4e38, -1, 1e-6);
  EXPECT_NEAR(values[3].real() / 3.4e38, 1, 1e-6);
}

}  // namespace
}  // namespace reprise::movement
