// How names, strings and numbers are spelled in the text form. The scanner reads exactly what these write.
//
//   print_real(1.0);          // "1.0"
//   quote("a \"b\"\n");       // "\"a \\\"b\\\"\\n\""
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reprise/program.hpp"

namespace reprise::text {

/// A letter or _, then letters, digits and _: what needs no quotes.
bool is_word(std::string_view text);
bool is_word_char(char c);

/// Well-formed UTF-8 without overlong forms, surrogates and values past U+10FFFF.
bool is_utf8(std::string_view text);

/// In double quotes; valid UTF-8 stays readable, everything else is escaped.
std::string quote(std::string_view text);

/// b"...": bytes that are not printable ASCII are escaped.
std::string quote_bytes(std::string_view bytes);

/// The shortest decimal that reads back to the same bits, with a point or an exponent; inf, -inf, nan, or the bits of
/// any other NaN.
std::string print_real(double value);

/// The value of a constant without its dtype.
std::string print_constant_value(const Constant& constant);

/// "f32", or "dtype(200)" for a value that is no dtype.
std::string print_dtype(DType dtype);

/// A bare name, or a quoted one.
std::string print_name(std::string_view name);

}  // namespace reprise::text
