#include "io/gguf/affine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "gguf/gguf_bytes.hpp"
#include "gguf/oracle.hpp"
#include "mlx/mlx.h"

namespace reprise::gguf {
namespace {

namespace mx = mlx::core;
using testing::Bytes;
using testing::bytes_of;
using testing::GgufBytes;

constexpr std::uint32_t kQ4_0 = 2;
constexpr std::uint32_t kQ4_1 = 3;
constexpr std::uint32_t kQ8_0 = 8;

struct Model {
  Bytes bytes;
  File file;
  explicit Model(const GgufBytes& gguf) : bytes(gguf.build()), file(File::parse(bytes, "t.gguf").value()) {}
  const Tensor& tensor() const { return file.tensors().front(); }
};

std::vector<float> floats(const mx::array& array) { return {array.data<float>(), array.data<float>() + array.size()}; }

/// What MLX makes of the repacked tensor.
std::vector<float> dequantised(const AffineTensor& t) {
  mx::array result = mx::dequantize(t.codes, t.scales, t.biases, t.group_size, t.bits);
  result.eval();
  return floats(result);
}

std::uint32_t block_bytes(std::uint32_t type) { return type_info(static_cast<ElementType>(type))->bytes; }

/// Blocks with finite scales and any codes.
Bytes random_blocks(std::uint32_t type, std::size_t count) {
  std::mt19937 random(type);
  Bytes data;
  for (std::size_t i = 0; i < count; ++i) {
    for (int word = 0; word < (type == kQ4_1 ? 2 : 1); ++word) {
      const auto half = static_cast<std::uint16_t>(random() & 0xffffU);
      testing::append(data, static_cast<std::uint16_t>((half & 0x7c00U) == 0x7c00U ? half & 0xbfffU : half));
    }
    while (data.size() < (i + 1) * block_bytes(type)) data.push_back(static_cast<std::byte>(random()));
  }
  return data;
}

TEST(Affine, MatchesTheOracleExactly) {
  for (const std::uint32_t type : {kQ4_0, kQ4_1, kQ8_0}) {
    SCOPED_TRACE(type);
    const Bytes data = random_blocks(type, 1000 * 3);
    const Model model(GgufBytes().add_tensor("w", {96, 500, 2}, type, data));
    const AffineTensor t = to_affine(model.file, model.tensor()).value();
    EXPECT_EQ(t.bits, type == kQ8_0 ? 8 : 4);
    EXPECT_EQ(t.group_size, 32);
    EXPECT_EQ(t.codes.shape(), (mx::Shape{2, 500, type == kQ8_0 ? 24 : 12}));
    EXPECT_EQ(t.codes.dtype(), mx::uint32);
    EXPECT_EQ(t.scales.shape(), (mx::Shape{2, 500, 3}));
    EXPECT_EQ(t.biases.shape(), (mx::Shape{2, 500, 3}));
    EXPECT_EQ(t.scales.dtype(), mx::float32);
    EXPECT_TRUE(t.codes.is_available());

    // scale * code + bias from the stored arrays, then by MLX itself.
    const std::vector<float> wanted = testing::oracle_dequantise(data, type);
    const auto per_word = static_cast<std::size_t>(32 / t.bits);
    const std::uint32_t mask = (1U << t.bits) - 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::uint32_t word = t.codes.data<std::uint32_t>()[i / per_word];
      const auto code = static_cast<float>(word >> (i % per_word * static_cast<std::size_t>(t.bits)) & mask);
      ASSERT_EQ(t.scales.data<float>()[i / 32] * code + t.biases.data<float>()[i / 32], wanted[i]) << i;
    }
    EXPECT_EQ(dequantised(t), wanted);
  }
}

TEST(Affine, PermutesRows) {
  const Bytes data = random_blocks(kQ4_1, 12);
  const Model model(GgufBytes().add_tensor("w", {64, 3, 2}, kQ4_1, data));
  const std::vector<std::int64_t> rows{5, 0, 3, 1, 4, 2};
  const std::vector<float> moved = dequantised(to_affine(model.file, model.tensor(), {.rows = rows}).value());
  const std::vector<float> plain = testing::oracle_dequantise(data, kQ4_1);
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t i = 0; i < 64; ++i) {
      ASSERT_EQ(moved[r * 64 + i], plain[static_cast<std::size_t>(rows[r]) * 64 + i]);
    }
  }
}

