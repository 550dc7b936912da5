#include "io/gguf/gguf.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>

#include "gguf/gguf_bytes.hpp"
#include "gguf/temp_folder.hpp"

namespace reprise::gguf {
namespace {

using testing::append;
using testing::append_string;
using testing::Bytes;
using testing::bytes_of;
using testing::GgufBytes;

std::string error_of(const Bytes& bytes) {
  const Result<File> file = File::parse(bytes, "t.gguf");
  return file ? "" : file.error().message();
}

template <typename T>
std::string message(const Result<T>& result) {
  return result ? "" : result.error().message();
}

GgufBytes one_of_each() {
  Bytes strings;
  for (const char* s : {"a", "", "ccc"}) append_string(strings, s);
  Bytes nested;
  for (const std::uint16_t n : {7, 8}) {
    append(nested, std::uint32_t{2});
    append(nested, std::uint64_t{1});
    append(nested, n);
  }
  GgufBytes gguf;
  gguf.add_number("u8", 0, std::uint8_t{200})
      .add_number("i8", 1, std::int8_t{-100})
      .add_number("u16", 2, std::uint16_t{60000})
      .add_number("i16", 3, std::int16_t{-30000})
      .add_number("u32", 4, std::uint32_t{4000000000})
      .add_number("i32", 5, std::int32_t{-2000000000})
      .add_number("f32", 6, 0.5F)
      .add_number("bool", 7, std::uint8_t{1})
      .add_string("string", "h\xC3\xA9")
      .add_array("strings", 8, 3, strings)
      .add_array("floats", 6, 2, bytes_of<float>({1.5F, -2.0F}))
      .add_array("ints", 5, 2, bytes_of<std::int32_t>({1, -2}))
      .add_array("empty", 6, 0, {})
      .add_array("nested", 9, 2, nested)
      .add_number("u64", 10, std::numeric_limits<std::uint64_t>::max())
      .add_number("i64", 11, std::numeric_limits<std::int64_t>::min())
      .add_number("f64", 12, 0.1);
  return gguf;
}

TEST(Gguf, ReadsAValueOfEachType) {
  for (const std::uint32_t version : {2U, 3U}) {
    GgufBytes gguf = one_of_each();
    gguf.version = version;
    const Bytes bytes = gguf.build();
    const File file = File::parse(bytes, "t.gguf").value();
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.metadata().size(), 17U);
    EXPECT_EQ(file.metadata()[4].key, "u32");
    EXPECT_EQ(file.get_uint("u8").value(), 200U);
    EXPECT_EQ(file.get_int("i8").value(), -100);
    EXPECT_EQ(file.get_uint("u16").value(), 60000U);
    EXPECT_EQ(file.get_int("i16").value(), -30000);
    EXPECT_EQ(file.get_int("u32").value(), 4000000000);
    EXPECT_EQ(file.get_int("i32").value(), -2000000000);
    EXPECT_EQ(file.get_float("f32").value(), 0.5);
    EXPECT_TRUE(file.get_bool("bool").value());
    EXPECT_EQ(file.get_string("string").value(), "h\xC3\xA9");
    EXPECT_EQ(file.get_string_array("strings").value(), (std::vector<std::string_view>{"a", "", "ccc"}));
    EXPECT_EQ(file.get_float_array("floats").value(), (std::vector<double>{1.5, -2.0}));
    EXPECT_EQ(file.get_int_array("ints").value(), (std::vector<std::int64_t>{1, -2}));
    EXPECT_TRUE(file.get_float_array("empty").value().empty());
    EXPECT_EQ(file.get_uint("u64").value(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(file.get_int("i64").value(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(file.get_float("f64").value(), 0.1);
    const std::vector<Value> rows = elements(*file.find("nested"));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(describe(rows[1]), "array of 1 u16");
    EXPECT_EQ(describe(elements(rows[1])[0]), "u16 8");
  }
}

TEST(Gguf, GettersSayKeySeenAndWanted) {
  const Bytes bytes = one_of_each().build();
  const File file = File::parse(bytes, "t.gguf").value();
  EXPECT_EQ(message(file.get_uint("gone")), "t.gguf: key 'gone': missing, wanted an integer of 0 or more");
  EXPECT_EQ(file.get_uint("gone").error().code(), ErrorCode::not_found);
  EXPECT_EQ(message(file.get_uint("i32")), "t.gguf: key 'i32': is i32 -2000000000, wanted an integer of 0 or more");
  EXPECT_EQ(file.get_uint("i32").error().code(), ErrorCode::bad_file);
  EXPECT_EQ(message(file.get_int("u64")),
            "t.gguf: key 'u64': is u64 18446744073709551615, wanted an integer that i64 holds");
  EXPECT_EQ(message(file.get_float("u8")), "t.gguf: key 'u8': is u8 200, wanted f32 or f64");
  EXPECT_EQ(message(file.get_bool("u8")), "t.gguf: key 'u8': is u8 200, wanted bool");
  EXPECT_EQ(message(file.get_string("bool")), "t.gguf: key 'bool': is bool true, wanted string");
  EXPECT_EQ(message(file.get_string_array("string")),
            "t.gguf: key 'string': is string 'h\xC3\xA9', wanted an array of string");
  EXPECT_EQ(message(file.get_int_array("empty")),
            "t.gguf: key 'empty': is array of 0 f32, wanted an array of integers that i64 holds");
  EXPECT_EQ(message(file.get_float_array("f32")), "t.gguf: key 'f32': is f32 0.5, wanted an array of f32 or f64");
}

TEST(Gguf, FallbacksAreForMissingKeysOnly) {
  const Bytes bytes = one_of_each().build();
  const File file = File::parse(bytes, "t.gguf").value();
  EXPECT_EQ(file.get_uint_or("gone", 5).value(), 5U);
  EXPECT_EQ(file.get_uint_or("u8", 5).value(), 200U);
  EXPECT_EQ(file.get_int_or("gone", -5).value(), -5);
  EXPECT_EQ(file.get_float_or("gone", 1e4).value(), 1e4);
  EXPECT_TRUE(file.get_bool_or("gone", true).value());
  EXPECT_EQ(file.get_string_or("gone", "x").value(), "x");
  EXPECT_EQ(message(file.get_float_or("string", 1e4)),
            "t.gguf: key 'string': is string 'h\xC3\xA9', wanted f32 or f64");
}

TEST(Gguf, GivesTensorsWithBothShapes) {
  GgufBytes gguf;
  gguf.add_tensor("scale", {3}, 0, bytes_of<float>({1, 2, 3})).add_tensor("w", {32, 2, 3}, 8, Bytes(6 * 34));
  gguf.add_tensor("none", {0, 5}, 1, {});
  const testing::Bytes bytes = gguf.build();
  const File file = File::parse(bytes, "t.gguf").value();
  ASSERT_EQ(file.tensors().size(), 3U);
  const Tensor* w = file.get_tensor("w").value();
  EXPECT_EQ(w->dims, (Shape{32, 2, 3}));
  EXPECT_EQ(w->shape, (Shape{3, 2, 32}));
  EXPECT_EQ(name(w->type), "Q8_0");
  EXPECT_EQ(w->offset, 32U);
  EXPECT_EQ(w->data.size(), 6U * 34);
  EXPECT_EQ(file.find_tensor("scale")->data.size(), 12U);
  EXPECT_TRUE(file.find_tensor("none")->data.empty());
  EXPECT_EQ(file.find_tensor("x"), nullptr);
  EXPECT_EQ(message(file.get_tensor("x")), "t.gguf: tensor 'x': missing");
}

TEST(Gguf, FollowsTheAlignmentOfTheFile) {
  for (const std::size_t alignment : {1U, 8U, 64U, 4096U}) {
    GgufBytes gguf;
    gguf.alignment = alignment;
    gguf.add_number("general.alignment", 4, static_cast<std::uint32_t>(alignment));
    gguf.add_tensor("a", {3}, 24, bytes_of<std::int8_t>({1, 2, 3})).add_tensor("b", {1}, 0, bytes_of<float>({2.5F}));
    const Bytes bytes = gguf.build();
    const File file = File::parse(bytes, "t.gguf").value();
    EXPECT_EQ(file.alignment(), alignment);
    float value = 0;
    std::memcpy(&value, file.find_tensor("b")->data.data(), sizeof(value));
    EXPECT_EQ(value, 2.5F);
  }
}

TEST(Gguf, ViewsSurviveMovingTheFile) {
  const reprise::testing::TempFolder folder;
  File first = File::open(folder.write("m.gguf", one_of_each().add_tensor("t", {1}, 0, Bytes(4)).build())).value();
  const std::string_view text = first.get_string("string").value();
  const File second = std::move(first);
  EXPECT_EQ(text, "h\xC3\xA9");
  EXPECT_EQ(second.get_string("string").value().data(), text.data());
  EXPECT_EQ(second.find_tensor("t")->name, "t");
}

TEST(Gguf, RefusesOtherFormatsAndVersions) {
  const auto with_version = [](std::uint32_t version) {
    GgufBytes gguf;
    gguf.version = version;
    return error_of(gguf.build());
  };
  EXPECT_EQ(with_version(1), "t.gguf: is GGUF version 1, wanted 2 or 3");
  EXPECT_EQ(with_version(4), "t.gguf: is GGUF version 4, wanted 2 or 3");
  EXPECT_EQ(with_version(0), "t.gguf: is GGUF version 0, wanted 2 or 3");
  EXPECT_EQ(with_version(0x03000000), "t.gguf: is big-endian GGUF (version bytes 0x03000000), wanted little-endian");
  EXPECT_EQ(error_of(Bytes(64)), "t.gguf: starts with '\\x00\\x00\\x00\\x00', wanted 'GGUF': not a GGUF file");
}

TEST(Gguf, ReadsAFileWithNothingInIt) {
  const Bytes bytes = GgufBytes().build();
  ASSERT_EQ(bytes.size(), 24U);
  EXPECT_TRUE(File::parse(bytes, "t.gguf").value().tensors().empty());
}

TEST(Gguf, RefusesWrongTypesAndBools) {
  EXPECT_EQ(error_of(GgufBytes().add("k", 13, Bytes(8)).build()),
            "t.gguf: key 'k': value type is 13, the last known one is 12");
  EXPECT_EQ(error_of(GgufBytes().add_array("k", 99, 0, {}).build()),
            "t.gguf: key 'k': array element type is 99, the last known one is 12");
  EXPECT_EQ(error_of(GgufBytes().add_number("k", 7, std::uint8_t{2}).build()),
            "t.gguf: key 'k': a bool is 2, wanted 0 or 1");
  EXPECT_EQ(error_of(GgufBytes().add_array("k", 7, 2, bytes_of<std::uint8_t>({1, 3})).build()),
            "t.gguf: key 'k': a bool is 3, wanted 0 or 1");
  EXPECT_EQ(error_of(GgufBytes().add_tensor("t", {32}, 77, Bytes(32)).build()),
            "t.gguf: tensor 't': element type is 77, which is not a known GGUF type");
  EXPECT_EQ(error_of(GgufBytes().add_tensor("t", {32}, 4, Bytes(32)).build()),
            "t.gguf: tensor 't': element type is 4, which is not a known GGUF type");
}

TEST(Gguf, LimitsHowDeepArraysNest) {
  const auto nested = [](int depth) {
    Bytes value;
    for (int i = 1; i < depth; ++i) {
      append(value, std::uint32_t{9});
      append(value, std::uint64_t{1});
    }
    append(value, std::uint32_t{0});
    append(value, std::uint64_t{0});
    return GgufBytes().add("k", 9, value).build();
  };
  EXPECT_EQ(error_of(nested(8)), "");
  EXPECT_EQ(error_of(nested(9)), "t.gguf: key 'k': array element 0: arrays nest deeper than 8 levels");
  EXPECT_NE(error_of(nested(100000)), "");
}

TEST(Gguf, RefusesAKeyTwice) {
  EXPECT_EQ(error_of(GgufBytes().add_string("k", "a").add_string("k", "b").build()), "t.gguf: key 'k': appears twice");
}

TEST(Gguf, RefusesTensorsInTheWrongPlace) {
  EXPECT_EQ(error_of(GgufBytes().add_tensor("t", {1}, 0, Bytes(64), 4).build()),
            "t.gguf: tensor 't': offset 4 is not a multiple of the alignment 32");
  const Bytes far = GgufBytes().add_tensor("t", {1}, 0, Bytes(4), 0xffffffffffffffe0).build();
  EXPECT_EQ(error_of(far),
            "t.gguf: tensor 't': F32 [1] takes 4 bytes, expected at offset 18446744073709551584 of the data, which "
            "begins at byte 64; the file has 68 bytes");
  EXPECT_EQ(error_of(GgufBytes().add_tensor("t", {33}, 3, Bytes(64)).build()),
            "t.gguf: tensor 't': rows have 33 elements, wanted a multiple of 32 for Q4_1");
}

TEST(Gguf, MessagesStayOnOneLine) {
  const std::string error = error_of(GgufBytes().add_tensor("a\nb\x7f" + std::string(500, 'x'), {}, 0, {}).build());
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_NE(error.find("'a\\x0ab\\x7fxxx"), std::string::npos);
  EXPECT_LT(error.size(), 200U);
}

TEST(Gguf, KnowsTheSizesOfAllTypes) {
  int known = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const auto type = static_cast<ElementType>(i);
    const TypeInfo* info = type_info(type);
    if (info == nullptr) continue;
    ++known;
    EXPECT_EQ(name(type), info->name);
    // One row of two blocks opens whether or not the type can be used.
    const Bytes bytes =
        GgufBytes().add_tensor("t", {std::uint64_t{2} * info->block}, i, Bytes(2 * info->bytes)).build();
    const File file = File::parse(bytes, "t.gguf").value();
    EXPECT_EQ(file.tensors()[0].data.size(), 2U * info->bytes);
    EXPECT_EQ(file.unsupported_tensors().empty(), info->supported());
  }
  EXPECT_EQ(known, 40);
}

}  // namespace
}  // namespace reprise::gguf
