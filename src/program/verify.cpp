#include "program/verify.hpp"

#include "base/format.hpp"
#include "base/printable.hpp"
#include "ops/registry.hpp"
#include "program/array_access.hpp"

namespace reprise {
namespace {

/// How many faults one message spells out; the rest are counted.
constexpr std::size_t kFaultsInMessage = 20;
/// How many faults are kept: each is longer than what causes it, and a hostile program may hold millions.
constexpr std::size_t kMaxFaults = 1000;

class Verifier {
 public:
  explicit Verifier(const Program& program) : data_(program.data()) {}

  VerifiedList run(const Numbering* numbering) {
    check_tables();
    VerifiedList list = walk(data_.instructions, data_.outputs, {}, numbering);
    check_outputs();
    return list;
  }

  std::vector<Error> take_faults() { return std::move(faults_); }
  bool calls_host() const { return calls_host_; }

 private:
  /// Where in the nest of lists the walk is. `carries` is negative at the top level.
  struct Scope {
    std::string path;
    std::int64_t carries = -1;
    int depth = 0;
  };

  template <typename... Args>
  void fault(fmt::format_string<Args...> text, Args&&... args) {
    if (faults_.size() >= kMaxFaults) return;
    faults_.push_back(Error(ErrorCode::verify, "verify: " + fmt::format(text, std::forward<Args>(args)...)));
  }

  void check_tables() {
    if (data_.num_inputs < 0) fault("num_inputs is {}; wanted 0 or more", data_.num_inputs);
    for (std::size_t i = 0; i < data_.captures.size(); ++i) {
      const auto& value = data_.captures[i].value;
      if (!value) {
        fault("capture {} has no array", i);
      } else if (!is_forced(*value)) {
        fault("capture {} is not evaluated", i);
      }
    }
    for (std::size_t i = 0; i < data_.constants.size(); ++i) {
      if (static_cast<int>(data_.constants[i].dtype) >= kDTypeCount) {
        fault("constant {}: Unknown dtype: {}", i, static_cast<int>(data_.constants[i].dtype));
      }
    }
  }

  void check_outputs() {
    const auto real = data_.num_real_outputs;
    if (real < 0 || static_cast<std::size_t>(real) > data_.outputs.size()) {
      fault("num_real_outputs is {}; wanted 0 to {}, the number of outputs", real, data_.outputs.size());
    }
  }

  // Where a fault is, spelled out when there is one: most programs have none, and compiling them should be quick.
  struct Place {
    const Scope& scope;
    std::size_t index;
    const Instruction& instruction;

    std::string text() const {
      return fmt::format("{}instruction {} ({})", scope.path, index, printable(instruction.op));
    }
  };

  VerifiedList walk(const std::vector<Instruction>& instructions, const std::vector<Ref>& outputs, const Scope& scope,
                    const Numbering* numbering) {
    VerifiedList list;
    list.instructions.reserve(instructions.size());
    // Once an instruction's result count is unknown, later `result` references cannot be judged.
    bool counts_known = true;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Place where{scope, i, instructions[i]};
      VerifiedInstruction out;
      out.number = numbering ? numbering->numbers[i] : i;
      out.operands = instructions[i].operands;
      for (std::size_t k = 0; k < out.operands.size(); ++k) {
        check_ref(
            out.operands[k], [&] { return fmt::format("{} operand {}", where.text(), k); }, scope, list.result_count,
            counts_known);
      }
      const std::vector<Numbering>* inner = numbering ? &numbering->subprograms[i] : nullptr;
      const bool known = resolve(instructions[i], where, scope, inner, out);
      counts_known = counts_known && known;
      out.first_result = list.result_count;
      list.result_count += out.result_count;
      list.instructions.push_back(std::move(out));
    }
    list.outputs = outputs;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      check_ref(
          outputs[k], [&] { return fmt::format("{}output {}", scope.path, k); }, scope, list.result_count,
          counts_known);
    }
    return list;
  }

  // Fills in row, attributes, sub-programs and result count. False when the result count cannot be known.
  bool resolve(const Instruction& instruction, const Place& place, const Scope& scope,
               const std::vector<Numbering>* inner, VerifiedInstruction& out) {
    out.op = ops::find_def(instruction.op);
    if (!out.op) {
      fault("{}: unknown op \"{}\"{}", place.text(), printable(instruction.op), ops::nearest_name(instruction.op));
      return false;
    }
    const std::size_t operands = instruction.operands.size();
    const auto [least, most] = ops::arity(*out.op);
    const bool arity_ok = operands >= least && operands <= most;
    if (!arity_ok) {
      const std::string wanted = most == SIZE_MAX ? fmt::format("{} or more", least)
                                 : least == most  ? fmt::format("{}", least)
                                                  : fmt::format("{} to {}", least, most);
      fault("{}: {} operands; wanted {}", place.text(), operands, wanted);
    }
    bool attrs_ok = true;
    if (out.op->attrs) {
      if (auto attrs = ops::decode_attrs(*out.op->attrs, instruction.attrs)) {
        out.attrs = *std::move(attrs);
      } else {
        attrs_ok = false;
        fault("{}: {}", place.text(), attrs.error().message());
      }
    } else if (!instruction.attrs.empty()) {
      fault("{}: {} attributes; wanted none", place.text(), instruction.attrs.size());
    }
    calls_host_ |= has(out.op->traits, ops::Trait::host);
    check_subprograms(instruction, place, scope, inner, out);
    if (out.op->count_results && (!attrs_ok || !arity_ok)) return false;
    out.result_count = out.op->count_results ? out.op->count_results(out.attrs.get(), operands) : out.op->results;
    return true;
  }

