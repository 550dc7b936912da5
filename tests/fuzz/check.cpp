#include "fuzz/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/wire/wire.hpp"
#include "ops/registry.hpp"
#include "program/array_access.hpp"
#include "reprise/text.hpp"

namespace reprise::fuzz {
namespace {

constexpr std::int64_t kMaxTurns = 200;

RunOptions run_options() { return {.host = answer, .max_loop_turns = kMaxTurns}; }

std::optional<std::string> check_forms(const Program& program) {
  const std::string text = print_program(program);
  const auto parsed = parse_program(text, program->captures);
  if (!parsed) return "its text form does not parse: " + parsed.error().message();
  if (!(*parsed == program)) return "its text form parses to another program:\n" + print_program(*parsed);

  const auto term = wire::encode_program(program, wire::capture_index);
  if (!term) return "it has no wire form: " + term.error().message();
  const auto bytes = wire::encode_term(*term);
  if (!bytes) return "its wire form cannot be written: " + bytes.error().message();
  const auto read = wire::decode_term(*bytes);
  if (!read) return "its wire form cannot be read: " + read.error().message();
  const auto decoded = wire::decode_program(*read, wire::captures_by_index(program->captures));
  if (!decoded) return "its wire form does not decode: " + decoded.error().message();
  // Terms, since an unsigned constant comes back as the equal signed one.
  const auto again = wire::encode_program(*decoded, wire::capture_index);
  if (!again || !(*again == *term)) return "its wire form decodes to another program";
  return {};
}

// Values that an op refuses end the run, naming the instruction.
bool refuses_values(const Error& error) {
  static constexpr std::string_view kOps[] = {"(cholesky)", "(solve)", "(solve_triangular)", "(eigh)", "(svd)"};
  return error.code() == ErrorCode::runtime && error.message().starts_with("run: instruction ") &&
         std::any_of(std::begin(kOps), std::end(kOps),
                     [&](std::string_view op) { return error.message().find(op) != std::string::npos; });
}

std::size_t count_loops(const std::vector<Instruction>& list) {
  std::size_t n = 0;
  for (const Instruction& i : list) {
    n += !i.subprograms.empty();
    for (const SubProgram& sub : i.subprograms) n += count_loops(sub.instructions);
  }
  return n;
}

std::optional<std::string> check_types(const std::vector<mx::array>& seen, const TypedProgram& types) {
  const auto& data = types.program().data();
  if (seen.size() != static_cast<std::size_t>(data.num_real_outputs)) {
    return fmt::format("{} outputs; wanted {}", seen.size(), data.num_real_outputs);
  }
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const TensorType wanted = types.type_of(data.outputs[k]);
    if (type_of(seen[k]) != wanted) {
      return fmt::format("output {} is {}; inferred {}", k, to_string(type_of(seen[k])), to_string(wanted));
    }
    if (!is_forced(seen[k])) return fmt::format("output {} is not evaluated", k);
  }
  return {};
}

}  // namespace

std::optional<std::string> check_error(const Error& error) {
  static constexpr std::string_view kPlaces[] = {
      "instruction ", "output ", "outputs",       "num_inputs", "capture ",       "constant ", "input ",
      "inputs",       "line ",   "decode failed", "byte ",      "captures given", "cap",       "a loop turned"};
  if (error.message().empty()) return "an error without a message";
  if (error.code() == ErrorCode::internal) return "an internal error: " + error.message();
  if (error.message().size() > 50000) return fmt::format("a message of {} bytes", error.message().size());
  const bool placed = std::any_of(std::begin(kPlaces), std::end(kPlaces), [&](std::string_view place) {
    return error.message().find(place) != std::string::npos;
  });
  return placed ? std::optional<std::string>() : "an error that names no place: " + error.message();
}

std::optional<std::string> check(const FuzzCase& one, CheckCounts* counts) {
  if (counts) {
    ++counts->programs;
    counts->instructions += count_instructions(one.data.instructions);
    counts->loops += count_loops(one.data.instructions);
  }
  const auto types = typed(one);
  if (!types) return "it is not valid: " + types.error().message();
  const Program program = one.program();
  if (auto fault = check_forms(program)) return fault;
  const auto executable = compile(program);
  if (!executable) return "it does not compile: " + executable.error().message();

  const std::vector<mx::array> inputs = one.input_arrays();
  const auto first = executable->run(inputs, run_options());
  if (!first) {
    if (!refuses_values(first.error())) return "the run fails: " + first.error().message();
    if (counts) ++counts->refused_values;
    const auto second = executable->run(inputs, run_options());
    if (second || second.error().message() != first.error().message()) return "the second run ends otherwise";
    return {};
  }
  if (auto fault = check_types(*first, *types)) return fault;
  std::vector<std::string> bytes;
  for (const mx::array& x : *first) bytes.push_back(bytes_of(x));
  const auto compare = [&](const Result<std::vector<mx::array>>& run,
                           std::string_view how) -> std::optional<std::string> {
    if (!run) return fmt::format("{} fails: {}", how, run.error().message());
    if (auto fault = check_types(*run, *types)) return fmt::format("{}: {}", how, *fault);
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      if (bytes_of((*run)[k]) != bytes[k]) return fmt::format("{} gives another output {}", how, k);
    }
    return {};
  };
  if (auto fault = compare(executable->run(inputs, run_options()), "the second run")) return fault;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (bytes_of(inputs[i]) != one.inputs[i].bytes) return fmt::format("a run changes input {}", i);
  }
  // Arrays that nobody else holds are donated; the results of the first run must stay as they are.
  if (auto fault = compare(executable->run(one.input_arrays(), run_options()), "a run with donated inputs"))
    return fault;
  return compare(*first, "a later run, looked at through the first's results,");
}

std::optional<std::string> check_bad_inputs(const FuzzCase& one, Random& random, bool& ran) {
  ran = false;
  const auto executable = compile(one.program(), {.max_value_bytes = 1 << 20});
  if (!executable) return check_error(executable.error());
  std::vector<mx::array> inputs;
  for (const ArraySpec& spec : one.inputs) inputs.push_back(make_dense(spec));
  const int kind = static_cast<int>(random.below(4));
  if (kind == 0 || inputs.empty()) {
    inputs.push_back(make_dense(filled({DType::float32, {}}, 1)));
  } else if (kind == 1) {
    inputs.pop_back();
  } else {
    const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(inputs.size())));
    TensorType type = one.inputs[at].type;
    if (kind == 2) {
      type.dtype = static_cast<DType>(random.below(kDTypeCount));
    } else if (type.shape.empty() || random.coin()) {
      type.shape.insert(type.shape.begin(), random.between(0, 3));
    } else {
      auto& n = random.pick(type.shape);
      n = n == 1 || random.coin() ? n + 1 : 0;
    }
    inputs[at] = make_dense(filled(type, 1));
  }
  std::vector<TensorType> signature;
  for (const mx::array& x : inputs) signature.push_back(type_of(x));
  auto verified = verify(executable->program());
  const auto types = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), signature, 1 << 20);
  const auto out = executable->run(std::move(inputs), run_options());
  if (!out) {
    if (types && !refuses_values(out.error()) && out.error().code() != ErrorCode::limit) {
      return "inference accepts inputs that the run refuses: " + out.error().message();
    }
    return check_error(out.error());
  }
  ran = true;
  if (!types) return "the run accepts inputs that inference refuses: " + types.error().message();
  return check_types(*out, *types);
}

}  // namespace reprise::fuzz