TEST(Affine, RefusesAnOrderThatIsNone) {
  const Model model(GgufBytes().add_tensor("w", {32, 3}, kQ8_0, Bytes(3 * 34)));
  const auto message = [&](const std::vector<std::int64_t>& rows) {
    return to_affine(model.file, model.tensor(), {.rows = rows}).error().message();
  };
  EXPECT_EQ(message({0, 1}), "t.gguf: tensor 'w': the order has 2 rows, the tensor 3");
  EXPECT_EQ(message({0, 1, 1}), "t.gguf: tensor 'w': the order names row 1 at 2, wanted each of 3 rows once");
  EXPECT_EQ(message({0, 3, 1}), "t.gguf: tensor 'w': the order names row 3 at 1, wanted each of 3 rows once");
  EXPECT_EQ(message({-1, 0, 1}), "t.gguf: tensor 'w': the order names row -1 at 0, wanted each of 3 rows once");
}

TEST(Affine, HalfScalesAreExactAndBfloat16Rounds) {
  // d = 3/1024 has 2 significant bits, m = 1 + 2^-10 has 11.
  const Model model(GgufBytes().add_tensor("w", {32}, kQ4_1, testing::block({0x1a00, 0x3c01}, Bytes(16))));
  const AffineTensor f16 = to_affine(model.file, model.tensor(), {.scales = DType::float16}).value();
  EXPECT_EQ(f16.scales.dtype(), mx::float16);
  EXPECT_EQ(*f16.scales.data<std::uint16_t>(), 0x1a00);
  EXPECT_EQ(*f16.biases.data<std::uint16_t>(), 0x3c01);
  const AffineTensor bf16 = to_affine(model.file, model.tensor(), {.scales = DType::bfloat16}).value();
  EXPECT_EQ(bf16.scales.dtype(), mx::bfloat16);
  EXPECT_EQ(*bf16.scales.data<std::uint16_t>(), 0x3b40);
  EXPECT_EQ(*bf16.biases.data<std::uint16_t>(), 0x3f80);
  EXPECT_EQ(to_affine(model.file, model.tensor(), {.scales = DType::int8}).error().message(),
            "t.gguf: tensor 'w': scales asked as int8, wanted float32, float16 or bfloat16");
}

TEST(Affine, ABiasThatHalfCannotHoldIsAnError) {
  // 512 (0x6000) * 128 = 65536 is one step too large; 8 * 512 is not.
  Bytes data = testing::block({0x3c00}, Bytes(32));
  const Bytes large = testing::block({0x6000}, Bytes(32));
  data.insert(data.end(), large.begin(), large.end());
  const Model q8(GgufBytes().add_tensor("w", {64}, kQ8_0, data));
  const auto refused = to_affine(q8.file, q8.tensor(), {.scales = DType::float16});
  EXPECT_EQ(refused.error().message(), "t.gguf: tensor 'w': row 0 group 1: bias -65536 does not fit in float16");
  EXPECT_EQ(refused.error().code(), ErrorCode::limit);
  EXPECT_TRUE(to_affine(q8.file, q8.tensor(), {.scales = DType::bfloat16}).ok());
  const Model q4(GgufBytes().add_tensor("w", {32}, kQ4_0, testing::block({0x6000}, Bytes(16))));
  EXPECT_TRUE(to_affine(q4.file, q4.tensor(), {.scales = DType::float16}).ok());
}

TEST(Affine, NanAndInfiniteScalesPass) {
  for (const DType scales : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::uint32_t type : {kQ4_0, kQ4_1, kQ8_0}) {
      Bytes data;
      for (const std::uint16_t d : {0x7c00, 0xfc00, 0x7e00, 0x7c01}) {
        testing::append(data, d);
        if (type == kQ4_1) testing::append(data, d);
        data.resize(data.size() + (type == kQ8_0 ? 32 : 16));
      }
      const Model model(GgufBytes().add_tensor("w", {128}, type, data));
      const AffineTensor t = to_affine(model.file, model.tensor(), {.scales = scales}).value();
      mx::array wide = mx::astype(t.scales, mx::float32);
      mx::array bias = mx::astype(t.biases, mx::float32);
      mx::eval(wide, bias);
      const float sign = type == kQ4_1 ? 1.0F : -1.0F;
      EXPECT_EQ(wide.data<float>()[0], INFINITY);
      EXPECT_EQ(wide.data<float>()[1], -INFINITY);
      EXPECT_EQ(bias.data<float>()[0], sign * INFINITY);
      EXPECT_EQ(bias.data<float>()[1], sign * -INFINITY);
      for (int i = 2; i < 4; ++i) {
        EXPECT_TRUE(std::isnan(wide.data<float>()[i]));
        EXPECT_TRUE(std::isnan(bias.data<float>()[i]));
      }
    }
  }
}

