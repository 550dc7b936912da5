#include "io/text/scanner.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "base/format.hpp"
#include "io/text/literal.hpp"

namespace reprise::text {
namespace {

/// How much of a wrong piece an error shows.
constexpr std::size_t kShown = 40;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::size_t digits(std::string_view text, std::size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

}  // namespace

Scanner::Scanner(std::string_view text) : text_(text) {
  if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // a byte order mark, as some editors write it
}

std::size_t Scanner::here() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  return at_;
}

bool Scanner::at_text_end() { return here() >= text_.size(); }

bool Scanner::at_line_end() {
  here();
  return at_ >= text_.size() || text_[at_] == '#' || text_[at_] == '\n' || peek_raw(2) == "\r\n";
}

Status Scanner::end_line(std::string_view wanted) {
  if (!at_line_end()) return error(wanted);
  at_ = std::min(text_.find('\n', at_), text_.size());
  if (at_ < text_.size()) ++at_;
  return {};
}

void Scanner::skip_empty_lines() {
  while (!at_text_end() && at_line_end()) {
    at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ < text_.size()) ++at_;
  }
}

bool Scanner::next_is(char c) { return here() < text_.size() && text_[at_] == c; }

bool Scanner::take(char c) {
  if (!next_is(c)) return false;
  ++at_;
  return true;
}

Status Scanner::expect(char c) {
  if (take(c)) return {};
  return error(fmt::format("'{}'", c));
}

std::string_view Scanner::peek_word() {
  std::size_t end = here();
  if (end < text_.size() && is_digit(text_[end])) return {};
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::word() {
  const std::string_view found = peek_word();
  at_ += found.size();
  return found;
}

bool Scanner::take_word(std::string_view wanted) {
  if (peek_word() != wanted) return false;
  at_ += wanted.size();
  return true;
}

Result<std::string> Scanner::string() {
  const std::size_t start = here();
  if (!take('"')) return error("a string in double quotes");
  std::string out;
  while (true) {
    // Whole runs at a time: a name may be long.
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\\' && text_[end] != '\n') ++end;
    out.append(text_, at_, end - at_);
    at_ = end;
    if (at_ >= text_.size() || text_[at_] == '\n') return message_at(start, "a string without its closing quote");
    if (text_[at_++] == '"') return out;
    const char kind = at_ < text_.size() ? text_[at_] : '\0';
    switch (kind) {
      case '"':
      case '\\': out += kind; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'x': {
        const int high = at_ + 1 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
        const int low = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 2]) : -1;
        if (high < 0 || low < 0) return message_at(at_ - 1, "\\x without two hexadecimal digits");
        out += static_cast<char>(high * 16 + low);
        at_ += 2;
        break;
      }
      default: return message_at(at_ - 1, R"(an unknown escape; wanted \", \\, \n, \r, \t or \x and two digits)");
    }
    ++at_;
  }
}

// Sign, digits, fraction, exponent and the `u` of an unsigned number, as far as they go.
std::string_view Scanner::number_token() const {
  std::size_t end = at_;
  if (end < text_.size() && text_[end] == '-') ++end;
  const std::size_t first = end;
  end = digits(text_, end);
  if (end == first) return {};
  if (end < text_.size() && text_[end] == '.') end = digits(text_, end + 1);
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text_.size() && (text_[exponent] == '-' || text_[exponent] == '+')) ++exponent;
    if (digits(text_, exponent) > exponent) end = digits(text_, exponent);
  }
  if (end < text_.size() && text_[end] == 'u') ++end;
  if (end < text_.size() && is_word_char(text_[end])) return {};
  return text_.substr(at_, end - at_);
}

Result<std::int64_t> Scanner::integer(std::string_view wanted) {
  const std::size_t start = here();
  const std::string_view token = number_token();
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || end != token.data() + token.size() || status == std::errc::invalid_argument) {
    return error_at(start, wanted);
  }
  if (status != std::errc()) return error_at(start, "an integer of 64 bits");
  at_ += token.size();
  return value;
}

