// Element types, shapes and tensor types.
//
//   TensorType type{DType::float32, {2, 3}};
//   to_string(type);  // "f32[2, 3]"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// Element type of a tensor. The order is MLX's own, so that a value converts by a cast.
enum class DType : std::uint8_t {
  bool_,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  float16,
  float32,
  float64,  ///< CPU only; not a name the reference system knows
  bfloat16,
  complex64,
};
inline constexpr int kDTypeCount = 14;

/// What an element type is, in the order in which promotion climbs.
enum class DTypeKind : std::uint8_t { boolean, unsigned_integer, signed_integer, floating, complex };

std::string_view name(DType dtype);        ///< "float32"; the name on the wire
std::string_view short_name(DType dtype);  ///< "f32"; the name in types of the text form
std::size_t size_of(DType dtype);          ///< bytes an element
DTypeKind kind(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);        ///< from "float32"
std::optional<DType> dtype_from_short_name(std::string_view name);  ///< from "f32"

inline bool is_integer(DType d) {
  return kind(d) == DTypeKind::unsigned_integer || kind(d) == DTypeKind::signed_integer;
}
inline bool is_floating(DType d) { return kind(d) == DTypeKind::floating; }
inline bool is_complex(DType d) { return kind(d) == DTypeKind::complex; }

/// The type that two operands are brought to. Mixed kinds: uint64 with a signed integer gives float32, float16 with
/// bfloat16 gives float32, an integer with a float gives that float. Scalars are not weak.
DType promote(DType a, DType b);

/// `float32` for booleans and integers, else the same: the result of a function that is real by nature.
inline DType to_floating(DType d) { return is_floating(d) || is_complex(d) ? d : DType::float32; }

using Shape = std::vector<std::int64_t>;

/// Number of elements, or nothing when the product exceeds what an int64 counts.
std::optional<std::int64_t> element_count(const Shape& shape);

/// "[2, 3]"
std::string to_string(const Shape& shape);

/// Shape and element type of a tensor: what inference computes.
struct TensorType {
  DType dtype = DType::float32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const TensorType&) const = default;
};

/// "f32[2, 3]"; a scalar is "f32[]".
std::string to_string(const TensorType& type);

}  // namespace reprise
