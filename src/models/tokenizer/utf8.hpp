// UTF-8, one character at a time, for text that may be broken.
//
//   const Utf8Char c = read_utf8(text, pos);   // never fails; text[pos, pos + c.length) is one character or one fault
//
//   Utf8Repair repair;
//   repair.feed("\xF0\x9F");                   // "": half a character is held back
//   repair.feed("\xA6\x99");                   // the llama
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprise {

enum class Utf8Status {
  valid,       ///< a character
  invalid,     ///< bytes that no continuation can mend
  incomplete,  ///< the text ends inside a character
};

struct Utf8Char {
  char32_t code_point = 0xFFFD;  ///< U+FFFD unless valid
  std::size_t length = 0;  ///< bytes: of the character, or of the longest start of one before the fault (at least 1)
  Utf8Status status = Utf8Status::invalid;
};

/// The character at `pos`, which must be inside `text`. Overlong forms, surrogates and code points past U+10FFFF are
/// invalid. A fault covers the longest prefix of a character, so that one broken character is replaced by one mark.
Utf8Char read_utf8(std::string_view text, std::size_t pos);

bool is_valid_utf8(std::string_view text);

/// Turns a stream of bytes into a stream of whole characters.
class Utf8Repair {
 public:
  /// The characters completed by `bytes`. Invalid bytes become U+FFFD as soon as they are known to be invalid.
  std::string feed(std::string_view bytes);

  /// What is left over, as U+FFFD; ready for the next stream afterwards.
  std::string finish();

 private:
  std::string held_;  // the start of a character: three bytes at most
};

}  // namespace reprise
