// Reads the text form piece by piece and says where it is when a piece is wrong.
//
//   Scanner scanner(text);
//   if (!scanner.take('=')) return scanner.error("'='");  // "line 3, column 7: seen ':', wanted '='"
//
// Lines end a piece of a program, so only the line functions pass over line ends; everything else skips spaces and
// tabs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "reprise/status.hpp"

namespace reprise::text {

class Scanner {
 public:
  explicit Scanner(std::string_view text);

  /// Position after spaces and tabs: where the next piece starts.
  std::size_t here();
  bool at_text_end();
  bool at_line_end();  ///< nothing but a comment is left of the line

  void skip_empty_lines();
  Status end_line(std::string_view wanted);  ///< the line ends here; moves to the next one

  bool take(char c);
  bool take_word(std::string_view word);  ///< only as a whole word
  std::string_view peek_word();           ///< the word that starts here; empty if none does
  std::string_view word();                ///< the same, and moves past it
  bool next_is(char c);
  Status expect(char c);

  /// The next `n` characters without skipping anything; "" past the end.
  std::string_view peek_raw(std::size_t n) const { return text_.substr(at_, n); }
  void advance(std::size_t n) { at_ += n; }

  Result<std::string> string();  ///< "...", with escapes
  Result<std::int64_t> integer(std::string_view wanted);
  Result<double> real(std::string_view wanted);

  using Number = std::variant<double, std::int64_t, std::uint64_t>;
  /// An integer, an unsigned one (3u, or too large for int64), or a real.
  Result<Number> number(std::string_view wanted);

  Error error(std::string_view wanted) { return error_at(here(), wanted); }
  Error error_at(std::size_t position, std::string_view wanted) const;             ///< "...: seen X, wanted `wanted`"
  Error message_at(std::size_t position, std::string_view text) const;             ///< "line L, column C: `text`"
  Error wrap_at(std::size_t position, std::string_view what, const Error&) const;  ///< another error's text, placed

 private:
  std::string_view number_token() const;
  std::string seen(std::size_t position) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace reprise::text
