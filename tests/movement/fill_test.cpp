#include "movement/movement.hpp"
#include "ops/fill/fill.mlx.hpp"

namespace reprise::movement {
namespace {

using ops::EyeAttrs;
using ops::IotaAttrs;

TEST(Iota, SpecExamples) {
  EXPECT_TRUE(equals(apply("iota", IotaAttrs{int32, -1, {2, 3}}, {}), {2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(equals(apply("iota", IotaAttrs{int32, 0, {2, 3}}, {}), {2, 3}, {0, 0, 0, 1, 1, 1}));
}

TEST(Iota, EveryDTypeAndAxis) {
  const Shape shape{3, 2, 4};
  for (const DType d : kEveryDType) {
    for (std::int64_t axis = -1; axis < 3; ++axis) {
      std::vector<Num> wanted;
      each(shape, [&](const Shape& i, std::size_t at) {
        wanted.push_back(
            num(axis < 0 ? static_cast<double>(at) : static_cast<double>(i[static_cast<std::size_t>(axis)]), d));
      });
      EXPECT_TRUE(equals(apply("iota", IotaAttrs{d, axis, shape}, {}), shape, wanted)) << name(d) << axis;
    }
    EXPECT_TRUE(equals(apply("iota", IotaAttrs{d, -1, {}}, {}), {}, {0})) << name(d);
    EXPECT_TRUE(equals(apply("iota", IotaAttrs{d, 1, {0, 3}}, {}), {0, 3}, std::vector<double>{})) << name(d);
    EXPECT_TRUE(equals(apply("iota", IotaAttrs{d, -1, {0}}, {}), {0}, std::vector<double>{})) << name(d);
  }
}

TEST(Iota, CountsInIntegersThenCasts) {
  // A count in float32 or float16 would stick; a count in uint8 would be the same as a cast.
  const std::int64_t n = 16777220;
  const auto v = elements(apply("iota", IotaAttrs{float32, -1, {n}}, {}));
  EXPECT_EQ(v[16777216].re, 16777216);
  EXPECT_EQ(v[16777217].re, 16777216);
  EXPECT_EQ(v[16777218].re, 16777218);
  const auto half = elements(apply("iota", IotaAttrs{float16, 0, {70000}}, {}));
  EXPECT_EQ(half[2049].re, 2048);
  EXPECT_EQ(half[2051].re, 2052);
  EXPECT_EQ(half[65504].re, 65504);
  EXPECT_EQ(half[69999].re, kInfinity);
  const auto byte = elements(apply("iota", IotaAttrs{uint8, -1, {300}}, {}));
  EXPECT_TRUE(byte[255].i == 255 && byte[256].i == 0 && byte[299].i == 43);
  const auto wide = elements(apply("iota", IotaAttrs{float64, -1, {n}}, {}));
  EXPECT_EQ(wide[16777217].re, 16777217);
}

TEST(Iota, CountByAxesAgrees) {
  const mx::Stream s = mx::default_stream(mx::Device::cpu);
  for (const Shape& shape : {Shape{24}, Shape{2, 3, 4}, Shape{1, 6, 1, 4}}) {
    const array counted = mlx_backend::count_by_axes(to_mlx(shape), s);
    EXPECT_TRUE(equals(counted, shape, elements(iota(shape, int64))));
  }
}

TEST(Iota, BadAxis) {
  EXPECT_FALSE(types_of("iota", IotaAttrs{int32, 2, {2, 3}}, {}).ok());
  EXPECT_FALSE(types_of("iota", IotaAttrs{int32, 0, {}}, {}).ok());
}

TEST(Eye, EveryDTypeAndShape) {
  for (const DType d : kEveryDType) {
    for (const auto& [rows, columns] : {std::pair{3, 3}, {2, 4}, {4, 2}, {1, 1}, {0, 3}, {3, 0}}) {
      const Shape shape{rows, columns};
      std::vector<Num> wanted;
      each(shape, [&](const Shape& i, std::size_t) { wanted.push_back(num(i[0] == i[1], d)); });
      EXPECT_TRUE(equals(apply("eye", EyeAttrs{d, rows, columns}, {}), shape, wanted)) << name(d);
    }
  }
}

}  // namespace
}  // namespace reprise::movement
