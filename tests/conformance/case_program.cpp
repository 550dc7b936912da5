#include "conformance/case_program.hpp"

#include <algorithm>

#include "reprise/text.hpp"

namespace reprise::conformance {

using Arrays = std::vector<mlx::core::array>;

ProgramData instruction_on_inputs(std::string op, std::size_t operands, std::vector<Attr> attrs, std::size_t results) {
  ProgramData data;
  data.num_inputs = static_cast<std::int32_t>(operands);
  Instruction one{std::move(op), {}, std::move(attrs), {}};
  for (std::size_t i = 0; i < operands; ++i) one.operands.push_back(input(static_cast<std::int64_t>(i)));
  data.instructions = {std::move(one)};
  for (std::size_t i = 0; i < results; ++i) data.outputs.push_back(result(static_cast<std::int64_t>(i)));
  data.num_real_outputs = static_cast<std::int32_t>(results);
  return data;
}

Result<Program> program_of(const Case& one) {
  if (one.op.empty()) return parse_program(one.text, captures_of(one.captures));
  const std::size_t results = std::max<std::size_t>(one.outputs.size(), 1);
  return Program(instruction_on_inputs(one.op, one.inputs.size(), one.attrs, results));
}

Arrays arrays_of(std::span<const Literal> literals) {
  Arrays out;
  for (const Literal& literal : literals) out.push_back(to_array(literal));
  return out;
}

std::vector<Capture> captures_of(std::span<const Literal> literals) {
  std::vector<Capture> out;
  for (const auto& a : arrays_of(literals)) out.push_back(make_capture(a).value());
  return out;
}

RunOptions echoing() {
  RunOptions options;
  options.host = [](const HostCall& call) -> Result<Arrays> {
    return Arrays(call.operands.begin(), call.operands.end());
  };
  return options;
}

std::string message_of(const Case& one, const CompileOptions& target) {
  const auto program = program_of(one);
  if (!program) return program.error().message();
  const auto compiled = compile(*program, target);
  if (!compiled) return compiled.error().message();
  const auto out = compiled->run(arrays_of(one.inputs), echoing());
  return out ? "no error" : out.error().message();
}

}  // namespace reprise::conformance
