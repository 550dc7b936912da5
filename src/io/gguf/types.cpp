// The element types of GGUF as one table.
#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "io/gguf/gguf.hpp"

namespace reprise::gguf {
namespace {

// Indexed by the number in the file. A row without a name is a number that never meant anything in GGUF or that the
// format dropped before it was used; the repacked types 31 to 33 and 36 to 38 were dropped later, so files have them.
constexpr std::array kTypes{
    TypeInfo{.name = "F32", .block = 1, .bytes = 4, .dtype = DType::float32},
    TypeInfo{.name = "F16", .block = 1, .bytes = 2, .dtype = DType::float16},
    TypeInfo{.name = "Q4_0", .block = 32, .bytes = 18, .affine = true},
    TypeInfo{.name = "Q4_1", .block = 32, .bytes = 20, .affine = true},
    TypeInfo{},  // Q4_2
    TypeInfo{},  // Q4_3
    TypeInfo{.name = "Q5_0", .block = 32, .bytes = 22},
    TypeInfo{.name = "Q5_1", .block = 32, .bytes = 24},
    TypeInfo{.name = "Q8_0", .block = 32, .bytes = 34, .affine = true},
    TypeInfo{.name = "Q8_1", .block = 32, .bytes = 36},
    TypeInfo{.name = "Q2_K", .block = 256, .bytes = 84},
    TypeInfo{.name = "Q3_K", .block = 256, .bytes = 110},
    TypeInfo{.name = "Q4_K", .block = 256, .bytes = 144},
    TypeInfo{.name = "Q5_K", .block = 256, .bytes = 176},
    TypeInfo{.name = "Q6_K", .block = 256, .bytes = 210},
    TypeInfo{.name = "Q8_K", .block = 256, .bytes = 292},
    TypeInfo{.name = "IQ2_XXS", .block = 256, .bytes = 66},
    TypeInfo{.name = "IQ2_XS", .block = 256, .bytes = 74},
    TypeInfo{.name = "IQ3_XXS", .block = 256, .bytes = 98},
    TypeInfo{.name = "IQ1_S", .block = 256, .bytes = 50},
    TypeInfo{.name = "IQ4_NL", .block = 32, .bytes = 18},
    TypeInfo{.name = "IQ3_S", .block = 256, .bytes = 110},
    TypeInfo{.name = "IQ2_S", .block = 256, .bytes = 82},
    TypeInfo{.name = "IQ4_XS", .block = 256, .bytes = 136},
    TypeInfo{.name = "I8", .block = 1, .bytes = 1, .dtype = DType::int8},
    TypeInfo{.name = "I16", .block = 1, .bytes = 2, .dtype = DType::int16},
    TypeInfo{.name = "I32", .block = 1, .bytes = 4, .dtype = DType::int32},
    TypeInfo{.name = "I64", .block = 1, .bytes = 8, .dtype = DType::int64},
    TypeInfo{.name = "F64", .block = 1, .bytes = 8, .dtype = DType::float64},
    TypeInfo{.name = "IQ1_M", .block = 256, .bytes = 56},
    TypeInfo{.name = "BF16", .block = 1, .bytes = 2, .dtype = DType::bfloat16},
    TypeInfo{.name = "Q4_0_4_4", .block = 32, .bytes = 18},
    TypeInfo{.name = "Q4_0_4_8", .block = 32, .bytes = 18},
    TypeInfo{.name = "Q4_0_8_8", .block = 32, .bytes = 18},
    TypeInfo{.name = "TQ1_0", .block = 256, .bytes = 54},
    TypeInfo{.name = "TQ2_0", .block = 256, .bytes = 66},
    TypeInfo{.name = "IQ4_NL_4_4", .block = 32, .bytes = 18},
    TypeInfo{.name = "IQ4_NL_4_8", .block = 32, .bytes = 18},
    TypeInfo{.name = "IQ4_NL_8_8", .block = 32, .bytes = 18},
    TypeInfo{.name = "MXFP4", .block = 32, .bytes = 17},
    TypeInfo{.name = "NVFP4", .block = 64, .bytes = 36},
    TypeInfo{.name = "Q1_0", .block = 128, .bytes = 18},
};

constexpr std::string_view name_at(ElementType type) { return kTypes[static_cast<std::size_t>(type)].name; }
static_assert(name_at(ElementType::q8_0) == "Q8_0" && name_at(ElementType::q6_k) == "Q6_K" &&
              name_at(ElementType::i8) == "I8" && name_at(ElementType::bf16) == "BF16" &&
              kTypes.back().name == "Q1_0" && kTypes.size() == 42);

constexpr std::array<std::string_view, 13> kValueNames{"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                       "bool", "string", "array", "u64", "i64", "f64"};

}  // namespace

const TypeInfo* type_info(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() && kTypes[index].block != 0 ? &kTypes[index] : nullptr;
}

std::string name(ElementType type) {
  const TypeInfo* info = type_info(type);
  return info != nullptr ? std::string(info->name) : fmt::format("type {}", static_cast<std::uint32_t>(type));
}

std::string_view name(ValueType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kValueNames.size() ? kValueNames[index] : "unknown type";
}

std::string quote(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  std::string text = "'";
  for (const char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  text += name.size() > kLongest ? "...'" : "'";
  return text;
}

}  // namespace reprise::gguf
