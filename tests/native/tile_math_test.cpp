// The functions of float32, measured against the C library in double precision over every 997th bit pattern, or every
// REPRISE_TEST_FLOAT_STRIDEth: 1 leaves none out and takes minutes for each function.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "backends/native/isa.hpp"
#include "backends/native/kernels/tile.hpp"
#include "ops/registry.hpp"

namespace reprise::native {
namespace {

constexpr double kEpsilon = 0x1p-23;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double reciprocal_root(double x) { return 1 / std::sqrt(x); }

struct Function1 {
  const char* op;
  double (*judge)(double);
};
void PrintTo(const Function1& f, std::ostream* out) { *out << f.op; }

// The error in epsilons beyond what the row allows absolutely; infinite when one is NaN and the other is not.
double error_of(float got, double want, double absolute) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  }
  const auto nearest = static_cast<float>(want);
  if (got == nearest) return 0;
  if (std::isinf(got) != std::isinf(nearest)) {
    // About the greatest float either is right within the tolerance.
    const double finite = std::isinf(got) ? want : double{got};
    return std::abs(finite) > 3.4028e38 ? 1 : std::numeric_limits<double>::infinity();
  }
  const double off = std::max(0.0, std::abs(double{got} - want) - absolute);
  return off / (kEpsilon * std::abs(want));
}

struct Worst {
  double error = 0;
  float x = 0, y = 0, got = 0;

  void see(double e, float a, float b, float r) {
    if (e > error) *this = {e, a, b, r};
  }
};

class TileFunctions : public testing::TestWithParam<Function1> {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit().ok()); }
};

TEST_P(TileFunctions, AreWithinTheRowsTolerance) {
  const Function1& function = GetParam();
  const ops::Tolerance tolerance = ops::find_def(function.op)->tolerance;
  const TileFn kernel = tile_kernel(function.op, DType::float32);
  ASSERT_NE(kernel, nullptr);
  const char* asked = std::getenv("REPRISE_TEST_FLOAT_STRIDE");
  const std::uint64_t stride = asked ? std::max(1ULL, std::strtoull(asked, nullptr, 10)) : 997;
  constexpr std::size_t kRun = 4096;
  std::vector<float> x, r(kRun);
  Worst worst;
  const auto check = [&] {
    const void* in[] = {x.data()};
    kernel(in, r.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst.see(error_of(r[i], function.judge(x[i]), tolerance.absolute), x[i], 0, r[i]);
    }
    x.clear();
  };
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (x.size() == kRun) check();
  }
  const float special[] = {0.0F,
                           1.0F,
                           0.5F,
                           2.0F,
                           88.72F,
                           88.73F,
                           89.4F,
                           104.0F,
                           1e30F,
                           3.4e38F,
                           1e-40F,
                           1e6F,
                           1e7F,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  for (const float v : special) {
    for (const float s : {v, -v}) {
      for (const float t : {std::nextafter(s, -1e30F), s, std::nextafter(s, 1e30F)}) x.push_back(t);
    }
  }
  check();
  std::printf("at most %.2f epsilons, at %.9g\n", worst.error, worst.x);
  EXPECT_LE(worst.error, tolerance.epsilons)
      << function.op << "(" << worst.x << ") = " << worst.got << ", wanted " << function.judge(worst.x);
}

double erf_inv(double y) {
  if (std::abs(y) >= 1) return std::abs(y) == 1 ? std::copysign(HUGE_VAL, y) : NAN;
  if (std::isnan(y) || std::abs(y) < 1e-8) return y * 0.88622692545275801365;
  // Newton's iteration from the middle of an interval that holds it; erfc for the digits at the ends.
  const double a = std::abs(y);
  double low = 0, high = 6;
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle) > 1 - a ? low : high) = middle;
  }
  double x = (low + high) / 2;
  for (int i = 0; i < 4; ++i) {
    const double over = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    x -= over / (1.12837916709551257390 * std::exp(-x * x));
  }
  return std::copysign(x, y);
}

INSTANTIATE_TEST_SUITE_P(
    All, TileFunctions,
    testing::Values(Function1{"exp", std::exp}, Function1{"expm1", std::expm1}, Function1{"log", std::log},
                    Function1{"log1p", std::log1p}, Function1{"sigmoid", logistic}, Function1{"sqrt", std::sqrt},
                    Function1{"rsqrt", reciprocal_root}, Function1{"sin", std::sin}, Function1{"cos", std::cos},
                    Function1{"tan", std::tan}, Function1{"asin", std::asin}, Function1{"acos", std::acos},
                    Function1{"atan", std::atan}, Function1{"sinh", std::sinh}, Function1{"cosh", std::cosh},
                    Function1{"tanh", std::tanh}, Function1{"asinh", std::asinh}, Function1{"acosh", std::acosh},
                    Function1{"atanh", std::atanh}, Function1{"erf", std::erf}, Function1{"erfc", std::erfc},
                    Function1{"erf_inv", erf_inv}, Function1{"cbrt", std::cbrt}),
    [](const auto& one) { return std::string(one.param.op); });

