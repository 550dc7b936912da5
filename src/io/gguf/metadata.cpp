// Metadata values: reading, describing and typed access.
#include <exception>
#include <utility>

#include "io/gguf/value_reader.hpp"

namespace reprise::gguf {
namespace {

bool is_known(ValueType type) { return type <= ValueType::f64; }

// The least that an element takes in the file: a string has a length, an array a type and a count.
std::size_t least_size(ValueType type) {
  return type == ValueType::string ? 8 : type == ValueType::array ? 12 : scalar_size(type);
}

Status check_bools(std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    if (b > std::byte{1}) {
      return make_error(ErrorCode::bad_file, "a bool is {}, wanted 0 or 1", std::to_integer<int>(b));
    }
  }
  return {};
}

std::string_view text_of(const Value& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

/// Calls `use` with the number in its own type; false for what is no integer.
template <typename Use>
bool with_integer(ValueType type, const std::byte* bytes, Use use) {
  switch (type) {
    case ValueType::u8: use(load<std::uint8_t>(bytes)); return true;
    case ValueType::i8: use(load<std::int8_t>(bytes)); return true;
    case ValueType::u16: use(load<std::uint16_t>(bytes)); return true;
    case ValueType::i16: use(load<std::int16_t>(bytes)); return true;
    case ValueType::u32: use(load<std::uint32_t>(bytes)); return true;
    case ValueType::i32: use(load<std::int32_t>(bytes)); return true;
    case ValueType::u64: use(load<std::uint64_t>(bytes)); return true;
    case ValueType::i64: use(load<std::int64_t>(bytes)); return true;
    default: return false;
  }
}

template <typename T>
std::optional<T> integer_at(ValueType type, const std::byte* bytes) {
  std::optional<T> result;
  with_integer(type, bytes, [&](auto number) {
    if (std::in_range<T>(number)) result = static_cast<T>(number);
  });
  return result;
}

std::optional<double> float_at(ValueType type, const std::byte* bytes) {
  if (type == ValueType::f32) return load<float>(bytes);
  if (type == ValueType::f64) return load<double>(bytes);
  return std::nullopt;
}

template <typename T>
std::optional<T> as_integer(const Value& value) {
  return integer_at<T>(value.type, value.bytes.data());
}

std::optional<double> as_float(const Value& value) { return float_at(value.type, value.bytes.data()); }

std::optional<bool> as_bool(const Value& value) {
  if (value.type != ValueType::boolean) return std::nullopt;
  return value.bytes.front() != std::byte{0};
}

std::optional<std::string_view> as_string(const Value& value) {
  if (value.type != ValueType::string) return std::nullopt;
  return text_of(value);
}

/// The array as numbers of one type; nothing when it is no array or an element does not convert. An empty array must
/// have the right type as well, which one element of zeros tells.
template <typename T, typename Convert>
std::optional<std::vector<T>> as_numbers(const Value& value, Convert convert) {
  constexpr std::byte kZeros[8] = {};
  if (value.type != ValueType::array || !convert(value.element_type, kZeros)) return std::nullopt;
  const std::size_t size = scalar_size(value.element_type);
  std::vector<T> numbers;
  numbers.reserve(value.bytes.size() / size);
  for (std::size_t at = 0; at < value.bytes.size(); at += size) {
    const std::optional<T> number = convert(value.element_type, value.bytes.data() + at);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::vector<std::int64_t>> as_integers(const Value& value) {
  return as_numbers<std::int64_t>(value, integer_at<std::int64_t>);
}

std::optional<std::vector<double>> as_floats(const Value& value) { return as_numbers<double>(value, float_at); }

std::optional<std::vector<std::string_view>> as_strings(const Value& value) {
  if (value.type != ValueType::array || value.element_type != ValueType::string) return std::nullopt;
  std::vector<std::string_view> strings;
  for (const Value& element : elements(value)) strings.push_back(text_of(element));
  return strings;
}

}  // namespace

std::size_t scalar_size(ValueType type) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean: return 1;
    case ValueType::u16:
    case ValueType::i16: return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32: return 4;
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64: return 8;
    case ValueType::string:
    case ValueType::array: return 0;
  }
  return 0;
}

Result<Value> read_value(Cursor& cursor, ValueType type, int depth) {
  if (!is_known(type)) {
    return make_error(ErrorCode::bad_file, "value type is {}, the last known one is 12",
                      static_cast<std::uint32_t>(type));
  }
  Value value{.type = type};
  if (type == ValueType::string) {
    REPRISE_ASSIGN(const auto text, cursor.read_string("string"));
    value.bytes = std::as_bytes(std::span(text));
    return value;
  }
  if (type != ValueType::array) {
    REPRISE_ASSIGN(value.bytes, cursor.take(scalar_size(type), "value"));
    if (type == ValueType::boolean) REPRISE_RETURN_IF_ERROR(check_bools(value.bytes));
    return value;
  }

  if (depth == 0) return make_error(ErrorCode::limit, "arrays nest deeper than {} levels", kDeepestArray);
  REPRISE_ASSIGN(const auto element_type, cursor.read<std::uint32_t>("array element type"));
  REPRISE_ASSIGN(value.count, cursor.read<std::uint64_t>("array length"));
  value.element_type = static_cast<ValueType>(element_type);
  if (!is_known(value.element_type)) {
    return make_error(ErrorCode::bad_file, "array element type is {}, the last known one is 12", element_type);
  }
  REPRISE_RETURN_IF_ERROR(cursor.check_count(value.count, least_size(value.element_type), "array"));
  const std::size_t start = cursor.position();
  if (const std::size_t size = scalar_size(value.element_type); size != 0) {
    REPRISE_ASSIGN(value.bytes, cursor.take(value.count * size, "array"));
    if (value.element_type == ValueType::boolean) REPRISE_RETURN_IF_ERROR(check_bools(value.bytes));
    return value;
  }
  for (std::uint64_t i = 0; i < value.count; ++i) {
    if (const auto element = read_value(cursor, value.element_type, depth - 1); !element) {
      // A long chain of contexts says no more than the innermost one.
      return depth == kDeepestArray ? element.error().with_context(fmt::format("array element {}", i))
                                    : element.error();
    }
  }
  value.bytes = cursor.since(start);
  return value;
}

std::vector<Value> elements(const Value& array) {
  std::vector<Value> result;
  if (array.type != ValueType::array) return result;
  result.reserve(static_cast<std::size_t>(array.count));
  Cursor cursor(array.bytes);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    auto element = read_value(cursor, array.element_type, kDeepestArray);
    if (!element) break;  // cannot be: the bytes were checked when the file was opened
    result.push_back(*element);
  }
  return result;
}