  void check_subprograms(const Instruction& instruction, const Place& place, const Scope& scope,
                         const std::vector<Numbering>* inner_numbers, VerifiedInstruction& out) {
    const std::size_t given = instruction.subprograms.size();
    if (!has(out.op->traits, ops::Trait::control)) {
      if (given > 0) fault("{}: {} subprograms; wanted none", place.text(), given);
      return;
    }
    const std::string where = place.text();
    if (given != 2) {
      fault("{}: must have exactly 2 subprograms (cond, body), got {}", where, given);
      return;
    }
    if (scope.depth + 1 > kMaxNesting) {
      fault("{}: loops nest deeper than {}", where, kMaxNesting);
      return;
    }
    const std::size_t carries = instruction.operands.size();
    constexpr const char* kNames[] = {"cond", "body"};
    for (std::size_t s = 0; s < 2; ++s) {
      const SubProgram& sub = instruction.subprograms[s];
      const Scope inner{fmt::format("{} {} ", where, kNames[s]), static_cast<std::int64_t>(carries), scope.depth + 1};
      out.subprograms.push_back(
          walk(sub.instructions, sub.outputs, inner, inner_numbers ? &(*inner_numbers)[s] : nullptr));
    }
    if (const std::size_t n = out.subprograms[0].outputs.size(); n != 1) {
      fault("{} cond: must produce exactly one output, got {}", where, n);
    }
    if (const std::size_t n = out.subprograms[1].outputs.size(); n != carries) {
      fault("{} body: returns {} values; wanted {}, one for each carry slot", where, n, carries);
    }
  }

  template <typename Where>
  void check_ref(const Ref& ref, const Where& where, const Scope& scope, std::size_t results, bool counts_known) {
    const bool inside = scope.carries >= 0;
    std::size_t size = 0;
    std::string_view what;
    switch (ref.kind) {
      case RefKind::input:
        if (inside) {
          fault("{}: {{:input, _}} ref found inside a subprogram ({}); pass it to the loop as an operand", where(),
                to_string(ref));
          return;
        }
        size = static_cast<std::size_t>(std::max(0, data_.num_inputs));
        what = "inputs";
        break;
      case RefKind::capture:
        size = data_.captures.size();
        what = "captures";
        break;
      case RefKind::constant:
        size = data_.constants.size();
        what = "constants";
        break;
      case RefKind::carry:
        if (!inside) {
          fault("{}: {{:carry, _}} ref found outside a loop ({})", where(), to_string(ref));
          return;
        }
        size = static_cast<std::size_t>(scope.carries);
        what = "carry slots";
        break;
      case RefKind::result:
        if (!counts_known && ref.index >= 0) return;
        size = results;
        what = "results so far";
        break;
      default: fault("{}: unknown ref kind {}", where(), static_cast<int>(ref.kind)); return;
    }
    if (ref.index < 0 || static_cast<std::uint64_t>(ref.index) >= size) {
      fault("{}: {} is out of range: there are {} {}", where(), to_string(ref), size, what);
    }
  }

  const ProgramData& data_;
  std::vector<Error> faults_;
  bool calls_host_ = false;
};

Error join(const std::vector<Error>& faults) {
  if (faults.size() == 1) return faults.front();
  std::string text = fmt::format("{}{} faults", faults.size(), faults.size() == kMaxFaults ? " or more" : "");
  for (std::size_t i = 0; i < std::min(faults.size(), kFaultsInMessage); ++i) {
    text += fmt::format("; {}", faults[i].message());
  }
  if (faults.size() > kFaultsInMessage) text += "; ...";
  return Error(ErrorCode::verify, text);
}

}  // namespace

Numbering numbering_of(const VerifiedList& list) {
  Numbering out;
  for (const VerifiedInstruction& instruction : list.instructions) {
    out.numbers.push_back(instruction.number);
    std::vector<Numbering>& inner = out.subprograms.emplace_back();
    for (const VerifiedList& sub : instruction.subprograms) inner.push_back(numbering_of(sub));
  }
  return out;
}

Result<VerifiedProgram> verify(const Program& program, std::vector<Error>* faults, const Numbering* numbering) {
  Verifier verifier(program);
  VerifiedList list = verifier.run(numbering);
  std::vector<Error> found = verifier.take_faults();
  if (found.empty()) return VerifiedProgram(program, std::move(list), verifier.calls_host());
  Error joined = join(found);
  if (faults) *faults = std::move(found);
  return joined;
}

}  // namespace reprise
