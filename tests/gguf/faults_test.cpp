// Faults that other readers had, by their number in the list of public faults: each must be a clean error here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "gguf/gguf_bytes.hpp"
#include "gguf/temp_folder.hpp"
#include "io/gguf/affine.hpp"
#include "mlx/mlx.h"

namespace reprise::gguf {
namespace {

namespace mx = mlx::core;
using testing::append;
using testing::append_string;
using testing::Bytes;
using testing::bytes_of;
using testing::GgufBytes;

std::string error_of(const Bytes& bytes) {
  const Result<File> file = File::parse(bytes, "t.gguf");
  return file ? "" : file.error().message();
}

std::vector<float> values_of(const GgufBytes& gguf) {
  const Bytes bytes = gguf.build();
  const File file = File::parse(bytes, "t.gguf").value();
  const AffineTensor t = to_affine(file, file.tensors()[0]).value();
  mx::array result = mx::dequantize(t.codes, t.scales, t.biases, t.group_size, t.bits);
  result.eval();
  return {result.data<float>(), result.data<float>() + result.size()};
}

TEST(GgufFaults, B133_Q4_1HeaderHasFourBytes) {
  const Bytes codes(16, std::byte{0xF3});
  std::vector<float> wanted(32, 0.25F);
  std::fill(wanted.begin() + 16, wanted.end(), 6.25F);
  EXPECT_EQ(values_of(GgufBytes().add_tensor("w", {32, 1}, 3, testing::block({0x3800, 0xBD00}, codes))), wanted);
  std::fill(wanted.begin(), wanted.begin() + 16, -2.5F);
  std::fill(wanted.begin() + 16, wanted.end(), 3.5F);
  EXPECT_EQ(values_of(GgufBytes().add_tensor("w", {32, 1}, 2, testing::block({0x3800}, codes))), wanted);
}

TEST(GgufFaults, B134_Q8_0LoadsAndEvaluates) {
  Bytes codes;
  std::vector<float> wanted;
  for (int code = -128; code <= -97; ++code) {
    codes.push_back(static_cast<std::byte>(code));
    wanted.push_back(-32.0F + 0.25F * static_cast<float>(code + 128));
  }
  EXPECT_EQ(wanted[1], -31.75F);
  EXPECT_EQ(wanted.back(), -24.25F);
  EXPECT_EQ(values_of(GgufBytes().add_tensor("w", {32, 1}, 8, testing::block({0x3400}, codes))), wanted);
}

TEST(GgufFaults, B136_LengthsAreNotTrusted) {
  GgufBytes key;
  key.entry_count = 1;
  Bytes bytes = key.build();
  append(bytes, std::uint64_t{4194304});
  bytes.resize(50);
  EXPECT_EQ(error_of(bytes),
            "t.gguf: metadata entry 0 of 1: key: expected 4194304 bytes at byte 32, found 18: the file has 50 bytes");

  for (const std::uint64_t length :
       {std::uint64_t{4194304}, std::uint64_t{18}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Bytes string;
    append(string, length);
    string.resize(17);
    EXPECT_NE(error_of(GgufBytes().add("k", 8, string).build()).find("key 'k': string: expected"), std::string::npos);
    for (std::uint32_t type = 0; type < 13; ++type) {
      const Bytes array = GgufBytes().add_array("k", type, length, Bytes(17, std::byte{0})).build();
      EXPECT_NE(error_of(array).find("key 'k': array"), std::string::npos) << type << " " << length;
    }
    GgufBytes counts;
    counts.tensor_count = length;
    EXPECT_NE(error_of(counts.build()).find("tensors: "), std::string::npos);
    counts.entry_count = length;
    EXPECT_NE(error_of(counts.build()).find("metadata: "), std::string::npos);
  }
  Bytes strings;
  append_string(strings, "fine");
  append(strings, std::uint64_t{4194304});
  EXPECT_EQ(error_of(GgufBytes().add_array("k", 8, 2, strings).build()),
            "t.gguf: key 'k': array element 1: string: expected 4194304 bytes at byte 69, found 0: the file has 69 "
            "bytes");
}

TEST(GgufFaults, B137_DimensionCountIsChecked) {
  for (const std::size_t rank : {0U, 5U, 32U}) {
    const Bytes bytes = GgufBytes().add_tensor("w", std::vector<std::uint64_t>(rank, 1), 0, Bytes(4)).build();
    EXPECT_EQ(error_of(bytes), fmt::format("t.gguf: tensor 'w': has {} dimensions, wanted 1 to 4", rank));
  }
  EXPECT_EQ(error_of(GgufBytes().add_tensor("w", {1, 1, 1, 1}, 0, Bytes(4)).build()), "");
}

TEST(GgufFaults, B139_SizeProductDoesNotWrap) {
  EXPECT_EQ(error_of(GgufBytes().add_tensor("w", {4, 1073741823, 1073741825}, 0, Bytes(64)).build()),
            "t.gguf: tensor 'w': F32 [4, 1073741823, 1073741825] takes 18446744073709551600 bytes, expected at offset "
            "0 of the data, which begins at byte 96; the file has 160 bytes");
  for (const auto& dims : std::vector<std::vector<std::uint64_t>>{{std::uint64_t{1} << 32, std::uint64_t{1} << 32},
                                                                  {std::uint64_t{1} << 62, 4},
                                                                  {65536, 65536, 65536, 65536}}) {
    EXPECT_NE(error_of(GgufBytes().add_tensor("w", dims, 0, Bytes(64)).build()).find("more elements than 2^63"),
              std::string::npos);
  }
  EXPECT_NE(error_of(GgufBytes().add_tensor("w", {std::uint64_t{1} << 62}, 28, Bytes(64)).build()).find("more bytes"),
            std::string::npos);
  EXPECT_NE(error_of(GgufBytes().add_tensor("w", {~std::uint64_t{0}}, 0, Bytes(64)).build()).find("less than 2^63"),
            std::string::npos);
}

TEST(GgufFaults, B140_RowSizeDoesNotWrap) {
  EXPECT_EQ(error_of(GgufBytes().add_tensor("w", {1152, 4398046511105}, 8, Bytes(1224)).build()),
            "t.gguf: tensor 'w': Q8_0 [1152, 4398046511105] takes 5383208929592520 bytes, expected at offset 0 of the "
            "data, which begins at byte 96; the file has 1320 bytes");
}

TEST(GgufFaults, B141_AlignmentIsAPowerOfTwo) {
  const auto message = [](const GgufBytes& gguf) { return error_of(gguf.build()); };
  const std::string start = "t.gguf: key 'general.alignment': is ";
  const std::string end = ", wanted a power of two up to 2^31";
  const std::string key = "general.alignment";
  EXPECT_EQ(message(GgufBytes().add_number(key, 4, std::uint32_t{0})), start + "u32 0" + end);
  EXPECT_EQ(message(GgufBytes().add_number(key, 4, std::uint32_t{24})), start + "u32 24" + end);
  EXPECT_EQ(message(GgufBytes().add_number(key, 5, std::int32_t{-32})), start + "i32 -32" + end);
  EXPECT_EQ(message(GgufBytes().add_number(key, 10, std::uint64_t{1} << 63)), start + "u64 9223372036854775808" + end);
  EXPECT_EQ(message(GgufBytes().add_number(key, 6, 32.0F)), start + "f32 32" + end);
  EXPECT_EQ(message(GgufBytes().add_string(key, "32")), start + "string '32'" + end);
  // The largest puts the data far past the end, without a tensor and with one.
  EXPECT_EQ(message(GgufBytes().add_number(key, 4, std::uint32_t{1} << 31)), "");
  EXPECT_NE(message(GgufBytes().add_number(key, 4, std::uint32_t{1} << 31).add_tensor("w", {1}, 0, Bytes(4))), "");
}

TEST(GgufFaults, B143_TensorNamesAreUnique) {
  EXPECT_EQ(error_of(GgufBytes().add_tensor("a", {1}, 0, Bytes(4)).add_tensor("a", {2}, 0, Bytes(8)).build()),
            "t.gguf: tensor 'a': appears twice");
}

TEST(GgufFaults, B144_ArraysHaveTheTypeThatIsRead) {
  GgufBytes gguf;
  gguf.add_array("tokenizer.ggml.scores", 0, 3, bytes_of<std::uint8_t>({1, 2, 3}));
  gguf.add_array("tokenizer.ggml.token_type", 0, 3, bytes_of<std::uint8_t>({1, 2, 255}));
  gguf.add_array("tokenizer.ggml.tokens", 5, 3, bytes_of<std::int32_t>({1, 2, 3}));
  gguf.add_array("large", 10, 1, bytes_of<std::uint64_t>({std::uint64_t{1} << 63}));
  const Bytes bytes = gguf.build();
  const File file = File::parse(bytes, "t.gguf").value();
  EXPECT_EQ(file.get_float_array("tokenizer.ggml.scores").error().message(),
            "t.gguf: key 'tokenizer.ggml.scores': is array of 3 u8, wanted an array of f32 or f64");
  EXPECT_EQ(file.get_string_array("tokenizer.ggml.tokens").error().message(),
            "t.gguf: key 'tokenizer.ggml.tokens': is array of 3 i32, wanted an array of string");
  // Integers of another width are converted one by one.
  EXPECT_EQ(file.get_int_array("tokenizer.ggml.token_type").value(), (std::vector<std::int64_t>{1, 2, 255}));
  EXPECT_EQ(file.get_int_array("large").error().message(),
            "t.gguf: key 'large': is array of 1 u64, wanted an array of integers that i64 holds");
}

TEST(GgufFaults, B146_TheLastTensorNeedsNoPadding) {
  for (const bool padded : {false, true}) {
    GgufBytes gguf;
    gguf.pad_end = padded;
    gguf.add_tensor("a", {3}, 0, bytes_of<float>({1, 2, 3})).add_tensor("b", {1}, 0, bytes_of<float>({4}));
    const Bytes bytes = gguf.build();
    EXPECT_EQ(bytes.size() % 32 == 0, padded);
    const File file = File::parse(bytes, "t.gguf").value();
    EXPECT_EQ(*to_array(file, file.tensors()[1]).value().data<float>(), 4.0F);
  }
}

TEST(GgufFaults, B147_MixedTypesOpenAndUnsupportedOnesAreListed) {
  GgufBytes gguf;
  gguf.add_tensor("blk.0.w", {32, 2}, 3, Bytes(40)).add_tensor("output.weight", {256}, 14, Bytes(210));
  gguf.add_tensor("norm", {1}, 0, Bytes(4)).add_tensor("blk.1.w", {256, 2}, 12, Bytes(288));
  const Bytes bytes = gguf.build();
  const File file = File::parse(bytes, "t.gguf").value();
  const std::vector<const Tensor*> unsupported = file.unsupported_tensors();
  ASSERT_EQ(unsupported.size(), 2U);
  EXPECT_EQ(unsupported[0]->name, "output.weight");
  EXPECT_EQ(name(unsupported[1]->type), "Q4_K");
  EXPECT_EQ(file.check_supported().error().message(),
            "t.gguf: 2 of 4 tensors have types that cannot be used: 'output.weight' is Q6_K, 'blk.1.w' is Q4_K");
  EXPECT_EQ(file.check_supported().error().code(), ErrorCode::unsupported);
  EXPECT_TRUE(to_affine(file, file.tensors()[0]).ok());
  EXPECT_EQ(to_affine(file, *unsupported[0]).error().message(),
            "t.gguf: tensor 'output.weight': type Q6_K cannot be repacked, wanted Q4_0, Q4_1 or Q8_0");
  EXPECT_EQ(to_array(file, *unsupported[0]).error().code(), ErrorCode::unsupported);

  GgufBytes many;
  for (int i = 0; i < 10; ++i) many.add_tensor(fmt::format("w{}", i), {256}, 14, Bytes(210));
  const Bytes many_bytes = many.build();
  const std::string list = File::parse(many_bytes, "t.gguf").value().check_supported().error().message();
  EXPECT_NE(list.find("'w7' is Q6_K, and 2 more"), std::string::npos);
}

/// A bit of everything, ending with the last byte of a tensor.
Bytes small_file() {
  Bytes strings;
  append_string(strings, "ab");
  append_string(strings, "");
  Bytes nested;
  append(nested, std::uint32_t{0});
  append(nested, std::uint64_t{2});
  append(nested, std::uint16_t{0x0102});
  GgufBytes gguf;
  gguf.add_number("general.alignment", 4, std::uint32_t{8});
  gguf.alignment = 8;
  gguf.add_string("general.architecture", "llama");
  gguf.add_number("flag", 7, std::uint8_t{1});
  gguf.add_number("rope", 6, 1.0F);
  gguf.add_array("tokens", 8, 2, strings);
  gguf.add_array("scores", 6, 2, bytes_of<float>({1, 2}));
  gguf.add_array("nested", 9, 1, nested);
  gguf.add_tensor("n", {3}, 0, bytes_of<float>({1, 2, 3}));
  gguf.add_tensor("q", {32, 2}, 3, Bytes(40, std::byte{0x35}));
  gguf.add_tensor("p", {32}, 8, Bytes(34, std::byte{0x35}));
  return gguf.build();
}

/// Reads all that there is to read; the sanitizers look on.
void use_everything(const File& file) {
  for (const Entry& entry : file.metadata()) {
    EXPECT_NE(describe(entry.value), "");
    for (const Value& element : elements(entry.value)) {
      for (const Value& inner : elements(element)) describe(inner);
    }
    (void)file.get_uint(entry.key).ok();
    (void)file.get_float(entry.key).ok();
    (void)file.get_bool(entry.key).ok();
    (void)file.get_string(entry.key).ok();
    (void)file.get_int_array(entry.key).ok();
    (void)file.get_float_array(entry.key).ok();
    (void)file.get_string_array(entry.key).ok();
  }
  for (const Tensor& tensor : file.tensors()) {
    for (const std::byte b : tensor.data) (void)std::to_integer<int>(b);
    (void)to_affine(file, tensor).ok();
    (void)to_affine(file, tensor, {.scales = DType::float16}).ok();
    (void)to_array(file, tensor).ok();
  }
  (void)file.check_supported().ok();
}

TEST(GgufFaults, B150_AFileCutAnywhereIsAnError) {
  const Bytes whole = small_file();
  use_everything(File::parse(whole, "t.gguf").value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    cut.shrink_to_fit();
    const std::string error = error_of(cut);
    // Expected and found: each message has the size of the file.
    EXPECT_NE(error.find(fmt::format("the file has {} bytes", size)), std::string::npos) << size << ": " << error;
  }
}

TEST(GgufFaults, B150_CutFilesOnDisk) {
  const reprise::testing::TempFolder folder;
  const Bytes whole = small_file();
  const auto message = [&](std::size_t size) {
    const std::string path = folder.write("cut.gguf", std::span(whole).first(size));
    return File::open(path).error().message().substr(path.size());
  };
  EXPECT_EQ(message(0), ": is empty: expected content, found 0 bytes");
  EXPECT_EQ(message(3), ": magic: expected 4 bytes at byte 0, found 3: the file has 3 bytes");
  EXPECT_EQ(message(20), ": metadata count: expected 8 bytes at byte 16, found 4: the file has 20 bytes");
  EXPECT_EQ(
      message(whole.size() - 17),
      fmt::format(": tensor 'p': Q8_0 [32] takes 34 bytes, expected at offset 56 of the data, which begins at byte "
                  "{}; the file has {} bytes",
                  whole.size() - 90, whole.size() - 17));
}

TEST(GgufFaults, AnyByteMayChange) {
  const Bytes whole = small_file();
  int opened = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const auto old = std::to_integer<unsigned>(whole[at]);
    for (const unsigned value : {0U, 1U, 2U, 3U, 8U, 9U, 0x10U, 0x7fU, 0x80U, 0xffU, old ^ 1U, old + 1U, old - 1U}) {
      Bytes changed = whole;
      changed[at] = static_cast<std::byte>(value);
      const Result<File> file = File::parse(changed, "t.gguf");
      if (file) {
        ++opened;
        use_everything(*file);
      } else {
        EXPECT_EQ(file.error().message().rfind("t.gguf: ", 0), 0U);
      }
    }
  }
  EXPECT_GT(opened, 1000);  // else the test would only see errors
}

TEST(GgufFaults, AnyWordMayChange) {
  const Bytes whole = small_file();
  for (std::size_t at = 0; at + 8 <= whole.size(); ++at) {
    for (const std::uint64_t value : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 61,
                                      std::uint64_t{1} << 32, ~std::uint64_t{0} >> 1, std::uint64_t{0}}) {
      Bytes changed = whole;
      std::memcpy(changed.data() + at, &value, sizeof(value));
      const Result<File> file = File::parse(changed, "t.gguf");
      if (file) use_everything(*file);
    }
  }
}

}  // namespace
}  // namespace reprise::gguf
