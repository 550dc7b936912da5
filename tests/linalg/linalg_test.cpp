// The examples of the op reference, known faults of other systems, and edges.
#include "ops/linalg/linalg.hpp"

#include "linalg/matrices.hpp"

namespace reprise::movement {
namespace {

std::vector<array> results(std::string_view name, const array& a) { return run_op(name, {}, {a}).value(); }

array solve(const array& a, const array& b) { return run_one("solve", {}, {a, b}); }
array solve_triangular(const array& a, const array& b, bool upper) {
  return run_one("solve_triangular", {{"upper", upper}}, {a, b});
}

TEST(Linalg, SpecExamples) {
  for (const DType d : {float32, float64}) {
    const auto square = [d](std::vector<double> v) { return make({2, 2}, v, d); };
    EXPECT_TRUE(equals(results("cholesky", square({4, 2, 2, 3}))[0], {2, 2}, {2, 0, 1, std::sqrt(2.0)}, 1e-6));
    EXPECT_TRUE(equals(solve(square({4, 2, 2, 3}), make({2}, {2, 1}, d)), {2}, {0.5, 0}, 1e-6));
    EXPECT_TRUE(equals(solve_triangular(square({2, 9, 1, 4}), make({2}, {2, 5}, d), false), {2}, {1, 1}, 1e-6));

    const auto qr = results("qr", make({3, 2}, {1, 2, 3, 4, 5, 6}, d));
    ASSERT_EQ(qr.size(), 2u);
    EXPECT_EQ(type_of(qr[0]), (TensorType{d, {3, 2}}));
    const double sign = elements(qr[1])[0].re < 0 ? 1 : -1;
    EXPECT_NEAR(elements(qr[1])[0].re * sign, -5.91608, 1e-5);
    EXPECT_NEAR(elements(qr[1])[1].re * sign, -7.43736, 1e-5);
    EXPECT_NEAR(std::abs(elements(qr[1])[3].re), 0.82808, 1e-5);
    EXPECT_EQ(elements(qr[1])[2].re, 0);

    const auto eigh = results("eigh", square({2, 99, 1, 2}));
    EXPECT_TRUE(equals(eigh[0], {2}, {1, 3}, 1e-6));
    const double half = std::sqrt(0.5);
    for (const Num& v : elements(eigh[1])) EXPECT_NEAR(std::abs(v.re), half, 1e-6);

    const auto svd = results("svd", make({3, 2}, {3, 0, 0, 4, 0, 0}, d));
    EXPECT_TRUE(equals(svd[1], {2}, {4, 3}, 1e-6));
    EXPECT_EQ(type_of(svd[0]), (TensorType{d, {3, 3}}));
    EXPECT_NEAR(std::abs(elements(svd[2])[1].re), 1, 1e-6);

    const auto lu = results("lu", square({1, 2, 3, 4}));
    EXPECT_TRUE(equals(lu[0], {2}, {1, 0}));
    EXPECT_EQ(type_of(lu[0]).dtype, uint32);
    EXPECT_TRUE(equals(lu[1], {2, 2}, {1, 0, 1.0 / 3, 1}, 1e-6));
    EXPECT_TRUE(equals(lu[2], {2, 2}, {3, 4, 0, 2.0 / 3}, 1e-6));
  }
}

TEST(Linalg, OwnStream) {
  for (const DType d : {float32, float64, complex64}) {
    for (const Shape& shape : {Shape{2, 4, 4}, Shape{28, 16}, Shape{3, 0}}) {
      const TensorType a{d, shape};
      const bool square = shape[shape.size() - 1] == shape[shape.size() - 2];
      if (square) expect_own_stream("eigh", nullptr, {a});
      expect_own_stream("svd", nullptr, {a});
      if (is_complex(d)) continue;
      for (const char* name : {"qr", "lu"}) expect_own_stream(name, nullptr, {a});
      if (!square) continue;
      expect_own_stream("cholesky", nullptr, {a});
      const ops::TriangularAttrs upper{true};
      for (const Shape& b : {Shape{2, 4}, Shape{2, 4, 3}}) {
        expect_own_stream("solve", nullptr, {a, {float32, b}});
        expect_own_stream("solve_triangular", &upper, {a, {float64, b}});
      }
    }
  }
}

TEST(Linalg, B76_LuOfSingularMatrices) {
  for (const DType d : {float32, float64}) {
    for (const std::vector<double>& v : {std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}, std::vector<double>(9, 0),
                                         std::vector<double>{0, 1, 2, 0, 3, 4, 0, 5, 6}, std::vector<double>(9, 1)}) {
      const array a = make({3, 3}, v, d);
      const auto lu = results("lu", a);
      const Matrix wanted = matrices(a)[0], product = matrices(lu[1])[0] * matrices(lu[2])[0];
      const auto p = vectors(lu[0])[0];
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const auto row = static_cast<std::int64_t>(p[static_cast<std::size_t>(i)].real());
          EXPECT_NEAR(product(row, j).real(), wanted(i, j).real(), 1e-5);
        }
      }
      const bool counted = v[0] == 1;  // to nine
      EXPECT_TRUE(!counted || std::abs(matrices(lu[2])[0](2, 2)) < 1e-5);
    }
  }
}

