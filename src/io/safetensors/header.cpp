#include "io/safetensors/header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/format.hpp"
#include "base/printable.hpp"

namespace reprise::safetensors {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

// In the order of DType.
constexpr std::string_view kNames[kDTypeCount] = {"BOOL", "U8",  "U16", "U32", "U64", "I8",   "I16",
                                                  "I32",  "I64", "F16", "F32", "F64", "BF16", "C64"};

std::optional<DType> dtype_from_file_name(std::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<DType>(found - std::begin(kNames));
}

std::string show(std::string_view text) { return fmt::format("\"{}\"", printable(text)); }

// Reads the JSON event by event: no tree of a large header is built, keys that occur twice are noticed, and whatever is
// nested deeper than a header is refused where it starts. nlohmann's callbacks return false to stop.
class Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Header take() { return std::move(header_); }
  Error error() const { return error_.value_or(Error(ErrorCode::bad_file, "the header is not a JSON object")); }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::start: place_ = Place::names; return true;
      case Place::entry:
        place_ = in_metadata_ ? Place::metadata : Place::fields;
        dtype_seen_ = shape_seen_ = offsets_ = false;
        offset_count_ = 0;
        return true;
      default: return unexpected("an object");
    }
  }

  bool key(string_t& key) {
    if (place_ == Place::names) {
      if (!names_.insert(key).second) return fail(fmt::format("{} occurs twice in the header", show(key)));
      in_metadata_ = key == kMetadata;
      if (!in_metadata_) header_.entries.emplace_back().name = key;
      place_ = Place::entry;
      return true;
    }
    if (place_ == Place::metadata) {
      if (!metadata_keys_.insert(key).second) return fail(fmt::format("{} occurs twice in __metadata__", show(key)));
      header_.metadata.emplace_back(key, "");
      return true;
    }
    if (key == "dtype") return field(Place::dtype, dtype_seen_, key);
    if (key == "shape") return field(Place::shape, shape_seen_, key);
    if (key == "data_offsets") return field(Place::offsets, offsets_, key);
    return fail(fmt::format("{}: field {}; wanted dtype, shape and data_offsets", current(), show(key)));
  }

  bool end_object() {
    if (place_ == Place::names) {
      place_ = Place::end;
      return true;
    }
    if (place_ == Place::fields) {
      if (!dtype_seen_ || !shape_seen_ || !offsets_) {
        return fail(fmt::format("{}: no {}", current(),
                                !dtype_seen_   ? "dtype"
                                : !shape_seen_ ? "shape"
                                               : "data_offsets"));
      }
    }
    place_ = Place::names;
    return true;
  }

  bool start_array(std::size_t) {
    if ((place_ == Place::shape || place_ == Place::offsets) && !in_array_) {
      in_array_ = true;
      return true;
    }
    return unexpected("an array");
  }

  bool end_array() {
    if (place_ == Place::offsets && offset_count_ != 2) {
      return fail(fmt::format("{}: data_offsets has {} numbers; wanted 2", current(), offset_count_));
    }
    in_array_ = false;
    place_ = Place::fields;
    return true;
  }

  bool string(string_t& value) {
    if (place_ == Place::metadata) {
      header_.metadata.back().second = value;
      return true;
    }
    if (place_ != Place::dtype) return unexpected("a string");
    const auto dtype = dtype_from_file_name(value);
    if (!dtype) {
      error_ = make_error(ErrorCode::unsupported, "{}: dtype {}; wanted one of {}", current(), show(value),
                          fmt::join(kNames, ", "));
      return false;
    }
    header_.entries.back().type.dtype = *dtype;
    place_ = Place::fields;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) {
    if (!in_array_) return unexpected("a number");
    Entry& entry = header_.entries.back();
    if (place_ == Place::offsets) {
      if (offset_count_ < 2) (offset_count_ == 0 ? entry.begin : entry.end) = value;
      ++offset_count_;
      return true;
    }
    if (value > std::numeric_limits<std::int32_t>::max()) {
      return fail(fmt::format("{}: a dimension of {}; at most {} can be held", current(), value,
                              std::numeric_limits<std::int32_t>::max()));
    }
    entry.type.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool null() {
    // What MLX writes when there is no metadata.
    if (place_ == Place::entry && in_metadata_) {
      place_ = Place::names;
      return true;
    }
    return unexpected("null");
  }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(number_integer_t value) { return unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) { return unexpected(show(text)); }
  bool binary(binary_t&) { return unexpected("binary data"); }

  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    return fail(fmt::format("the header is not JSON: byte {} does not fit", position));
  }

 private:
  enum class Place { start, names, entry, metadata, fields, dtype, shape, offsets, end };

  std::string current() const {
    return in_metadata_ ? std::string(kMetadata) : "tensor " + show(header_.entries.back().name);
  }

  bool field(Place place, bool& seen, std::string_view key) {
    if (seen) return fail(fmt::format("{}: {} occurs twice", current(), key));
    seen = true;
    place_ = place;
    return true;
  }

  bool fail(std::string text) {
    if (!error_) error_ = Error(ErrorCode::bad_file, std::move(text));
    return false;
  }

  bool unexpected(std::string_view seen) {
    switch (place_) {
      case Place::start: return fail(fmt::format("the header is {}; wanted an object", seen));
      case Place::entry: return fail(fmt::format("{} is {}; wanted an object", current(), seen));
      case Place::metadata:
        return fail(fmt::format("__metadata__ {} is {}; wanted a string (no tensor can be called __metadata__)",
                                show(header_.metadata.back().first), seen));
      case Place::dtype: return fail(fmt::format("{}: dtype is {}; wanted a string", current(), seen));
      case Place::shape:
      case Place::offsets:
        return fail(fmt::format("{}: {} in {}; wanted {}", current(), seen,
                                place_ == Place::shape ? "shape" : "data_offsets",
                                in_array_ ? "an integer of 0 or more" : "an array"));
      default: return fail(fmt::format("{} where the header wants none", seen));
    }
  }

  Header header_;
  std::optional<Error> error_;
  Place place_ = Place::start;
  bool in_array_ = false;
  bool in_metadata_ = false;
  bool dtype_seen_ = false;
  bool shape_seen_ = false;
  bool offsets_ = false;
  int offset_count_ = 0;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> metadata_keys_;
};

