// The wire form of programs: the Erlang terms that clients on the BEAM send (docs/spec/program.md, section 8).
//
//   REPRISE_ASSIGN(const wire::Term term, wire::decode_term(bytes));
//   REPRISE_ASSIGN(const Program program, wire::decode_program(term, captures));
//
// The decoder reads fields by key, ignores others, and knows no op: what an op's attributes mean is verify's business.
#pragma once

#include <functional>

#include "io/wire/term.hpp"
#include "reprise/program.hpp"

namespace reprise::wire {

/// What stands for a captured array in the term. Errors become "tensor param" errors of the decoder.
using CaptureFromTerm = std::function<Result<Capture>(const Term&)>;
using CaptureToTerm = std::function<Result<Term>(std::size_t index)>;

/// Errors: `parse`, beginning with "decode failed", with the path of the faulty term ("instructions[3].operands[1]"),
/// what was seen and what is wanted; unknown reference kinds and dtype names have their own key texts.
Result<Program> decode_program(const Term& term, const CaptureFromTerm& captures);

/// The term that decodes to an equal program.
Result<Term> encode_program(const Program& program, const CaptureToTerm& captures);

/// Captures as {capture, Index} into a list, for terms that travel without live arrays.
CaptureFromTerm captures_by_index(std::span<const Capture> captures);
Result<Term> capture_index(std::size_t index);

}  // namespace reprise::wire
