#include "io/text/literal.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace reprise::text {
namespace {

constexpr std::uint64_t kCanonicalNan = 0x7ff8000000000000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void append_escaped(std::string& out, std::string_view text, bool keep_high) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !keep_high)) {
          out += fmt::format("\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
}

// Length of the UTF-8 sequence at the start of `s`, or 0.
std::size_t sequence(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // The second byte's range excludes overlong forms, surrogates and what lies past U+10FFFF.
  if (lead == 0xe0 && at(1) < 0xa0) return 0;
  if (lead == 0xed && at(1) > 0x9f) return 0;
  if (lead == 0xf0 && at(1) < 0x90) return 0;
  if (lead == 0xf4 && at(1) > 0x8f) return 0;
  return n;
}

}  // namespace

bool is_word_char(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

bool is_word(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_word_char(c)) return false;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  append_escaped(out, text, is_utf8(text));
  return out + "\"";
}

std::string quote_bytes(std::string_view bytes) {
  std::string out = "b\"";
  append_escaped(out, bytes, false);
  return out + "\"";
}

std::string print_real(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) return bits == kCanonicalNan ? "nan" : fmt::format("bits({:#018x})", bits);
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string out(buffer.data(), end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string print_constant_value(const Constant& constant) {
  if (const auto* d = std::get_if<double>(&constant.value)) return print_real(*d);
  if (const auto* u = std::get_if<std::uint64_t>(&constant.value)) return fmt::format("{}u", *u);
  if (const auto* c = std::get_if<std::complex<double>>(&constant.value)) {
    return fmt::format("({}, {})", print_real(c->real()), print_real(c->imag()));
  }
  const auto i = std::get<std::int64_t>(constant.value);
  if (constant.dtype == DType::bool_ && (i == 0 || i == 1)) return i == 1 ? "true" : "false";
  return std::to_string(i);
}

std::string print_dtype(DType dtype) {
  if (static_cast<int>(dtype) >= kDTypeCount) return fmt::format("dtype({})", static_cast<int>(dtype));
  return std::string(short_name(dtype));
}

std::string print_name(std::string_view name) { return is_word(name) ? std::string(name) : quote(name); }

}  // namespace reprise::text
