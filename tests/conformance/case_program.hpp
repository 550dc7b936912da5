// A case as a program, and what an error case says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/case_file.hpp"
#include "reprise/executable.hpp"

namespace reprise::conformance {

/// One instruction on the program's inputs, of which the first `results` results are outputs.
ProgramData instruction_on_inputs(std::string op, std::size_t operands, std::vector<Attr> attrs, std::size_t results);

/// The case's program, or its op on inputs.
Result<Program> program_of(const Case& one);

std::vector<mlx::core::array> arrays_of(std::span<const Literal> literals);
std::vector<Capture> captures_of(std::span<const Literal> literals);

/// The host of all cases answers a call with its operands.
RunOptions echoing();

/// Compiles and runs the case; the text of its error, or "no error".
std::string message_of(const Case& one, const CompileOptions& target);

}  // namespace reprise::conformance
