// Reductions, softmax and transposed copies against plain loops, whatever the size, the layout and the threads.
#include <gtest/gtest.h>
#include <mlx/array.h>
#include <mlx/ops.h>

#include <cmath>
#include <cstring>
#include <random>

#include "backends/native/isa.hpp"
#include "backends/native/kernels/norm.hpp"
#include "backends/native/kernels/reduce_float.hpp"
#include "base/format.hpp"
#include "reprise/executable.hpp"
#include "reprise/text.hpp"

namespace reprise::native {
namespace {

class Reductions : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit().ok()); }

  std::vector<float> numbers(std::int64_t n) {
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> out(static_cast<std::size_t>(n));
    for (float& v : out) v = normal(random_);
    return out;
  }

  std::mt19937 random_{3};
};

struct Extents {
  std::int64_t outer, size, inner;
};
constexpr Extents kExtents[] = {{1, 1, 1},    {1, 63, 1},    {1, 64, 1}, {3, 65, 1},    {5, 127, 1}, {1, 128, 1},
                                {2, 1000, 1}, {1, 40000, 1}, {1, 7, 3},  {1, 8, 64},    {2, 9, 65},  {1, 300, 1500},
                                {4, 17, 5},   {1, 1024, 16}, {70, 3, 2}, {1, 2000, 300}};

TEST_F(Reductions, OfFloats) {
  for (const Extents& e : kExtents) {
    for (const bool nan : {false, true}) {
      std::vector<float> x = numbers(e.outer * e.size * e.inner);
      if (nan) x[x.size() / 2] = NAN;
      for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::max, ReduceKind::min}) {
        const ReduceKernel kernel = float_reduce_kernel(kind), plain = reduce_kernel(kind, DType::float32);
        std::vector<float> out(static_cast<std::size_t>(e.outer * e.inner)), again(out.size());
        std::vector<std::byte> scratch(static_cast<std::size_t>(8 * (e.size / kReduceChunk + 1)));
        const auto run = [&](const ReduceKernel& by, std::vector<float>& to, int threads) {
          reduce(by, reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<std::byte*>(to.data()), e.outer,
                 e.size, e.inner, sizeof(float), sizeof(float), scratch.data(), threads);
        };
        run(kernel, out, 1);
        for (const int threads : {1, 2, 8}) {
          run(threads == 1 ? plain : kernel, again, threads);
          for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_TRUE(out[i] == again[i] || (out[i] != out[i] && again[i] != again[i]))
                << e.outer << " x " << e.size << " x " << e.inner << ", " << threads << ": " << out[i] << ' '
                << again[i];
          }
        }
        for (std::int64_t o = 0; o < e.outer; ++o) {
          for (std::int64_t j = 0; j < e.inner; ++j) {
            double sum = 0, size = 0, extremum = kind == ReduceKind::max ? -INFINITY : INFINITY;
            for (std::int64_t i = 0; i < e.size; ++i) {
              const double v = x[static_cast<std::size_t>((o * e.size + i) * e.inner + j)];
              sum += v;
              size += std::fabs(v);
              if (v != v || (kind == ReduceKind::max ? v > extremum : v < extremum)) extremum = v;
            }
            const double seen = out[static_cast<std::size_t>(o * e.inner + j)];
            const auto where = fmt::format("{} x {} x {}: {}", e.outer, e.size, e.inner, o * e.inner + j);
            if (kind != ReduceKind::sum || sum != sum) {
              const double wanted = kind == ReduceKind::sum ? sum : extremum;
              ASSERT_TRUE(seen == wanted || (seen != seen && wanted != wanted))
                  << where << ": " << seen << ' ' << wanted;
            } else {
              ASSERT_NEAR(seen, sum, 1e-6 * size) << where;
            }
          }
        }
      }
    }
  }
}

TEST_F(Reductions, ArgmaxFindsTheFirst) {
  const ArgReduceKernel kernel = arg_reduce_kernel(true, DType::float32);
  for (const std::int64_t size : {1, 2, 63, 64, 65, 200}) {
    for (std::int64_t at = 0; at < size; at += 7) {
      std::vector<float> x(static_cast<std::size_t>(size), -1.0F);
      x[static_cast<std::size_t>(at)] = 3;
      x.back() = std::max(x.back(), 3.0F);
      std::uint32_t found = 0;
      kernel.rows(x.data(), &found, size, 1, 0, 1);
      ASSERT_EQ(found, at) << size;
      x.back() = NAN;
      kernel.rows(x.data(), &found, size, 1, 0, 1);
      ASSERT_EQ(found, size - 1);
    }
  }
}

