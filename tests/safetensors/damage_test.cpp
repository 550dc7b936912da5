#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include "files.hpp"
#include "gguf/temp_folder.hpp"
#include "io/safetensors/header.hpp"
#include "io/safetensors/safetensors.hpp"

namespace reprise {
namespace {

struct Case {
  std::string header;
  std::uint64_t data_bytes;
  std::string error;
};

std::string entry(const std::string& fields) { return "{\"a\":{" + fields + "}}"; }

class BadHeader : public ::testing::TestWithParam<Case> {};

TEST_P(BadHeader, IsRefusedWithItsFault) {
  const auto header = safetensors::parse_header(GetParam().header, GetParam().data_bytes);
  ASSERT_FALSE(header) << GetParam().header;
  EXPECT_EQ(header.error().message(), GetParam().error) << GetParam().header;
}

INSTANTIATE_TEST_SUITE_P(
    Json, BadHeader,
    ::testing::Values(Case{"", 0, "the header is not JSON: byte 1 does not fit"},
                      Case{"{", 0, "the header is not JSON: byte 2 does not fit"},
                      Case{"{} x", 0, "the header is not JSON: byte 4 does not fit"},
                      Case{"{}{}", 0, "the header is not JSON: byte 3 does not fit"},
                      Case{"[]", 0, "the header is an array; wanted an object"},
                      Case{"3", 0, "the header is a number; wanted an object"},
                      Case{"null", 0, "the header is null; wanted an object"},
                      Case{std::string("{\0}", 3), 0, "the header is not JSON: byte 2 does not fit"},
                      Case{"{\"\xff\":{}}", 0, "the header is not JSON: byte 3 does not fit"},
                      Case{R"({"a":1})", 0, "tensor \"a\" is a number; wanted an object"},
                      Case{R"({"a":[[[[]]]]})", 0, "tensor \"a\" is an array; wanted an object"},
                      Case{R"({"a":{"b":{}}})", 0, "tensor \"a\": field \"b\"; wanted dtype, shape and data_offsets"},
                      Case{R"({"__metadata__":3})", 0, "__metadata__ is a number; wanted an object"},
                      Case{R"({"__metadata__":{"k":null}})", 0,
                           "__metadata__ \"k\" is null; wanted a string (no tensor can be called __metadata__)"},
                      Case{R"({"__metadata__":{"k":{"k":{}}}})", 0,
                           "__metadata__ \"k\" is an object; wanted a string (no tensor can be called __metadata__)"},
                      Case{std::string(1'000'000, '['), 0, "the header is an array; wanted an object"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, BadHeader,
    ::testing::Values(
        Case{entry(""), 0, "tensor \"a\": no dtype"}, Case{entry(R"("dtype":"F32")"), 0, "tensor \"a\": no shape"},
        Case{entry(R"("dtype":"F32","shape":[])"), 0, "tensor \"a\": no data_offsets"},
        Case{entry(R"("dtype":7)"), 0, "tensor \"a\": dtype is a number; wanted a string"},
        Case{
            entry(R"("dtype":"F8_E4M3")"), 0,
            "tensor \"a\": dtype \"F8_E4M3\"; wanted one of BOOL, U8, U16, U32, U64, I8, I16, I32, I64, F16, F32, F64, "
            "BF16, C64"},
        Case{entry(R"("dtype":"F32","dtype":"F32")"), 0, "tensor \"a\": dtype occurs twice"},
        Case{entry(R"("shape":4)"), 0, "tensor \"a\": a number in shape; wanted an array"},
        Case{entry(R"("shape":[[4]])"), 0, "tensor \"a\": an array in shape; wanted an integer of 0 or more"},
        Case{entry(R"("shape":[-4])"), 0, "tensor \"a\": -4 in shape; wanted an integer of 0 or more"},
        Case{entry(R"("shape":[4.0])"), 0, "tensor \"a\": \"4.0\" in shape; wanted an integer of 0 or more"},
        Case{entry(R"("shape":["4"])"), 0, "tensor \"a\": a string in shape; wanted an integer of 0 or more"},
        Case{entry(R"("shape":[2147483648])"), 0,
             "tensor \"a\": a dimension of 2147483648; at most 2147483647 can be held"},
        Case{entry(R"("shape":[18446744073709551616])"), 0,
             "tensor \"a\": \"18446744073709551616\" in shape; wanted an integer of 0 or more"},
        Case{entry(R"("data_offsets":[1])"), 0, "tensor \"a\": data_offsets has 1 numbers; wanted 2"},
        Case{entry(R"("data_offsets":[1,2,3])"), 0, "tensor \"a\": data_offsets has 3 numbers; wanted 2"},
        Case{entry(R"("data_offsets":{"a":1})"), 0, "tensor \"a\": an object in data_offsets; wanted an array"}));

std::string u8(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Extents, BadHeader,
    ::testing::Values(
        Case{"{" + u8("a", "[4]", "[4,0]") + "}", 8, "tensor \"a\": data_offsets [4, 0] in 8 bytes of data"},
        Case{"{" + u8("a", "[4]", "[5,9]") + "}", 8, "tensor \"a\": data_offsets [5, 9] in 8 bytes of data"},
        Case{"{" + u8("a", "[4]", "[18446744073709551612,18446744073709551615]") + "}", 8,
             "tensor \"a\": data_offsets [18446744073709551612, 18446744073709551615] in 8 bytes of data"},
        Case{"{" + u8("a", "[2147483647,2147483647,2147483647]", "[0,8]") + "}", 8,
             "tensor \"a\": its shape has more bytes than 64 bits count"},
        Case{"{" + u8("a", "[4]", "[0,4]") + "," + u8("b", "[4]", "[2,6]") + "}", 6,
             "tensor \"b\": its data starts at byte 2; wanted 4, where the one before ends"},
        Case{"{" + u8("a", "[4]", "[0,4]") + "," + u8("b", "[4]", "[0,4]") + "}", 4,
             "tensor \"b\": its data starts at byte 0; wanted 4, where the one before ends"},
        Case{"{" + u8("a", "[2]", "[0,2]") + "," + u8("b", "[2]", "[3,5]") + "}", 5,
             "tensor \"b\": its data starts at byte 3; wanted 2, where the one before ends"},
        Case{"{" + u8("a", "[2]", "[1,3]") + "}", 3,
             "tensor \"a\": its data starts at byte 1; wanted 0, where the one before ends"},
        Case{"{" + u8("a", "[2]", "[0,2]") + "}", 3, "the file has 3 bytes of data; its tensors take 2"},
        Case{"{}", 1, "the file has 1 bytes of data; its tensors take 0"},
        Case{"{" + u8("a", "[1]", "[0,1]") + "," + u8("a", "[1]", "[1,2]") + "}", 2,
             "\"a\" occurs twice in the header"},
        Case{R"({"__metadata__":{},"__metadata__":{}})", 0, "\"__metadata__\" occurs twice in the header"},
        Case{R"({"__metadata__":{"k":"1","k":"2"}})", 0, "\"k\" occurs twice in __metadata__"},
        Case{"{" + u8(std::string(100, 'n'), "[4]", "[5,9]") + "}", 8,
             "tensor \"" + std::string(64, 'n') + "...\": data_offsets [5, 9] in 8 bytes of data"}));

std::string sample(const std::string& path) {
  const SafetensorsTensors tensors = {{"a", mlx::core::array({1.0F, 2.0F})},
                                      {"flags", mlx::core::array({true, false, true})},
                                      {"empty", mlx::core::zeros({0})}};
  EXPECT_TRUE(write_safetensors(path, tensors, {{"k", "v"}}).ok());
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Damage, EveryTruncationIsRefused) {
  testing::TempFolder folder;
  const std::string path = folder / "t.safetensors";
  const std::string good = sample(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    write_bytes(path, std::string_view(good).substr(0, i));
    const auto tensors = read_safetensors(path);
    ASSERT_FALSE(tensors) << i;
    EXPECT_EQ(tensors.error().code(), ErrorCode::bad_file);
  }
}

TEST(Damage, EveryTrailingByteIsRefused) {
  testing::TempFolder folder;
  const std::string path = folder / "t.safetensors";
  const std::string good = sample(path);
  write_bytes(path, good + "x");
  EXPECT_FALSE(read_safetensors(path));
}

// Whatever a byte becomes, the file loads or is refused, and what loads can be read to its last element.
TEST(Damage, EveryByteReplaced) {
  testing::TempFolder folder;
  const std::string path = folder / "t.safetensors";
  const std::string good = sample(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int byte :
         std::initializer_list<int>{0, 1, 2, '0', '9', '"', '{', '}', '[', ']', ',', ':', 'e', '-', 0x7f, 0x80, 0xff}) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(byte);
      write_bytes(path, damaged);
      const auto tensors = read_safetensors(path);
      if (!tensors) continue;
      for (const auto& [name, array] : *tensors) {
        const auto* bytes = array.data<unsigned char>();
        for (std::size_t k = 0; k < array.nbytes(); ++k) {
          if (array.dtype() == mlx::core::bool_) {
            EXPECT_LE(bytes[k], 1);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace reprise
