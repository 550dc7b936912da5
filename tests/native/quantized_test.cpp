// Products with packed weights against sums in double precision.
#include "backends/native/kernels/quantized.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backends/native/isa.hpp"
#include "backends/native/kernels/floats.hpp"

namespace reprise::native {
namespace {

struct Packed {
  QuantizedMatrix matrix;
  std::vector<std::uint32_t> codes;
  std::vector<char> scales, biases;
  std::vector<double> weights;  // (rows, columns)
};

std::vector<char> as_type(const std::vector<float>& values, DType type) {
  std::vector<char> out(values.size() * size_of(type));
  from_floats(values.data(), type, out.data(), static_cast<std::int64_t>(values.size()), 1);
  return out;
}

Packed make(std::int64_t rows, std::int64_t columns, int bits, int group, DType type) {
  Packed p;
  p.matrix.rows = rows;
  p.matrix.columns = columns;
  p.matrix.bits = bits;
  p.matrix.group = group;
  p.matrix.scale_type = p.matrix.bias_type = type;
  std::mt19937 random(static_cast<unsigned>(rows * 131 + columns + bits));
  p.codes.resize(static_cast<std::size_t>(rows * p.matrix.row_bytes() / 4), 0);
  std::vector<float> scales, biases;
  for (std::int64_t g = 0; g < rows * p.matrix.groups(); ++g) {
    scales.push_back(static_cast<float>(static_cast<int>(random() % 63) - 31) / 64);
    biases.push_back(static_cast<float>(static_cast<int>(random() % 63) - 31) / 16);
  }
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto code = static_cast<std::uint32_t>(random() % (1u << bits));
    const auto row = i / columns;
    for (int b = 0; b < bits; ++b) {
      const auto at = static_cast<std::size_t>(row * p.matrix.row_bytes() * 8 + i % columns * bits + b);
      p.codes[at / 32] |= (code >> b & 1) << (at % 32);
    }
    const auto g = static_cast<std::size_t>(i / group);
    p.weights.push_back(static_cast<double>(scales[g]) * code + biases[g]);
  }
  p.scales = as_type(scales, type);
  p.biases = as_type(biases, type);
  p.matrix.codes = p.codes.data();
  p.matrix.scales = p.scales.data();
  p.matrix.biases = p.biases.data();
  return p;
}

std::vector<float> random_x(std::int64_t n) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}

// The greatest distance from the exact product, in units of the sum of the absolute terms.
double distance(const std::vector<float>& out, const std::vector<float>& x, std::int64_t m, const Packed& p,
                bool transpose) {
  const std::int64_t k = transpose ? p.matrix.columns : p.matrix.rows;
  const std::int64_t n = transpose ? p.matrix.rows : p.matrix.columns;
  double worst = 0;
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      double sum = 0, size = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const double w = p.weights[static_cast<std::size_t>(transpose ? c * k + i : i * n + c)];
        const double term = w * x[static_cast<std::size_t>(r * k + i)];
        sum += term;
        size += std::abs(term);
      }
      const double off = std::abs(out[static_cast<std::size_t>(r * n + c)] - sum) / (size + 1e-30);
      worst = std::isnan(off) ? off : std::max(worst, off);
    }
  }
  return worst;
}

constexpr double kClose = 1e-6;

class Quantized : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit()); }
};

TEST_F(Quantized, EveryKernelAndWidth) {
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const std::int64_t groups : {1, 2, 5, 17}) {
        const std::int64_t columns = groups * group, rows = groups == 5 ? 33 : 7;
        const Packed p = make(rows, columns, bits, group, DType::float32);
        for (const std::int64_t m : {1, 2, 7}) {
          const auto x = random_x(m * columns);
          std::vector<float> out(static_cast<std::size_t>(m * rows));
          const auto label = testing::Message()
                             << bits << " bits, groups of " << group << ", " << m << "x" << rows << "x" << columns;
          std::fill(out.begin(), out.end(), 777.0f);
          quantized_panels(x.data(), m, p.matrix, out.data(), 2);
          EXPECT_LT(distance(out, x, m, p, true), kClose) << "panels " << label;
          std::fill(out.begin(), out.end(), 777.0f);
          quantized_rows_float(x.data(), m, p.matrix, out.data(), 2);
          EXPECT_LT(distance(out, x, m, p, true), kClose) << "float " << label;
          std::fill(out.begin(), out.end(), 777.0f);
          if (quantized_rows_integer(x.data(), m, p.matrix, out.data(), 2)) {
            EXPECT_LT(distance(out, x, m, p, true), kClose) << "integer " << label;
          }
        }
      }
    }
  }
}

