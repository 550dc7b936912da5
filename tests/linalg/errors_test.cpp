// Values that an op must refuse end their run with an error; the next run goes on as if nothing had been.
#include <unistd.h>

#include <fstream>
#include <thread>

#include "linalg/matrices.hpp"

namespace reprise::movement {
namespace {

const array& regular() {
  static const array a = make({2, 2}, {4, 2, 2, 3});
  return a;
}
const array& singular() {
  static const array a = make({2, 2}, {1, 2, 2, 4});
  return a;
}

Executable program(const std::function<Builder::Values(Builder&)>& write) {
  Builder b;
  const Builder::Values outputs = write(b);
  return compile(b.build(outputs).value()).value();
}

void expect_error(const Result<std::vector<array>>& out, std::string_view text) {
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::runtime);
  EXPECT_NE(out.error().message().find(text), std::string::npos) << out.error().message();
}

TEST(LinalgErrors, B73_SingularMatrices) {
  const Executable solve = program([](Builder& b) {
    const Value a = b.input(), x = b.input();
    return b.ops("solve", {a + a, x});
  });
  const array b = make({2}, {1, 1});
  for (int again = 0; again < 20; ++again) {
    expect_error(solve.run({singular(), b}), "run: instruction 1 (solve): a is singular");
    EXPECT_TRUE(equals(solve.run({regular(), b}).value()[0], {2}, {0.0625, 0.125}, 1e-6));
  }
  for (const DType d : {float32, float64}) {
    expect_error(run_op("solve", {}, {make({2, 2}, {0, 0, 0, 0}, d), make({2}, {0, 0}, d)}), "a is singular");
    for (const bool upper : {false, true}) {
      expect_error(
          run_op("solve_triangular", {{"upper", upper}}, {make({2, 2}, {1, 2, 2, 0}, d), make({2}, {1, 1}, d)}),
          "run: instruction 0 (solve_triangular): a is singular");
    }
    // One of several.
    expect_error(run_op("solve", {}, {make({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4}, d), make({2, 2}, {1, 1, 1, 1}, d)}),
                 "a is singular");
  }
}

TEST(LinalgErrors, CholeskyOfOtherMatrices) {
  for (const DType d : {float32, float64}) {
    for (const std::vector<double>& v :
         {std::vector<double>{1, 2, 2, 1}, {0, 0, 0, 0}, {-1, 0, 0, 1}, {1, 1, 1, 1}, {1, 0, 0, -1}}) {
      expect_error(run_op("cholesky", {}, {make({2, 2}, v, d)}),
                   "run: instruction 0 (cholesky): a is not positive definite");
    }
    for (const std::vector<double>& v :
         {std::vector<double>{kNaN, 0, 0, 1}, {1, 0, kNaN, 1}, {1, 0, 0, kNaN}, {kInfinity, 0, 0, 1}}) {
      expect_error(run_op("cholesky", {}, {make({2, 2}, v, d)}), "(cholesky): a ");
    }
    EXPECT_TRUE(equals(run_one("cholesky", {}, {make({1, 1}, {9}, d)}), {1, 1}, {3}));
    // A negative pivot at every place of a matrix that LAPACK cuts into blocks.
    constexpr std::int64_t kN = 150;
    for (std::int64_t at = 0; at < kN; ++at) {
      std::vector<double> v(kN * kN, 0);
      for (std::int64_t i = 0; i < kN; ++i) v[static_cast<std::size_t>(i * kN + i)] = i == at ? -1 : 1;
      expect_error(run_op("cholesky", {}, {make({kN, kN}, v, d)}), "a is not positive definite");
    }
  }
}

TEST(LinalgErrors, B107_NotFinite) {
  const Executable svd = program([](Builder& b) {
    const Value a = b.input();
    Builder::Values out = b.ops("svd", {a});
    out.push_back(a + a);
    return out;
  });
  const array bad = make({2, 2}, {1, kNaN, 0, 1});
  for (int again = 0; again < 5; ++again) {
    expect_error(svd.run({bad}), "run: instruction 0 (svd): a has elements that are not finite");
    const auto good = svd.run({make({2, 2}, {0, 2, 1, 0})}).value();
    EXPECT_TRUE(equals(good[1], {2}, {2, 1}, 1e-6));
    EXPECT_TRUE(equals(good[3], {2, 2}, {0, 4, 2, 0}));
  }
  for (const DType d : {float32, float64, complex64}) {
    for (const double v : {kNaN, kInfinity, -kInfinity}) {
      for (const char* name : {"eigh", "svd"}) {
        expect_error(run_op(name, {}, {make({2, 2}, {1, 0, v, 1}, d)}), "not finite");
        expect_error(run_op(name, {}, {make({1, 1}, {v}, d)}), "not finite");
      }
    }
  }
}

// NaN goes through the ops that need no decision on it, and only through the matrices that have it.
TEST(LinalgErrors, NanGoesThrough) {
  for (const DType d : {float32, float64}) {
    for (std::size_t at = 0; at < 9; ++at) {
      std::vector<double> v{4, 1, 2, 1, 5, 3, 2, 3, 6, 4, 1, 2, 1, 5, 3, 2, 3, 6};
      v[at] = kNaN;
      const array a = make({2, 3, 3}, v, d);
      const auto lu = run_op("lu", {}, {a}).value();
      EXPECT_TRUE(std::isnan(greatest(matrices(lu[2])[0])));
      EXPECT_FALSE(std::isnan(greatest(matrices(lu[2])[1])));
      for (const auto& p : vectors(lu[0])) {
        for (const Complex& row : p) EXPECT_LT(row.real(), 3);
      }
      const auto x = vectors(run_one("solve", {}, {a, make({2, 3}, {1, 2, 3, 1, 2, 3}, d)}));
      EXPECT_TRUE(std::isnan(x[0][0].real()));
      EXPECT_FALSE(std::isnan(x[1][0].real()));
      const auto xs = matrices(run_one("solve", {}, {a, make({2, 3, 1}, {1, 2, 3, 1, 2, 3}, d)}));
      EXPECT_TRUE(std::isnan(greatest(xs[0])));
      EXPECT_FALSE(std::isnan(greatest(xs[1])));
      EXPECT_TRUE(std::isnan(greatest(matrices(run_op("qr", {}, {a}).value()[1])[0])));
    }
    const array b = make({2}, {kNaN, 1}, d);
    EXPECT_TRUE(std::isnan(elements(run_one("solve", {}, {make({2, 2}, {1, 0, 0, 1}, d), b}))[0].re));
  }
}

TEST(LinalgErrors, ConstantMatrices) {
  const Executable solve = program([](Builder& b) {
    const Value a = b.capture(singular());
    return b.ops("solve", {a, b.capture(make({2}, {1, 1}))});
  });
  for (int again = 0; again < 3; ++again) expect_error(solve.run({}), "(solve): a is singular");
}

TEST(LinalgErrors, UnusedResultsAreNotAskedFor) {
  const Executable none = program([](Builder& b) {
    const Value a = b.input();
    b.ops("cholesky", {a});
    return Builder::Values{a + a};
  });
  EXPECT_TRUE(none.run({singular()}).ok());
  const Executable other = program([](Builder& b) {
    const Value a = b.input();
    return Builder::Values{b.ops("svd", {a})[1]};
  });
  expect_error(other.run({make({1, 1}, {kNaN})}), "not finite");
}

// The matrix loses its regularity in the fourth turn.
TEST(LinalgErrors, InLoops) {
  for (const bool in_cond : {false, true}) {
    const Executable loop = program([in_cond](Builder& b) {
      const Value a = b.input(), n = b.input();
      const auto first = [](Builder& in, const Value& solved) { return in.sum(solved, {0}); };
      return b.while_loop(
          {n, a, b.capture(make({1}, {1}))},
          [&](Builder& in, std::span<const Value> c) {
            const Value go = c[0] < in.constant(6);
            if (!in_cond) return go;
            const Value x = in.op("solve", {c[1], c[2]});
            return in.logical_and(go, first(in, x) < in.constant(1e9f));
          },
          [&](Builder& in, std::span<const Value> c) {
            const Value x = in_cond ? c[2] : in.op("solve", {c[1], c[2]});
            return Builder::Values{c[0] + in.constant(1), c[1] - in.constant(1.0f), x};
          });
    });
    for (int again = 0; again < 3; ++again) {
      expect_error(loop.run({make({1, 1}, {3}), make({}, {0}, int32)}), "(solve): a is singular");
      EXPECT_TRUE(equals(loop.run({make({1, 1}, {9}), make({}, {0}, int32)}).value()[1], {1, 1}, {3}));
    }
  }
}

TEST(LinalgErrors, B74_ManyThreads) {
  const Executable solve = program([](Builder& b) {
    const Value a = b.input(), x = b.input();
    return b.ops("solve", {a, x});
  });
  const Executable sum = program([](Builder& b) {
    const Value a = b.input();
    return Builder::Values{b.sum(a * a, {0, 1})};
  });
  const array b = make({2}, {2, 1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if ((i + t) % 2 == 0) {
          const auto out = solve.run({singular(), b});
          EXPECT_FALSE(out.ok());
        } else {
          EXPECT_TRUE(equals(solve.run({regular(), b}).value()[0], {2}, {0.5, 0}, 1e-6));
        }
        EXPECT_TRUE(equals(sum.run({regular()}).value()[0], {}, {33}));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// Pages of this process in memory.
std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Graphs of operations with several results hold each other: about a kilobyte each if nobody lets them go.
TEST(LinalgErrors, B104_CompilingLeaksNothing) {
  for (const char* name : {"qr", "svd", "eigh", "lu"}) {
    const array a = random({64, 64}, float32, 3);
    std::int64_t warm = 0;
    for (int i = 0; i < 1200; ++i) {
      const Executable one = program([&](Builder& b) { return b.ops(name, {b.input()}); });
      const TensorType type[] = {{float32, {64, 64}}};
      ASSERT_TRUE(one.specialise(type).ok());
      if (i % 100 == 0) {
        ASSERT_TRUE(one.run({a}).ok());
      }
      if (i == 200) warm = resident_bytes();
    }
    EXPECT_LT(resident_bytes() - warm, 512 << 10) << name;
  }
}

}  // namespace
}  // namespace reprise::movement
