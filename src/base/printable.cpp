#include "base/printable.hpp"

#include <fmt/format.h>

namespace reprise {

std::string printable(std::string_view text, std::size_t most) {
  std::string_view shown = text.substr(0, most);
  if (shown.size() < text.size()) {
    // Not in the middle of a character.
    while (!shown.empty() && (static_cast<unsigned char>(text[shown.size()]) & 0xc0) == 0x80) shown.remove_suffix(1);
  }
  std::string out;
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return shown.size() < text.size() ? out + "..." : out;
}

}  // namespace reprise
