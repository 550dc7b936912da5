#include "io/npy/header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/format.hpp"

namespace reprise {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64;     // of the first element; what NumPy writes
constexpr std::size_t kMaxText = 1 << 16;  // far above what 64 axes need
constexpr std::size_t kMaxRank = 64;       // NumPy's own limit

struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {{"b1", DType::bool_},    {"u1", DType::uint8},   {"u2", DType::uint16},
                                   {"u4", DType::uint32},   {"u8", DType::uint64},  {"i1", DType::int8},
                                   {"i2", DType::int16},    {"i4", DType::int32},   {"i8", DType::int64},
                                   {"f2", DType::float16},  {"f4", DType::float32}, {"f8", DType::float64},
                                   {"c8", DType::complex64}};

Error bad(std::string message) { return Error(ErrorCode::bad_file, std::move(message)); }

// Text of an untrusted file as it may appear in a message: short, and one line.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 40)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > 40 ? "...'" : "'");
}

Error unsupported_type(std::string_view descr) {
  constexpr std::string_view wanted = "wanted b1, u1 to u8, i1 to i8, f2, f4, f8 or c8";
  const std::string_view code = descr.substr(std::min<std::size_t>(descr.size(), 1));
  std::string_view why = "is not a tensor's";
  if (code == "V2") {
    why = "are untyped pairs of bytes, as a bfloat16 array is written by NumPy; convert to float32 before saving";
  } else if (code == "c16") {
    why = "is complex128, which would lose precision; convert to complex64 before saving";
  } else if (code == "f16" || code == "f12") {
    why = "is extended precision; convert to float64 before saving";
  } else if (code.starts_with("O")) {
    why = "are pickled Python objects, which are never loaded";
  } else if (code.starts_with("M") || code.starts_with("m")) {
    why = "are dates; convert to int64 before saving";
  }
  return make_error(ErrorCode::unsupported, "element type {} {}; {}", quoted(descr), why, wanted);
}

// Walks over the dictionary's text. Every error names the offset in the text.
class Parser {
 public:
  Parser(std::string_view text, int version) : text_(text), version_(version) {}

  Result<NpyHeader> parse() {
    skip_spaces();
    if (!take('{')) return wanted("'{'");
    while (true) {
      skip_spaces();
      if (take('}')) break;
      REPRISE_ASSIGN(const std::string_view key, parse_string("a key in quotes or '}'"));
      skip_spaces();
      if (!take(':')) return wanted("':'");
      skip_spaces();
      REPRISE_RETURN_IF_ERROR(parse_value(key));
      skip_spaces();
      if (take(',')) continue;
      skip_spaces();
      if (!take('}')) return wanted("',' or '}'");
      break;
    }
    while (at_ < text_.size()) {
      if (peek() != ' ' && peek() != '\n') return wanted("nothing but spaces after '}'");
      ++at_;
    }
    if (!has_type_) return bad("header has no key 'descr'");
    if (!has_order_) return bad("header has no key 'fortran_order'");
    if (!has_shape_) return bad("header has no key 'shape'");
    return std::move(header_);
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  Error wanted(std::string_view what) const {
    return make_error(ErrorCode::bad_file, "header text at {}: {}, wanted {}", at_,
                      at_ < text_.size() ? quoted(text_.substr(at_, 1)) : std::string("ends"), what);
  }

  Result<std::string_view> parse_string(std::string_view what) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return wanted(what);
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] < ' ' || text_[at_] > '~' || text_[at_] == '\\') return wanted("a plain character or a quote");
      ++at_;
    }
    const std::string_view result = text_.substr(begin, at_ - begin);
    if (!take(quote)) return wanted("a closing quote");
    return result;
  }

  Status parse_value(std::string_view key) {
    bool* seen = key == "descr"           ? &has_type_
                 : key == "fortran_order" ? &has_order_
                 : key == "shape"         ? &has_shape_
                                          : nullptr;
    if (!seen) {
      return make_error(ErrorCode::bad_file, "header has key {}, wanted 'descr', 'fortran_order' and 'shape'",
                        quoted(key));
    }
    if (*seen) return make_error(ErrorCode::bad_file, "header has key {} twice", quoted(key));
    *seen = true;
    if (seen == &has_type_) return parse_type();
    if (seen == &has_shape_) return parse_shape();
    if (take("True")) {
      header_.fortran_order = true;
    } else if (!take("False")) {
      return wanted("True or False");
    }
    return {};
  }

  Status parse_type() {
    if (peek() == '[' || peek() == '(') {
      return make_error(ErrorCode::unsupported, "elements are records with fields; save each field as an array");
    }
    REPRISE_ASSIGN(const std::string_view descr, parse_string("an element type in quotes"));
    const char order = descr.empty() ? '\0' : descr[0];
    if (order != '<' && order != '>' && order != '|') {
      return make_error(ErrorCode::bad_file, "element type {}: wanted '<', '>' or '|' before the kind", quoted(descr));
    }
    for (const TypeCode& row : kTypeCodes) {
      if (row.code != descr.substr(1)) continue;
      if (order == '|' && size_of(row.dtype) > 1) {
        return make_error(ErrorCode::bad_file,
                          "element type {} of several bytes names no byte order, wanted '<' or '>'", quoted(descr));
      }
      header_.dtype = row.dtype;
      header_.big_endian = order == '>' && size_of(row.dtype) > 1;
      return {};
    }
    return unsupported_type(descr);
  }

  Status parse_shape() {
    if (!take('(')) return wanted("'(' of a shape");
    bool comma = true;
    while (true) {
      skip_spaces();
      if (take(')')) break;
      if (!comma) return wanted("',' or ')'");
      REPRISE_RETURN_IF_ERROR(parse_axis());
      skip_spaces();
      comma = take(',');
    }
    // In Python (3) is a number; a tuple of one is (3,).
    if (header_.shape.size() == 1 && !comma) return bad("header's shape is a number, wanted a tuple such as (3,)");
    return {};
  }

  Status parse_axis() {
    if (header_.shape.size() == kMaxRank) {
      return make_error(ErrorCode::unsupported, "shape has more than {} axes", kMaxRank);
    }
    const std::string_view rest = text_.substr(at_);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc::result_out_of_range) {
      return make_error(ErrorCode::bad_file, "shape's axis {} does not fit in 64 bits", header_.shape.size());
    }
    if (error != std::errc() || value < 0) return wanted("an axis length of zero or more");
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (digits > 1 && rest[0] == '0') return wanted("an axis length without leading zeros");
    // MLX counts an axis in 32 bits.
    if (value > std::numeric_limits<std::int32_t>::max()) {
      return make_error(ErrorCode::unsupported, "shape's axis {} has {} elements, at most 2147483647 are supported",
                        header_.shape.size(), value);
    }
    at_ += digits;
    if (version_ < 3) take('L');  // Python 2 wrote long integers so
    header_.shape.push_back(value);
    return {};
  }

  std::string_view text_;
  int version_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
};

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

