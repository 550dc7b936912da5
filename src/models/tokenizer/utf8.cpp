#include "models/tokenizer/utf8.hpp"

namespace reprise {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What a lead byte promises: the length, its own bits, and the bounds of the second byte, which exclude overlong forms,
// surrogates and what lies past U+10FFFF. Length 0: not a lead byte.
struct Lead {
  std::size_t length;
  unsigned bits;
  unsigned second_low;
  unsigned second_high;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1, byte, 0, 0};
  if (byte < 0xC2) return {0, 0, 0, 0};
  if (byte < 0xE0) return {2, byte & 0x1F, 0x80, 0xBF};
  if (byte < 0xF0) return {3, byte & 0x0F, byte == 0xE0 ? 0xA0u : 0x80u, byte == 0xED ? 0x9Fu : 0xBFu};
  if (byte < 0xF5) return {4, byte & 0x07, byte == 0xF0 ? 0x90u : 0x80u, byte == 0xF4 ? 0x8Fu : 0xBFu};
  return {0, 0, 0, 0};
}

}  // namespace

Utf8Char read_utf8(std::string_view text, std::size_t pos) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[pos]));
  if (lead.length == 0) return {0xFFFD, 1, Utf8Status::invalid};
  unsigned code_point = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (pos + i >= text.size()) return {0xFFFD, i, Utf8Status::incomplete};
    const unsigned byte = static_cast<unsigned char>(text[pos + i]);
    const unsigned low = i == 1 ? lead.second_low : 0x80;
    const unsigned high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {0xFFFD, i, Utf8Status::invalid};
    code_point = code_point << 6 | (byte & 0x3F);
  }
  return {static_cast<char32_t>(code_point), lead.length, Utf8Status::valid};
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t pos = 0; pos < text.size();) {
    const Utf8Char c = read_utf8(text, pos);
    if (c.status != Utf8Status::valid) return false;
    pos += c.length;
  }
  return true;
}

std::string Utf8Repair::feed(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  std::size_t pos = 0;
  while (pos < held_.size()) {
    const Utf8Char c = read_utf8(held_, pos);
    if (c.status == Utf8Status::incomplete) break;
    out += c.status == Utf8Status::valid ? std::string_view(held_).substr(pos, c.length) : kReplacement;
    pos += c.length;
  }
  held_.erase(0, pos);
  return out;
}

std::string Utf8Repair::finish() {
  // What is held is the start of a single character.
  const bool broken = !held_.empty();
  held_.clear();
  return broken ? std::string(kReplacement) : std::string();
}

}  // namespace reprise