// Numbers of all sizes, and the special ones.
std::vector<float> mixed(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> near(-4, 4);
  const float special[] = {0.0F,
                           -0.0F,
                           1.0F,
                           -1.0F,
                           2.0F,
                           -2.0F,
                           3.0F,
                           -3.0F,
                           0.5F,
                           -0.5F,
                           1e-40F,
                           -1e-40F,
                           1e38F,
                           -1e38F,
                           16777217.0F,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> out(n);
  for (float& x : out) {
    switch (random() % 4) {
      case 0: x = near(random); break;
      case 1: x = std::bit_cast<float>(static_cast<std::uint32_t>(random())); break;
      case 2: x = std::ldexp(near(random), static_cast<int>(random() % 41) - 20); break;
      default: x = special[random() % std::size(special)];
    }
  }
  return out;
}

struct Function2 {
  const char* op;
  double (*judge)(double, double);
};
void PrintTo(const Function2& f, std::ostream* out) { *out << f.op; }
double swiglu(double gate, double up) { return gate * logistic(gate) * up; }

class TileFunctionsOfTwo : public testing::TestWithParam<Function2> {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit().ok()); }
};

TEST_P(TileFunctionsOfTwo, AreWithinTheRowsTolerance) {
  const Function2& function = GetParam();
  const ops::Tolerance tolerance = ops::find_def(function.op)->tolerance;
  const TileFn kernel = tile_kernel(function.op, DType::float32);
  ASSERT_NE(kernel, nullptr);
  // The row of pow leaves room for complex numbers.
  const double allowed = function.op == std::string_view("pow") ? 2 : tolerance.epsilons;
  constexpr std::size_t kCount = 1 << 20;
  const std::vector<float> x = mixed(kCount, 1), y = mixed(kCount, 2);
  std::vector<float> r(kCount);
  const void* in[] = {x.data(), y.data()};
  kernel(in, r.data(), kCount);
  Worst worst;
  for (std::size_t i = 0; i < kCount; ++i) {
    // The first product may be subnormal or 0, which loses digits that a large second operand asks for.
    if (function.judge == swiglu && (x[i] < -87 || std::abs(x[i]) < 1e-30F)) continue;
    const double want = function.judge(x[i], y[i]);
    // The sign of a zero counts here, but where the absolute part covers it.
    const bool zeros = r[i] == 0 && want == 0 && function.op != std::string_view("fast_swiglu");
    if (zeros) {
      EXPECT_EQ(std::signbit(r[i]), std::signbit(want)) << function.op << " " << x[i] << " " << y[i];
    }
    worst.see(error_of(r[i], want, tolerance.absolute), x[i], y[i], r[i]);
  }
  EXPECT_LE(worst.error, allowed) << function.op << "(" << worst.x << ", " << worst.y << ") = " << worst.got
                                  << ", wanted " << function.judge(worst.x, worst.y);
}

INSTANTIATE_TEST_SUITE_P(All, TileFunctionsOfTwo,
                         testing::Values(Function2{"pow", std::pow}, Function2{"atan2", std::atan2},
                                         Function2{"remainder", std::fmod}, Function2{"fast_swiglu", swiglu}),
                         [](const auto& one) { return std::string(one.param.op); });

TEST(TileMath, OddFunctionsKeepTheSignOfZero) {
  for (const char* op : {"expm1", "log1p", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf",
                         "erf_inv", "cbrt", "sqrt", "ceil", "floor", "round"}) {
    const float x[] = {-0.0F, 0.0F};
    float r[2];
    const void* in[] = {x};
    tile_kernel(op, DType::float32)(in, r, 2);
    EXPECT_TRUE(r[0] == 0 && std::signbit(r[0])) << op;
    EXPECT_TRUE(r[1] == 0 && !std::signbit(r[1])) << op;
  }
}

TEST(TileMath, StaysWithinOne) {
  for (const char* op : {"tanh", "erf", "sin", "cos", "sigmoid"}) {
    std::vector<float> x, r(1 << 16);
    for (int i = 0; i < 1 << 16; ++i) x.push_back(static_cast<float>(i - (1 << 15)) * 3.1e-4F);
    const void* in[] = {x.data()};
    tile_kernel(op, DType::float32)(in, r.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(r[i]), 1) << op << " " << x[i];
  }
}

}  // namespace
}  // namespace reprise::native