TEST(Linalg, B77_EighReadsTheLowerTriangle) {
  const auto one = results("eigh", make({2, 2}, {1, 99, 2, 1}));
  EXPECT_TRUE(equals(one[0], {2}, {-1, 3}, 1e-6));
  EXPECT_TRUE(equals(results("eigh", make({2, 2}, {1, kNaN, 2, 1}))[0], {2}, {-1, 3}, 1e-6));
  EXPECT_TRUE(equals(results("eigh", make({2, 2}, {1, 99, 0, 1}, complex64, {5, 7, 2, 0}))[0], {2}, {-1, 3}, 1e-6));
  const auto none = results("eigh", make({0, 0}, {}));
  EXPECT_TRUE(equals(none[0], {0}, {}));
  EXPECT_TRUE(equals(none[1], {0, 0}, {}));
}

TEST(Linalg, B79_BatchesOfSingleElements) {
  for (const DType d : {float32, float64, complex64}) {
    const array a = make({2, 1, 1}, {2, 5}, d);
    const auto eigh = results("eigh", a);
    EXPECT_TRUE(equals(eigh[0], {2, 1}, {2, 5}));
    const auto svd = results("svd", a);
    EXPECT_TRUE(equals(svd[1], {2, 1}, {2, 5}, 1e-6));
    for (const array& v : {eigh[1], svd[0], svd[2]}) {
      EXPECT_EQ(type_of(v), (TensorType{d, {2, 1, 1}}));
      for (const Num& n : elements(v)) EXPECT_NEAR(std::hypot(n.re, n.im), 1, 1e-6);
    }
    if (is_complex(d)) continue;
    EXPECT_TRUE(equals(solve(a, make({2, 1}, {4, 5}, d)), {2, 1}, {2, 1}));
    EXPECT_TRUE(equals(results("cholesky", make({2, 1, 1}, {4, 9}, d))[0], {2, 1, 1}, {2, 3}));
    EXPECT_TRUE(equals(results("lu", a)[2], {2, 1, 1}, {2, 5}));
  }
}

TEST(Linalg, B80_VectorsInBatches) {
  const array a = make({2, 2, 2}, {2, 0, 1, 1, 1, 0, 3, 2}), b = make({2, 2}, {2, 3, 4, 16});
  EXPECT_TRUE(equals(solve_triangular(a, b, false), {2, 2}, {1, 2, 4, 2}));
  EXPECT_TRUE(equals(solve(a, b), {2, 2}, {1, 2, 4, 2}, 1e-6));
}

