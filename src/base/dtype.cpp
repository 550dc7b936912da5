#include "reprise/dtype.hpp"

#include <array>

namespace reprise {
namespace {

struct Traits {
  std::string_view name;
  std::string_view short_name;
  std::size_t bytes;
  DTypeKind kind;
};

constexpr std::array<Traits, kDTypeCount> kTraits{{
    {"bool", "bool", 1, DTypeKind::boolean},
    {"uint8", "u8", 1, DTypeKind::unsigned_integer},
    {"uint16", "u16", 2, DTypeKind::unsigned_integer},
    {"uint32", "u32", 4, DTypeKind::unsigned_integer},
    {"uint64", "u64", 8, DTypeKind::unsigned_integer},
    {"int8", "s8", 1, DTypeKind::signed_integer},
    {"int16", "s16", 2, DTypeKind::signed_integer},
    {"int32", "s32", 4, DTypeKind::signed_integer},
    {"int64", "s64", 8, DTypeKind::signed_integer},
    {"float16", "f16", 2, DTypeKind::floating},
    {"float32", "f32", 4, DTypeKind::floating},
    {"float64", "f64", 8, DTypeKind::floating},
    {"bfloat16", "bf16", 2, DTypeKind::floating},
    {"complex64", "c64", 8, DTypeKind::complex},
}};

const Traits& traits(DType dtype) { return kTraits[static_cast<std::size_t>(dtype)]; }

std::optional<DType> find(std::string_view wanted, std::string_view Traits::*field) {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].*field == wanted) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType signed_of_bytes(std::size_t bytes) {
  switch (bytes) {
    case 1: return DType::int8;
    case 2: return DType::int16;
    case 4: return DType::int32;
    default: return DType::int64;
  }
}

}  // namespace

std::string_view name(DType dtype) { return traits(dtype).name; }
std::string_view short_name(DType dtype) { return traits(dtype).short_name; }
std::size_t size_of(DType dtype) { return traits(dtype).bytes; }
DTypeKind kind(DType dtype) { return traits(dtype).kind; }
std::optional<DType> dtype_from_name(std::string_view name) { return find(name, &Traits::name); }
std::optional<DType> dtype_from_short_name(std::string_view name) { return find(name, &Traits::short_name); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (kind(a) > kind(b)) std::swap(a, b);  // b is now of the higher kind
  if (kind(a) == kind(b)) {
    if (is_floating(a) && size_of(a) == 2 && size_of(b) == 2) return DType::float32;  // float16 with bfloat16
    return size_of(a) > size_of(b) ? a : b;
  }
  if (kind(b) == DTypeKind::complex) return b;
  if (kind(b) == DTypeKind::floating) return b;
  if (kind(a) == DTypeKind::boolean) return b;
  // Unsigned with signed: the signed type that holds both; there is none for uint64.
  if (a == DType::uint64) return DType::float32;
  return size_of(b) > size_of(a) ? b : signed_of_bytes(2 * size_of(a));
}

std::optional<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t dim : shape) {
    if (dim == 0) return 0;
    overflow |= __builtin_mul_overflow(count, dim, &count);
  }
  if (overflow) return std::nullopt;
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) { return std::string(short_name(type.dtype)) + to_string(type.shape); }

}  // namespace reprise
