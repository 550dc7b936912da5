#include "reprise/dtype.hpp"

#include <gtest/gtest.h>
#include <mlx/mlx.h>

namespace reprise {
namespace {

DType nth(int i) { return static_cast<DType>(i); }

mlx::core::Dtype to_mlx(DType d) {
  return mlx::core::Dtype(static_cast<mlx::core::Dtype::Val>(d), static_cast<std::uint8_t>(size_of(d)));
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(dtype_from_name(name(nth(i))), nth(i));
    EXPECT_EQ(dtype_from_short_name(short_name(nth(i))), nth(i));
  }
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DType, SizesAgreeWithMlx) {
  const mlx::core::Dtype all[] = {mlx::core::bool_,    mlx::core::uint8,    mlx::core::uint16,  mlx::core::uint32,
                                  mlx::core::uint64,   mlx::core::int8,     mlx::core::int16,   mlx::core::int32,
                                  mlx::core::int64,    mlx::core::float16,  mlx::core::float32, mlx::core::float64,
                                  mlx::core::bfloat16, mlx::core::complex64};
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(static_cast<int>(all[i].val()), i);
    EXPECT_EQ(all[i].size(), size_of(nth(i))) << name(nth(i));
  }
}

TEST(DType, PromotionAgreesWithMlx) {
  for (int i = 0; i < kDTypeCount; ++i) {
    for (int j = 0; j < kDTypeCount; ++j) {
      const auto theirs = mlx::core::promote_types(to_mlx(nth(i)), to_mlx(nth(j)));
      EXPECT_EQ(static_cast<int>(promote(nth(i), nth(j))), static_cast<int>(theirs.val()))
          << name(nth(i)) << " with " << name(nth(j));
    }
  }
}

TEST(Shape, ElementCountNoticesOverflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3}), 6);
  EXPECT_EQ(element_count({2, 0, 3}), 0);
  EXPECT_EQ(element_count({1LL << 40, 1LL << 40}), std::nullopt);
  EXPECT_EQ(element_count({1LL << 40, 1LL << 40, 0}), 0);
}

TEST(TensorType, Prints) {
  EXPECT_EQ(to_string(TensorType{DType::float32, {2, 3}}), "f32[2, 3]");
  EXPECT_EQ(to_string(TensorType{DType::bool_, {}}), "bool[]");
}

}  // namespace
}  // namespace reprise