Result<NpyHeader> read_npy_header(std::uint64_t file_size, const ReadBytes& read) {
  constexpr std::size_t lead = kMagic.size() + 2;
  std::array<std::byte, lead + 4> start{};
  if (file_size < lead + 2) {
    return make_error(ErrorCode::bad_file, "not a npy file: it has {} bytes, a header at least {}", file_size,
                      lead + 2);
  }
  REPRISE_RETURN_IF_ERROR(read(std::span(start).first(lead + 2)));
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, std::byte b) { return static_cast<std::byte>(a) == b; })) {
    return bad("not a npy file: it does not begin with '\\x93NUMPY'");
  }
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return make_error(ErrorCode::unsupported, "npy version {}.{}, wanted 1.0, 2.0 or 3.0", major, minor);
  }
  std::size_t before_text = lead + 2;
  if (major > 1) {
    before_text = lead + 4;
    if (file_size < before_text) return bad("the file ends within the length of its header");
    REPRISE_RETURN_IF_ERROR(read(std::span(start).subspan(lead + 2, 2)));
  }
  const std::uint32_t length = little_endian(std::span(start).subspan(lead, before_text - lead));
  if (length > file_size - before_text) {
    return make_error(ErrorCode::bad_file, "header of {} bytes, but only {} bytes follow", length,
                      file_size - before_text);
  }
  if (length > kMaxText) {
    return make_error(ErrorCode::limit, "header of {} bytes, at most {} are read", length, kMaxText);
  }
  std::string text(length, '\0');
  REPRISE_RETURN_IF_ERROR(read(std::as_writable_bytes(std::span(text))));
  REPRISE_ASSIGN(NpyHeader header, Parser(text, major).parse());

  const std::uint64_t follow = file_size - before_text - length;
  const std::optional<std::int64_t> count = element_count(header.shape);
  const std::uint64_t item = size_of(header.dtype);
  if (!count || static_cast<std::uint64_t>(*count) > std::numeric_limits<std::size_t>::max() / item) {
    return make_error(ErrorCode::bad_file, "shape {} has more elements than can be counted",
                      to_string(header.shape).substr(0, 200));
  }
  if (static_cast<std::uint64_t>(*count) * item != follow) {
    return make_error(ErrorCode::bad_file, "{} takes {} bytes, but {} follow the header",
                      to_string(TensorType{header.dtype, header.shape}), static_cast<std::uint64_t>(*count) * item,
                      follow);
  }
  return header;
}

std::size_t npy_data_size(const NpyHeader& header) {
  return static_cast<std::size_t>(element_count(header.shape).value_or(0)) * size_of(header.dtype);
}

std::string encode_npy_header(const NpyHeader& header) {
  const auto* row = std::find_if(std::begin(kTypeCodes), std::end(kTypeCodes),
                                 [&](const TypeCode& r) { return r.dtype == header.dtype; });
  const char order = size_of(header.dtype) == 1 ? '|' : header.big_endian ? '>' : '<';
  std::string shape;
  for (const std::int64_t axis : header.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", axis);
  if (header.shape.size() == 1) shape += ',';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': ({}), }}", order, row->code,
                                 header.fortran_order ? "True" : "False", shape);
  // NumPy leaves room for the growing axis to become 21 digits long, so that a file can be appended to.
  if (!header.shape.empty()) {
    const std::int64_t growing = header.fortran_order ? header.shape.back() : header.shape.front();
    text.append(21 - std::to_string(growing).size(), ' ');
  }
  const auto pad_after = [&](std::size_t before) {
    return kAlignment - (before + text.size() + 1) % kAlignment;  // one to 64 spaces, as NumPy
  };
  std::size_t before = kMagic.size() + 4;
  const bool long_text = text.size() + 1 + pad_after(before) > std::numeric_limits<std::uint16_t>::max();
  if (long_text) before += 2;
  text.append(pad_after(before), ' ');
  text += '\n';

  std::string result(kMagic);
  result += long_text ? '\2' : '\1';
  result += '\0';
  for (std::size_t i = 0; i < before - kMagic.size() - 2; ++i)
    result += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return result + text;
}

}  // namespace reprise