TEST_F(Reductions, Softmax) {
  for (const std::int64_t width : {1, 3, 7, 8, 15, 16, 17, 31, 64, 100, 1000}) {
    constexpr std::int64_t kRows = 9;
    std::vector<float> x = numbers(kRows * width);
    for (std::int64_t i = 0; i < width; ++i) {
      x[static_cast<std::size_t>(width + i)] *= 30;                        // far apart
      x[static_cast<std::size_t>(2 * width + i)] = -INFINITY;              // NaN, as 0 / 0 is
      x[static_cast<std::size_t>(3 * width + i)] = i == 0 ? 95.0F : 0.0F;  // the others are subnormal
    }
    x[static_cast<std::size_t>(5 * width - 1)] = NAN;
    x[static_cast<std::size_t>(5 * width)] = -INFINITY;
    if (width == 1) x[static_cast<std::size_t>(5 * width)] = 0;
    std::vector<float> out(x.size()), again(x.size());
    softmax(x.data(), out.data(), kRows, width, 1);
    for (const int threads : {2, 8}) {
      softmax(x.data(), again.data(), kRows, width, threads);
      ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size() * sizeof(float)), 0);
    }
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* row = x.data() + r * width;
      double most = -INFINITY, sum = 0;
      for (std::int64_t i = 0; i < width; ++i) most = row[i] > most || row[i] != row[i] ? row[i] : most;
      for (std::int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(row[i] - static_cast<float>(most)));
      for (std::int64_t i = 0; i < width; ++i) {
        const double wanted = std::exp(static_cast<double>(row[i] - static_cast<float>(most))) / sum;
        const float seen = out[static_cast<std::size_t>(r * width + i)];
        if (wanted != wanted || r == 2 || r == 4) {
          ASSERT_TRUE(seen != seen) << width << ", row " << r << ": " << seen;
        } else {
          ASSERT_NEAR(seen, wanted, 1e-6 * wanted + 3e-45) << width << ", row " << r << ", " << i;
        }
      }
    }
  }
}

std::vector<mlx::core::array> run(const std::string& body, Backend backend, const mlx::core::array& x) {
  const Program program = parse_program("reprise 1\ninputs 1\n" + body).value();
  return compile(program, {.backend = backend}).value().run({x}).value();
}

std::string plan(const std::string& body, const TensorType& type) {
  const Program program = parse_program("reprise 1\ninputs 1\n" + body).value();
  return to_string(compile(program, {.backend = Backend::native}).value().plan(std::vector{type}).value());
}

constexpr const char* kSoftmax =
    "%0 = reduce_max in0 {axes = [1], keep_axes = true}\n%1 = subtract in0, %0\n%2 = exp %1\n"
    "%3 = sum %2 {axes = [1], keep_axes = true}\n%4 = divide %2, %3\n";

TEST_F(Reductions, SoftmaxIsOneStep) {
  const TensorType type{DType::float32, {4, 9}};
  EXPECT_TRUE(plan(std::string(kSoftmax) + "return %4", type).starts_with("   0 softmax f32[4, 9]\n1 step\n"));
  // Not where a part of it is wanted, over another axis or in other dtypes.
  EXPECT_EQ(plan(std::string(kSoftmax) + "return %4, %2", type).find("softmax"), std::string::npos);
  EXPECT_EQ(plan(std::string(kSoftmax) + "%5 = add %4, %3\nreturn %5", type).find("softmax"), std::string::npos);
  EXPECT_EQ(plan(std::string(kSoftmax) + "return %4", {DType::float32, {4, 9, 2}}).find("softmax"), std::string::npos);
  EXPECT_EQ(plan(std::string(kSoftmax) + "return %4", {DType::bfloat16, {4, 9}}).find("softmax"), std::string::npos);
}

TEST_F(Reductions, SoftmaxBetweenElementwiseSteps) {
  const std::string body =
      "%0 = multiply in0, in0\n%1 = reduce_max %0 {axes = [-1], keep_axes = true}\n"
      "%2 = subtract %0, %1\n%3 = exp %2\n%4 = sum %3 {axes = [-1], keep_axes = true}\n"
      "%5 = divide %3, %4\n%6 = add %5, %0\nreturn %6, %0";
  const auto x = mlx::core::transpose(
      mlx::core::reshape(mlx::core::arange(0.0, 3.5, 0.1, mlx::core::float32, mlx::core::Device::cpu), {7, 5},
                         mlx::core::Device::cpu),
      mlx::core::Device::cpu);
  const auto a = run(body, Backend::native, x), b = run(body, Backend::mlx, x);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(mlx::core::allclose(a[i], b[i], 1e-6, 1e-7, false, mlx::core::Device::cpu).item<bool>());
  }
}

TEST_F(Reductions, WindowsOfViews) {
  const std::string body =
      "%0 = transpose in0 {axes = [1, 0]}\n"
      "%1 = window_max %0 {low = [1, 0], high = [0, 2], strides = [2, 1], sizes = [3, 4], "
      "dilations = [1, 2]}\nreturn %1";
  EXPECT_NE(plan(body, {DType::float32, {30, 20}}).find("window_max f32[10, 26]"), std::string::npos);
  const auto x =
      mlx::core::sin(mlx::core::reshape(mlx::core::arange(0.0, 600.0, 1.0, mlx::core::float32, mlx::core::Device::cpu),
                                        {30, 20}, mlx::core::Device::cpu),
                     mlx::core::Device::cpu);
  EXPECT_TRUE(
      mlx::core::array_equal(run(body, Backend::native, x)[0], run(body, Backend::mlx, x)[0], mlx::core::Device::cpu)
          .item<bool>());
}

}  // namespace
}  // namespace reprise::native
