// Text -> parts of a program, before the captured arrays are there.
//
//   Result<ParsedText> parsed = parse_text(text);
//   Result<Program> program = bind_captures(*std::move(parsed), captures);
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/text/scanner.hpp"
#include "ops/op_def.hpp"
#include "reprise/program.hpp"

namespace reprise::text {

struct ParsedText {
  ProgramData data;                                 ///< its captures have names but no arrays
  std::vector<std::optional<TensorType>> captures;  ///< declared types; nothing for one that has no array
};

Result<ParsedText> parse_text(std::string_view text);
Result<Program> bind_captures(ParsedText parsed, std::span<const Capture> captures);

// Pieces that more than one file needs. Each starts at the scanner's place.

/// `{axes = [1], keep_axes = false}` after its brace, by the op's schema.
Result<std::vector<Attr>> parse_named_attrs(Scanner& scanner, const ops::OpDef& op);
/// `(1, float32, b"\x00")` of `attrs(...)`.
Result<std::vector<Attr>> parse_raw_attrs(Scanner& scanner);
/// `f32[2, 3]`; the long dtype name is taken too.
Result<TensorType> parse_type(Scanner& scanner);

}  // namespace reprise::text
