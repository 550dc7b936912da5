#include "models/tokenizer/byte_alphabet.hpp"

#include "models/tokenizer/utf8.hpp"

namespace reprise {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<char32_t, 256> make_symbols() {
  std::array<char32_t, 256> symbols{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    symbols[static_cast<std::size_t>(byte)] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return symbols;
}

constexpr auto kSymbols = make_symbols();
constexpr char32_t kLastSymbol = 0x143;
static_assert(kSymbols[0xAD] == kLastSymbol, "the soft hyphen is the last byte that needs a stand-in");

constexpr std::array<int, kLastSymbol + 1> make_bytes() {
  std::array<int, kLastSymbol + 1> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[kSymbols[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}

constexpr auto kBytes = make_bytes();

}  // namespace

char32_t byte_to_symbol(std::uint8_t byte) { return kSymbols[byte]; }

std::string byte_to_symbol_text(std::uint8_t byte) {
  const char32_t c = kSymbols[byte];
  if (c < 0x80) return std::string(1, static_cast<char>(c));
  return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
}

std::optional<std::string> bytes_of(std::string_view token) {
  std::string bytes;
  for (std::size_t pos = 0; pos < token.size();) {
    const Utf8Char c = read_utf8(token, pos);
    if (c.status != Utf8Status::valid || c.code_point > kLastSymbol || kBytes[c.code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(kBytes[c.code_point]);
    pos += c.length;
  }
  return bytes;
}

}  // namespace reprise