Result<double> Scanner::real(std::string_view wanted) {
  const std::size_t start = here();
  if (take_word("inf")) return kInfinity;
  if (take_word("nan")) return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
  if (peek_raw(4) == "-inf" && (start + 4 >= text_.size() || !is_word_char(text_[start + 4]))) {
    at_ += 4;
    return -kInfinity;
  }
  if (take_word("bits")) {
    const auto bad = [&] { return error_at(start, "bits(0x...) with 1 to 16 hexadecimal digits"); };
    if (!take('(') || here() >= text_.size() || peek_raw(2) != "0x") return bad();
    at_ += 2;
    std::uint64_t bits = 0;
    const std::string_view token = peek_raw(17);
    const auto [end, status] = std::from_chars(token.data(), token.data() + token.size(), bits, 16);
    if (status != std::errc()) return bad();
    at_ += static_cast<std::size_t>(end - token.data());
    if (!take(')')) return bad();
    return std::bit_cast<double>(bits);
  }
  const std::string_view token = number_token();
  double value = 0;
  const auto [end, status] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || end != token.data() + token.size() || status == std::errc::invalid_argument) {
    return error_at(start, wanted);
  }
  if (status != std::errc()) return error_at(start, "a number in the range of a binary64");
  at_ += token.size();
  return value;
}

Result<Scanner::Number> Scanner::number(std::string_view wanted) {
  const std::size_t start = here();
  std::string_view token = number_token();
  const bool is_unsigned = token.ends_with('u');
  if (token.empty() || (!is_unsigned && token.find_first_of(".eE") != std::string_view::npos)) {
    REPRISE_ASSIGN(const double value, real(wanted));
    return Number(value);
  }
  const std::size_t length = token.size();
  if (is_unsigned) token.remove_suffix(1);
  const char* const last = token.data() + token.size();
  if (!is_unsigned) {
    std::int64_t value = 0;
    if (std::from_chars(token.data(), last, value).ec == std::errc()) {
      at_ += length;
      return Number(value);
    }
  }
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(token.data(), last, value);
  if (status != std::errc() || end != last) return error_at(start, "an integer of 64 bits");
  at_ += length;
  return Number(value);
}

std::string Scanner::seen(std::size_t position) const {
  if (position >= text_.size()) return "end of text";
  const char c = text_[position];
  if (c == '\n' || c == '#' || text_.substr(position, 2) == "\r\n") return "end of line";
  std::size_t end = position + 1;
  if (c == '"') {
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n' && end - position <= kShown) ++end;
    if (end < text_.size() && text_[end] == '"') ++end;
  } else if (is_word_char(c) || ((c == '%' || c == '-') && end < text_.size() && is_word_char(text_[end]))) {
    while (end < text_.size() && (is_word_char(text_[end]) || text_[end] == '.') && end - position <= kShown) ++end;
  }
  std::string_view piece = text_.substr(position, end - position);
  if (piece.size() > kShown) piece = piece.substr(0, kShown);
  std::string shown;
  for (const char p : piece) {
    const auto byte = static_cast<unsigned char>(p);
    shown += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, p);
  }
  return fmt::format("'{}{}'", shown, end - position > kShown ? "..." : "");
}

Error Scanner::message_at(std::size_t position, std::string_view text) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // 0 when there is none
  const auto column =
      1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // continuation bytes are part of a character
      });
  return make_error(ErrorCode::parse, "line {}, column {}: {}", line, column, text);
}

Error Scanner::error_at(std::size_t position, std::string_view wanted) const {
  return message_at(position, fmt::format("seen {}, wanted {}", seen(position), wanted));
}

Error Scanner::wrap_at(std::size_t position, std::string_view what, const Error& error) const {
  return message_at(position, fmt::format("{}: {}", what, error.message()));
}

}  // namespace reprise::text