TEST(Affine, ArraysOutliveTheFileAndTheThread) {
  const Bytes data = random_blocks(kQ8_0, 4);
  std::optional<AffineTensor> t;
  std::thread([&] {
    const Model model(GgufBytes().add_tensor("w", {64, 2}, kQ8_0, data));
    t = to_affine(model.file, model.tensor()).value();
  }).join();
  EXPECT_EQ(dequantised(*t), testing::oracle_dequantise(data, kQ8_0));
}

TEST(Affine, EmptyTensorsGiveEmptyArrays) {
  const Model model(GgufBytes().add_tensor("w", {0, 2147483647, 2147483647}, kQ4_0, {}));
  const AffineTensor t = to_affine(model.file, model.tensor()).value();
  EXPECT_EQ(t.codes.size(), 0U);
  EXPECT_EQ(t.scales.shape(), (mx::Shape{2147483647, 2147483647, 0}));
  const Model plain(GgufBytes().add_tensor("w", {0}, 0, {}));
  EXPECT_EQ(to_array(plain.file, plain.tensor()).value().shape(), (mx::Shape{0}));
  const Model wide(GgufBytes().add_tensor("w", {0, 2147483648}, 0, {}));
  EXPECT_EQ(to_array(wide.file, wide.tensor()).error().message(),
            "t.gguf: tensor 'w': dimension 2147483648 is larger than MLX can count");
}

TEST(Affine, SaysWhichTypesItTakes) {
  const Model plain(GgufBytes().add_tensor("w", {32}, 0, Bytes(128)));
  EXPECT_EQ(to_affine(plain.file, plain.tensor()).error().message(),
            "t.gguf: tensor 'w': type F32 cannot be repacked, wanted Q4_0, Q4_1 or Q8_0");
  const Model packed(GgufBytes().add_tensor("w", {32}, kQ4_1, Bytes(20)));
  EXPECT_EQ(to_array(packed.file, packed.tensor()).error().message(),
            "t.gguf: tensor 'w': type Q4_1 is not a plain type: wanted F32, F16, BF16, F64 or I8 to I64");
}

TEST(ToArray, CopiesEachPlainType) {
  const std::vector<std::pair<std::uint32_t, mx::Dtype>> types{{0, mx::float32},  {1, mx::float16},  {24, mx::int8},
                                                               {25, mx::int16},   {26, mx::int32},   {27, mx::int64},
                                                               {28, mx::float64}, {30, mx::bfloat16}};
  for (const auto& [type, dtype] : types) {
    const std::size_t size = dtype.size();
    Bytes data(6 * size);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i + 1);
    const Model model(GgufBytes().add_tensor("w", {2, 3}, type, data));
    const mx::array array = to_array(model.file, model.tensor()).value();
    EXPECT_EQ(array.dtype(), dtype);
    EXPECT_EQ(array.shape(), (mx::Shape{3, 2}));
    EXPECT_TRUE(array.is_available());
    EXPECT_EQ(std::memcmp(array.data<std::byte>(), data.data(), data.size()), 0);
    const mx::array turned = to_array(model.file, model.tensor(), std::vector<std::int64_t>{2, 0, 1}).value();
    EXPECT_EQ(std::memcmp(turned.data<std::byte>(), data.data() + 4 * size, 2 * size), 0);
    EXPECT_EQ(std::memcmp(turned.data<std::byte>() + 2 * size, data.data(), 4 * size), 0);
  }
}

TEST(ToArray, AVectorsElementsAreItsRows) {
  const Model model(GgufBytes().add_tensor("b", {3}, 0, bytes_of<float>({10, 20, 30})));
  const std::vector<std::int64_t> order{2, 0, 1};
  EXPECT_EQ(floats(to_array(model.file, model.tensor(), order).value()), (std::vector<float>{30, 10, 20}));
}

}  // namespace
}  // namespace reprise::gguf