std::string describe(const Value& value) {
  std::string text(name(value.type));
  with_integer(value.type, value.bytes.data(), [&](auto number) { text += fmt::format(" {}", number); });
  if (const auto number = as_float(value)) text += fmt::format(" {}", *number);
  if (const auto flag = as_bool(value)) text += *flag ? " true" : " false";
  if (const auto string = as_string(value)) text += fmt::format(" {}", quote(*string));
  if (value.type == ValueType::array) text += fmt::format(" of {} {}", value.count, name(value.element_type));
  return text;
}

const Value* File::find(std::string_view key) const {
  const auto found = entry_index_.find(key);
  return found == entry_index_.end() ? nullptr : &entries_[found->second].value;
}

template <typename T>
Result<T> File::get(std::string_view key, std::optional<T> (*convert)(const Value&), std::string_view wanted) const {
  const Value* value = find(key);
  if (value == nullptr) {
    return make_error(ErrorCode::not_found, "{}: key {}: missing, wanted {}", path_, quote(key), wanted);
  }
  try {
    std::optional<T> converted = convert(*value);
    if (converted) return *std::move(converted);
    return make_error(ErrorCode::bad_file, "{}: key {}: is {}, wanted {}", path_, quote(key), describe(*value), wanted);
  } catch (const std::exception& e) {
    return make_error(ErrorCode::limit, "{}: key {}: out of memory: {}", path_, quote(key), e.what());
  }
}

Result<std::uint64_t> File::get_uint(std::string_view key) const {
  return get(key, as_integer<std::uint64_t>, "an integer of 0 or more");
}
Result<std::int64_t> File::get_int(std::string_view key) const {
  return get(key, as_integer<std::int64_t>, "an integer that i64 holds");
}
Result<double> File::get_float(std::string_view key) const { return get(key, as_float, "f32 or f64"); }
Result<bool> File::get_bool(std::string_view key) const { return get(key, as_bool, "bool"); }
Result<std::string_view> File::get_string(std::string_view key) const { return get(key, as_string, "string"); }
Result<std::vector<std::int64_t>> File::get_int_array(std::string_view key) const {
  return get(key, as_integers, "an array of integers that i64 holds");
}
Result<std::vector<double>> File::get_float_array(std::string_view key) const {
  return get(key, as_floats, "an array of f32 or f64");
}
Result<std::vector<std::string_view>> File::get_string_array(std::string_view key) const {
  return get(key, as_strings, "an array of string");
}

Result<std::uint64_t> File::get_uint_or(std::string_view key, std::uint64_t fallback) const {
  return has(key) ? get_uint(key) : fallback;
}
Result<std::int64_t> File::get_int_or(std::string_view key, std::int64_t fallback) const {
  return has(key) ? get_int(key) : fallback;
}
Result<double> File::get_float_or(std::string_view key, double fallback) const {
  return has(key) ? get_float(key) : fallback;
}
Result<bool> File::get_bool_or(std::string_view key, bool fallback) const {
  return has(key) ? get_bool(key) : fallback;
}
Result<std::string_view> File::get_string_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? get_string(key) : fallback;
}

}  // namespace reprise::gguf
