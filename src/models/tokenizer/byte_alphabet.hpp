// The GPT-2 byte alphabet: every byte as one printable character, the form in which vocabularies store their tokens.
//
//   byte_to_symbol(' ')       // U+0120, printed as a G with a dot
//   bytes_of("\u0120the")     // " the"
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprise {

/// Printable bytes of Latin-1 stand for themselves; the others are U+0100 onwards, in order.
char32_t byte_to_symbol(std::uint8_t byte);

/// The UTF-8 form of byte_to_symbol(byte).
std::string byte_to_symbol_text(std::uint8_t byte);

/// The bytes that `token` stands for, or nothing if a character of it is not in the alphabet.
std::optional<std::string> bytes_of(std::string_view token);

}  // namespace reprise