TEST(Linalg, B81_WiderThanTall) {
  const array a = make({2, 2}, {1, 0, 2, 1}), b = make({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(equals(solve_triangular(a, b, false), {2, 3}, {1, 2, 3, 2, 1, 0}));
  EXPECT_TRUE(equals(solve(a, b), {2, 3}, {1, 2, 3, 2, 1, 0}, 1e-6));
}

TEST(Linalg, B83_TransposedV) {
  const array a = make({2, 2}, {0, 2, 1, 0});
  const auto svd = results("svd", a);
  EXPECT_TRUE(equals(svd[1], {2}, {2, 1}, 1e-6));
  const Matrix back = matrices(svd[0])[0] * diagonal({2, 1}) * matrices(svd[2])[0];
  EXPECT_LT(greatest(back - matrices(a)[0]), 1e-6);
}

// The pseudo-inverse as a front end writes it, singular values below a limit left out.
TEST(Linalg, B84_PseudoInverseOfASingularMatrix) {
  const auto svd = results("svd", make({2, 2}, {4, 1, 4, 1}));
  std::vector<Complex> inverse;
  const auto sizes = vectors(svd[1])[0];
  for (const Complex& s : sizes) inverse.push_back(s.real() > 1e-5 ? 1.0 / s : 0.0);
  const Matrix pseudo = adjoint(matrices(svd[2])[0]) * diagonal(inverse) * adjoint(matrices(svd[0])[0]);
  const double wanted[] = {2.0 / 17, 2.0 / 17, 1.0 / 34, 1.0 / 34};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(pseudo.data[k].real(), wanted[k], 1e-6);
}

TEST(Linalg, Empty) {
  for (const DType d : {float32, float64}) {
    for (const Shape& batch : {Shape{}, Shape{3}, Shape{0}}) {
      const auto with = [&](std::initializer_list<std::int64_t> rest) {
        Shape s = batch;
        s.insert(s.end(), rest);
        return s;
      };
      const auto ones = [&](const Shape& s) {
        return make(s, std::vector<double>(static_cast<std::size_t>(count(s)), 1), d);
      };
      EXPECT_TRUE(equals(results("cholesky", ones(with({0, 0})))[0], with({0, 0}), {}));
      EXPECT_TRUE(equals(solve(ones(with({0, 0})), ones(with({0}))), with({0}), {}));
      EXPECT_TRUE(equals(solve(ones(with({0, 0})), ones(with({0, 2}))), with({0, 2}), {}));
      EXPECT_TRUE(equals(solve_triangular(ones(with({0, 0})), ones(with({0})), true), with({0}), {}));
      EXPECT_TRUE(equals(results("eigh", ones(with({0, 0})))[0], with({0}), {}));
      const auto qr = results("qr", ones(with({3, 0})));
      EXPECT_TRUE(equals(qr[0], with({3, 0}), {}));
      EXPECT_TRUE(equals(qr[1], with({0, 0}), {}));
      for (const bool tall : {true, false}) {
        const auto svd = results("svd", ones(tall ? with({2, 0}) : with({0, 2})));
        EXPECT_TRUE(equals(svd[1], with({0}), {}));
        for (const Matrix& u : matrices(svd[tall ? 0 : 2])) EXPECT_EQ(skew(u), 0);
      }
      const auto lu = results("lu", ones(with({2, 0})));
      EXPECT_EQ(type_of(lu[1]).shape, with({2, 0}));
      for (const auto& p : vectors(lu[0])) EXPECT_EQ(p, (std::vector<Complex>{0, 1}));
    }
    // No matrices at all.
    EXPECT_TRUE(equals(results("cholesky", make({0, 2, 2}, {}, d))[0], {0, 2, 2}, {}));
    EXPECT_TRUE(equals(solve(make({0, 2, 2}, {}, d), make({0, 2}, {}, d)), {0, 2}, {}));
    EXPECT_EQ(type_of(results("svd", make({0, 2, 3}, {}, d))[2]).shape, (Shape{0, 3, 3}));
    EXPECT_EQ(type_of(results("lu", make({0, 2, 3}, {}, d))[0]).shape, (Shape{0, 2}));
    EXPECT_TRUE(equals(solve(make({2, 2}, {1, 0, 0, 1}, d), make({2, 0}, {}, d)), {2, 0}, {}));
  }
}

TEST(Linalg, SolvePromotes) {
  EXPECT_EQ(type_of(solve(make({1, 1}, {2}), make({1}, {4}, float64))), (TensorType{float64, {1}}));
  EXPECT_EQ(type_of(solve(make({1, 1}, {2}, float64), make({1}, {4}))), (TensorType{float64, {1}}));
}

TEST(Linalg, Refuses) {
  EXPECT_NE(error_of("cholesky", {}, {make({2, 3}, std::vector<double>(6, 1))}).find("wanted square matrices"),
            std::string::npos);
  for (const char* name : {"cholesky", "qr", "lu", "eigh", "svd"}) {
    EXPECT_NE(error_of(name, {}, {make({2}, {1, 2})}).find("a is f32[2]"), std::string::npos) << name;
    EXPECT_NE(error_of(name, {}, {make({1, 1}, {1}, float16)}).find("float16"), std::string::npos) << name;
    EXPECT_NE(error_of(name, {}, {make({1, 1}, {1}, int32)}).find("int32"), std::string::npos) << name;
  }
  EXPECT_NE(error_of("solve", {}, {make({2, 2}, {1, 0, 0, 1}), make({3}, {1, 2, 3})}).find("b is f32[3]"),
            std::string::npos);
}

// Only the named triangle is read.
TEST(Linalg, OtherTrianglesAreNotRead) {
  for (const DType d : {float32, float64}) {
    const array lower = make({2, 2}, {2, kNaN, 1, 4}, d), upper = make({2, 2}, {2, 1, kNaN, 4}, d);
    EXPECT_TRUE(equals(solve_triangular(lower, make({2}, {2, 5}, d), false), {2}, {1, 1}));
    EXPECT_TRUE(equals(solve_triangular(upper, make({2}, {3, 4}, d), true), {2}, {1, 1}));
    EXPECT_TRUE(equals(results("cholesky", make({2, 2}, {4, kNaN, 2, 10}, d))[0], {2, 2}, {2, 0, 1, 3}, 1e-6));
  }
}

}  // namespace
}  // namespace reprise::movement
