#include "io/gguf/half.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gguf/oracle.hpp"

namespace reprise::gguf {
namespace {

TEST(Half, EveryBitPatternMatchesTheDefinitionAndComesBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = float_from_half(static_cast<std::uint16_t>(bits));
    const float wanted = testing::oracle_half(bits);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(float_from_half(half_from_float(value)))) << bits;
    } else {
      EXPECT_EQ(value, wanted) << bits;
      EXPECT_EQ(std::signbit(value), std::signbit(wanted)) << bits;
      EXPECT_EQ(half_from_float(value), bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(half_from_float(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(half_from_float(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);
  EXPECT_EQ(half_from_float(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(half_from_float(0x1p-25F), 0x0000);
  EXPECT_EQ(half_from_float(3 * 0x1p-25F), 0x0002);
  EXPECT_EQ(half_from_float(-0x1.8p-25F), 0x8001);
  EXPECT_EQ(half_from_float(65519.0F), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0F), 0x7c00);
  EXPECT_EQ(half_from_float(-1e30F), 0xfc00);
}

TEST(Half, Bfloat16RoundsToNearestEven) {
  EXPECT_EQ(bfloat16_from_float(-1.25F), 0xbfa0);
  EXPECT_EQ(bfloat16_from_float(1.0F + 0x1p-8F), 0x3f80);
  EXPECT_EQ(bfloat16_from_float(1.0F + 3 * 0x1p-8F), 0x3f82);
  EXPECT_EQ(bfloat16_from_float(INFINITY), 0x7f80);
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x7f800001U)) & 0x7fc0, 0x7fc0);
}

}  // namespace
}  // namespace reprise::gguf