Status check_entry(const Entry& entry, std::uint64_t data_bytes) {
  const std::string text = "tensor " + show(entry.name);
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return make_error(ErrorCode::bad_file, "{}: data_offsets [{}, {}] in {} bytes of data", text, entry.begin,
                      entry.end, data_bytes);
  }
  const auto count = element_count(entry.type.shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(entry.type.dtype)), &bytes)) {
    return make_error(ErrorCode::bad_file, "{}: its shape has more bytes than 64 bits count", text);
  }
  if (entry.end - entry.begin != static_cast<std::uint64_t>(bytes)) {
    return make_error(ErrorCode::bad_file, "{}: data_offsets [{}, {}] hold {} bytes; its shape and dtype take {}", text,
                      entry.begin, entry.end, entry.end - entry.begin, bytes);
  }
  return {};
}

Status check_cover(const std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries[a].begin, entries[a].end) < std::pair(entries[b].begin, entries[b].end);
  });
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    if (entries[i].begin != at) {
      return make_error(ErrorCode::bad_file,
                        "tensor {}: its data starts at byte {}; wanted {}, where the one before ends",
                        show(entries[i].name), entries[i].begin, at);
    }
    at = entries[i].end;
  }
  if (at != data_bytes) {
    return make_error(ErrorCode::bad_file, "the file has {} bytes of data; its tensors take {}", data_bytes, at);
  }
  return {};
}

}  // namespace

std::string_view file_name(DType dtype) { return kNames[static_cast<std::size_t>(dtype)]; }

Result<Header> parse_header(std::string_view json, std::uint64_t data_bytes) {
  Handler handler;
  try {
    // Strict: nothing but blanks may follow the object.
    if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) return handler.error();
  } catch (const std::exception& e) {  // out of memory, or a surprise of the library
    return make_error(ErrorCode::bad_file, "the header cannot be read: {}", e.what());
  }
  Header header = handler.take();
  for (const Entry& entry : header.entries) REPRISE_RETURN_IF_ERROR(check_entry(entry, data_bytes));
  REPRISE_RETURN_IF_ERROR(check_cover(header.entries, data_bytes));
  return header;
}

}  // namespace reprise::safetensors
