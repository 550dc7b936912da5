// How an op's attributes are laid out: one list of fields per op gives the positional wire form, the names of the text
// form, validation and the documentation.
//
//   struct ReduceAttrs { bool keep_axes; std::vector<std::int64_t> axes; };
//   inline constexpr Field kReduceFields[] = {flag<&ReduceAttrs::keep_axes>("keep_axes", "keep reduced axes as size
//   1"),
//                                             axes<&ReduceAttrs::axes>("axes", "axes to reduce")};
//   inline constexpr Schema kReduceSchema = schema<ReduceAttrs>(kReduceFields);
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reprise/program.hpp"
#include "reprise/status.hpp"

namespace reprise::ops {

using Ints = std::vector<std::int64_t>;

enum class QuantMode : std::uint8_t { affine, mxfp4, mxfp8, nvfp4 };
std::string_view name(QuantMode mode);
std::optional<QuantMode> quant_mode_from_name(std::string_view name);

enum class FieldKind : std::uint8_t {
  count,     ///< the shared length `n` of the group lists; not an attribute of its own
  integer,   ///< one integer
  flag,      ///< one integer, 0 or not
  real,      ///< one integer that carries the bits of a binary64
  dtype,     ///< a dtype name
  mode,      ///< a quantization mode name
  integers,  ///< a list
  types,     ///< a counted list of (dtype, rank, dims...)
};

/// How a list finds its end on the wire.
enum class Extent : std::uint8_t {
  one,    ///< not a list
  own,    ///< its own count stands before it
  group,  ///< as long as the `count` field says
  rest,   ///< whatever remains
};

struct Field {
  std::string_view name;
  std::string_view summary;
  FieldKind kind = FieldKind::integer;
  Extent extent = Extent::one;
  bool interleaved = false;  ///< a group list whose elements alternate with those of the interleaved lists beside it
  std::int64_t min = std::numeric_limits<std::int32_t>::min();
  std::int64_t max = std::numeric_limits<std::int32_t>::max();
  std::optional<std::int64_t> default_value;  ///< for integer and flag: what builder and text form may leave out
  bool may_be_left_out = false;               ///< for lists: left out, it is empty
  void* (*slot)(void*) = nullptr;             ///< where the value lives in the attribute struct
};

/// Owns one attribute struct of whatever type; null for ops without attributes.
using AttrBox = std::shared_ptr<const void>;

struct Schema {
  std::span<const Field> fields;
  const void* type = nullptr;  ///< identifies the attribute struct
  std::shared_ptr<void> (*make)() = nullptr;
  bool (*equal)(const void*, const void*) = nullptr;
};

namespace detail {

template <typename T>
inline constexpr char kTypeTag = 0;

template <auto Member>
struct MemberOf;
template <typename S, typename T, T S::*Member>
struct MemberOf<Member> {
  using Struct = S;
  using Value = T;
};

template <auto Member>
void* slot(void* object) {
  return &(static_cast<typename MemberOf<Member>::Struct*>(object)->*Member);
}

template <auto Member, typename T>
constexpr bool kHolds = std::is_same_v<typename MemberOf<Member>::Value, T>;

}  // namespace detail

template <typename T>
constexpr const void* type_tag() {
  return &detail::kTypeTag<T>;
}

template <typename T>
constexpr Schema schema(std::span<const Field> fields) {
  return {fields, type_tag<T>(), [] { return std::shared_ptr<void>(std::make_shared<T>()); },
          [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); }};
}

// One constructor for each kind of field.

constexpr Field count(std::string_view name) { return {.name = name, .kind = FieldKind::count}; }

struct Range {
  std::int64_t min = std::numeric_limits<std::int32_t>::min();
  std::int64_t max = std::numeric_limits<std::int32_t>::max();
};
inline constexpr Range kAnyInt32{};
inline constexpr Range kNonNegative{.min = 0};
inline constexpr Range kPositive{.min = 1};

template <auto Member>
constexpr Field integer(std::string_view name, std::string_view summary, Range range = {},
                        std::optional<std::int64_t> default_value = {}) {
  static_assert(detail::kHolds<Member, std::int64_t>);
  return {.name = name,
          .summary = summary,
          .kind = FieldKind::integer,
          .min = range.min,
          .max = range.max,
          .default_value = default_value,
          .slot = detail::slot<Member>};
}

template <auto Member>
constexpr Field flag(std::string_view name, std::string_view summary, std::optional<std::int64_t> default_value = 0) {
  static_assert(detail::kHolds<Member, bool>);
  return {.name = name,
          .summary = summary,
          .kind = FieldKind::flag,
          .default_value = default_value,
          .slot = detail::slot<Member>};
}

template <auto Member>
constexpr Field real(std::string_view name, std::string_view summary) {
  static_assert(detail::kHolds<Member, double>);
  return {.name = name, .summary = summary, .kind = FieldKind::real, .slot = detail::slot<Member>};
}

template <auto Member>
constexpr Field dtype(std::string_view name, std::string_view summary) {
  static_assert(detail::kHolds<Member, DType>);
  return {.name = name, .summary = summary, .kind = FieldKind::dtype, .slot = detail::slot<Member>};
}

template <auto Member>
constexpr Field mode(std::string_view name, std::string_view summary) {
  static_assert(detail::kHolds<Member, QuantMode>);
  return {.name = name, .summary = summary, .kind = FieldKind::mode, .slot = detail::slot<Member>};
}

template <auto Member>
constexpr Field integers(std::string_view name, std::string_view summary, Extent extent, Range range = {},
                         bool interleaved = false) {
  static_assert(detail::kHolds<Member, Ints>);
  return {.name = name,
          .summary = summary,
          .kind = FieldKind::integers,
          .extent = extent,
          .interleaved = interleaved,
          .min = range.min,
          .max = range.max,
          .slot = detail::slot<Member>};
}

/// A counted list that builder and text form may leave out when it is empty.
template <auto Member>
constexpr Field optional_integers(std::string_view name, std::string_view summary, Range range = {}) {
  Field field = integers<Member>(name, summary, Extent::own, range);
  field.may_be_left_out = true;
  return field;
}

template <auto Member>
constexpr Field types(std::string_view name, std::string_view summary) {
  static_assert(detail::kHolds<Member, std::vector<TensorType>>);
  return {
      .name = name, .summary = summary, .kind = FieldKind::types, .extent = Extent::own, .slot = detail::slot<Member>};
}

/// A named attribute value as the builder and the text form give it.
using Value = std::variant<std::int64_t, bool, double, DType, Name, Ints, std::vector<TensorType>>;

/// Positional attributes to the op's struct. The error names the attribute, what was seen and what is wanted.
Result<AttrBox> decode_attrs(const Schema& schema, std::span<const Attr> attrs);

/// The op's struct to positional attributes.
std::vector<Attr> encode_attrs(const Schema& schema, const void* attrs);

/// Named values to positional attributes; defaults fill in what is left out.
Result<std::vector<Attr>> attrs_from_named(const Schema& schema, std::span<const std::pair<std::string, Value>> named);

/// The op's struct as named values, in field order.
std::vector<std::pair<std::string_view, Value>> named_attrs(const Schema& schema, const void* attrs);

/// "n, low x n, high x n": the layout for people.
std::string describe_wire(const Schema& schema);

/// The kind of a field in words, "integer" or "list of integers".
std::string_view kind_name(const Field& field);

}  // namespace reprise::ops