TEST_F(Quantized, NotTransposed) {
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    for (const std::int64_t rows : {1, 31, 300}) {
      const Packed p = make(rows, 96, bits, 32, DType::bfloat16);
      for (const std::int64_t m : {1, 5, 300}) {
        const auto x = random_x(m * rows);
        std::vector<float> out(static_cast<std::size_t>(m * 96), 777.0f);
        quantized_product_plain(x.data(), m, p.matrix, out.data(), 2);
        EXPECT_LT(distance(out, x, m, p, false), kClose) << bits << " bits, " << m << "x96x" << rows;
      }
    }
  }
}

TEST_F(Quantized, HalfPrecisionScales) {
  for (const DType type : {DType::float16, DType::bfloat16}) {
    const Packed p = make(35, 576, 4, 32, type);
    for (const std::int64_t m : {1, 3, 13, 300}) {
      const auto x = random_x(m * 576);
      std::vector<float> out(static_cast<std::size_t>(m * 35));
      quantized_product(x.data(), m, p.matrix, out.data(), 1);
      EXPECT_LT(distance(out, x, m, p, true), kClose) << name(type) << " " << m;
    }
  }
}

TEST_F(Quantized, GroupsOfDifferentMagnitude) {
  const Packed p = make(16, 32 * 9, 4, 32, DType::float32);
  auto x = random_x(32 * 9);
  for (std::size_t g = 0; g < 9; ++g) {
    const float magnitude[] = {1, 1e-30f, 1e30f, 1e-38f, 0, 1e-42f, 1e33f, 1e5f, 3e-5f};
    // One group at a time: beside 1e33 nothing else would count.
    std::vector<float> one(x.size(), 0.0f), out(16);
    for (std::size_t i = 0; i < 32; ++i) one[g * 32 + i] = x[g * 32 + i] * magnitude[g];
    quantized_product(one.data(), 1, p.matrix, out.data(), 1);
    EXPECT_LT(distance(out, one, 1, p, true), 1e-30f < magnitude[g] ? kClose : 1.0) << magnitude[g];
  }
}

TEST_F(Quantized, NotFinite) {
  Packed p = make(4, 64, 4, 32, DType::float32);
  for (const std::int64_t m : {1, 20}) {
    auto x = random_x(m * 64);
    x[5] = std::numeric_limits<float>::infinity();
    if (m > 1) x[64] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> out(static_cast<std::size_t>(m * 4));
    quantized_product(x.data(), m, p.matrix, out.data(), 1);
    for (std::size_t c = 0; c < 4; ++c) {
      const double weight = p.weights[c * 64 + 5];
      if (weight == 0) {
        EXPECT_TRUE(std::isnan(out[c]));
      } else {
        EXPECT_EQ(out[c], std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(weight)));
      }
      if (m > 1) {
        EXPECT_TRUE(std::isnan(out[4 + c]));
        EXPECT_TRUE(std::isfinite(out[8 + c]));
      }
    }
  }
}

TEST_F(Quantized, SameBitsForAnyNumberOfThreads) {
  const Packed p = make(1000, 192, 4, 64, DType::float16);
  for (const std::int64_t m : {1, 6, 100}) {
    const auto x = random_x(m * 192);
    std::vector<float> one(static_cast<std::size_t>(m * 1000)), many(one);
    quantized_product(x.data(), m, p.matrix, one.data(), 1);
    for (const int threads : {2, 3, 8}) {
      quantized_product(x.data(), m, p.matrix, many.data(), threads);
      EXPECT_EQ(one, many) << m << " rows, " << threads << " threads";
    }
  }
}

TEST(Floats, RoundTrips) {
  ASSERT_TRUE(apply_isa_limit());
  // All 16-bit patterns, and the midpoints between neighbours.
  for (const DType type : {DType::float16, DType::bfloat16}) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    std::vector<float> floats(all.size());
    to_floats(all.data(), type, floats.data(), 65536, 1);
    std::vector<std::uint16_t> back(all.size());
    from_floats(floats.data(), type, back.data(), 65536, 1);
    const std::uint16_t infinity = type == DType::float16 ? 0x7C00 : 0x7F80;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((i & 0x7FFF) > infinity) {
        EXPECT_TRUE(std::isnan(floats[i])) << i;
        EXPECT_GT(back[i] & 0x7FFF, infinity) << i;
      } else {
        EXPECT_EQ(back[i], all[i]);
      }
    }
    std::vector<float> midpoints;
    std::vector<std::uint16_t> wanted;
    for (std::size_t i = 0; i + 1 < infinity; ++i) {
      midpoints.push_back(floats[i] + (floats[i + 1] - floats[i]) / 2);
      wanted.push_back(static_cast<std::uint16_t>(i + i % 2));
    }
    back.resize(wanted.size());
    from_floats(midpoints.data(), type, back.data(), static_cast<std::int64_t>(wanted.size()), 1);
    EXPECT_EQ(back, wanted) << name(type);
  }
}

}  // namespace
}  // namespace reprise::native
