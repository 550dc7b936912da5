#include "fuzz/fuzz_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "base/format.hpp"
#include "io/npy/npy.hpp"
#include "ops/registry.hpp"
#include "program/array_access.hpp"
#include "reprise/text.hpp"

namespace reprise::fuzz {
namespace {

constexpr const char* kLayoutNames[] = {
    "", "axes stored in reverse", "stored backwards", "every other element", "at an offset", "repeated along axis 0"};

std::string elements_text(const TensorType& type, const std::string& bytes) {
  constexpr std::size_t kMost = 64;
  std::string out;
  const auto all = numbers(type, bytes);
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
    if (i > 0) out += ", ";
    if (is_complex(type.dtype)) {
      out += fmt::format("({}, {})", all[i].real(), all[i].imag());
    } else if (is_integer(type.dtype) && size_of(type.dtype) == 8) {
      std::int64_t value = 0;
      std::copy_n(bytes.data() + i * 8, 8, reinterpret_cast<char*>(&value));
      out +=
          type.dtype == DType::int64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<std::uint64_t>(value));
    } else {
      out += fmt::format("{}", all[i].real());
    }
  }
  return all.size() > kMost ? out + ", ..." : out;
}

std::string array_line(const std::string& name, const TensorType& type, const std::string& bytes, Layout layout) {
  const std::string how = kLayoutNames[static_cast<std::size_t>(layout)];
  return fmt::format("# {} : {} = [{}]{}\n", name, to_string(type), elements_text(type, bytes),
                     how.empty() ? "" : ", " + how);
}

// Marks what an instruction list needs of the tables of the whole program.
struct Tables {
  std::vector<bool> inputs, captures, constants;
};

std::size_t result_count(const Instruction& instruction) {
  const ops::OpDef* op = ops::find_def(instruction.op);
  if (!op->count_results) return op->results;
  if (!op->attrs) return op->count_results(nullptr, instruction.operands.size());
  return op->count_results(ops::decode_attrs(*op->attrs, instruction.attrs).value().get(), instruction.operands.size());
}

void remove_dead(std::vector<Instruction>& list, std::vector<Ref>& outputs, Tables& used) {
  std::vector<std::size_t> first;
  std::size_t total = 0;
  for (const Instruction& i : list) {
    first.push_back(total);
    total += result_count(i);
  }
  std::vector<bool> needed(total, false);
  const auto mark = [&](const Ref& ref) {
    const auto i = static_cast<std::size_t>(ref.index);
    if (ref.kind == RefKind::result) needed[i] = true;
    if (ref.kind == RefKind::input) used.inputs[i] = true;
    if (ref.kind == RefKind::capture) used.captures[i] = true;
    if (ref.kind == RefKind::constant) used.constants[i] = true;
  };
  std::for_each(outputs.begin(), outputs.end(), mark);
  std::vector<std::int64_t> renumbered(total, -1);
  std::vector<bool> keep(list.size());
  for (std::size_t i = list.size(); i-- > 0;) {
    const std::size_t end = i + 1 < list.size() ? first[i + 1] : total;
    keep[i] = std::any_of(needed.begin() + static_cast<std::ptrdiff_t>(first[i]),
                          needed.begin() + static_cast<std::ptrdiff_t>(end), [](bool b) { return b; });
    if (!keep[i]) continue;
    std::for_each(list[i].operands.begin(), list[i].operands.end(), mark);
    for (SubProgram& sub : list[i].subprograms) remove_dead(sub.instructions, sub.outputs, used);
  }
  std::int64_t next = 0;
  std::vector<Instruction> kept;
  const auto renumber = [&](Ref& ref) {
    if (ref.kind == RefKind::result) ref.index = renumbered[static_cast<std::size_t>(ref.index)];
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!keep[i]) continue;
    const std::size_t end = i + 1 < list.size() ? first[i + 1] : total;
    for (std::size_t r = first[i]; r < end; ++r) renumbered[r] = next++;
    std::for_each(list[i].operands.begin(), list[i].operands.end(), renumber);
    kept.push_back(std::move(list[i]));
  }
  std::for_each(outputs.begin(), outputs.end(), renumber);
  list = std::move(kept);
}

void renumber_tables(std::vector<Instruction>& list, std::vector<Ref>& outputs,
                     const std::map<RefKind, std::vector<std::int64_t>>& to) {
  const auto change = [&](Ref& ref) {
    if (const auto found = to.find(ref.kind); found != to.end()) {
      ref.index = found->second[static_cast<std::size_t>(ref.index)];
    }
  };
  std::for_each(outputs.begin(), outputs.end(), change);
  for (Instruction& i : list) {
    std::for_each(i.operands.begin(), i.operands.end(), change);
    for (SubProgram& sub : i.subprograms) renumber_tables(sub.instructions, sub.outputs, to);
  }
}

template <typename T>
std::vector<std::int64_t> compact(std::vector<T>& list, const std::vector<bool>& used) {
  std::vector<std::int64_t> to(list.size(), -1);
  std::vector<T> kept;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!used[i]) continue;
    to[i] = static_cast<std::int64_t>(kept.size());
    kept.push_back(std::move(list[i]));
  }
  list = std::move(kept);
  return to;
}

}  // namespace

std::vector<TensorType> FuzzCase::input_types() const {
  std::vector<TensorType> out;
  for (const ArraySpec& spec : inputs) out.push_back(spec.type);
  return out;
}

Program FuzzCase::program() const {
  ProgramData copy = data;
  for (std::size_t i = 0; i < copy.captures.size(); ++i) {
    if (i >= capture_layouts.size() || capture_layouts[i] == Layout::dense || !copy.captures[i].value) continue;
    ArraySpec spec = spec_of(*copy.captures[i].value);
    spec.layout = capture_layouts[i];
    copy.captures[i] = make_capture(make_array(spec), copy.captures[i].name).value();
  }
  return Program(std::move(copy));
}

std::vector<mx::array> FuzzCase::input_arrays() const {
  std::vector<mx::array> out;
  for (const ArraySpec& spec : inputs) out.push_back(make_array(spec));
  return out;
}

Result<TypedProgram> typed(const FuzzCase& one) {
  auto verified = verify(Program(one.data));
  if (!verified) return verified.error();
  const std::vector<TensorType> types = one.input_types();
  return infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), types, std::int64_t{1} << 24);
}

std::size_t count_instructions(const std::vector<Instruction>& list) {
  std::size_t n = list.size();
  for (const Instruction& i : list) {
    for (const SubProgram& sub : i.subprograms) n += count_instructions(sub.instructions);
  }
  return n;
}

std::string describe(const FuzzCase& one) {
  std::string out = print_program(Program(one.data));
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const ArraySpec& spec = one.inputs[i];
    out += array_line(fmt::format("in{}", i), spec.type, spec.bytes, spec.layout);
  }
  for (std::size_t i = 0; i < one.data.captures.size(); ++i) {
    if (!one.data.captures[i].value) continue;
    const ArraySpec spec = spec_of(*one.data.captures[i].value);
    out += array_line(fmt::format("cap{}", i), spec.type, spec.bytes,
                      i < one.capture_layouts.size() ? one.capture_layouts[i] : Layout::dense);
  }
  return out;
}

Result<std::string> save(const FuzzCase& one, const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return make_error(ErrorCode::io, "'{}' cannot be made: {}", folder, code.message());
  FuzzCase changed = one;
  changed.inputs.clear();
  std::vector<std::int64_t> input_to(one.inputs.size(), -1), capture_to(one.inputs.size(), -1);
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    if (one.inputs[i].type.dtype == DType::bfloat16) {
      capture_to[i] = static_cast<std::int64_t>(changed.data.captures.size());
      REPRISE_ASSIGN(Capture capture, make_capture(make_dense(one.inputs[i]), fmt::format("in{}", i)));
      changed.data.captures.push_back(std::move(capture));
      changed.capture_layouts.push_back(one.inputs[i].layout);
    } else {
      input_to[i] = static_cast<std::int64_t>(changed.inputs.size());
      changed.inputs.push_back(one.inputs[i]);
    }
  }
  const auto change = [&](Ref& ref) {
    if (ref.kind != RefKind::input || ref.index < 0 || ref.index >= static_cast<std::int64_t>(input_to.size())) return;
    const auto i = static_cast<std::size_t>(ref.index);
    ref = input_to[i] >= 0 ? input(input_to[i]) : capture(capture_to[i]);
  };
  for (Instruction& i : changed.data.instructions) std::for_each(i.operands.begin(), i.operands.end(), change);
  std::for_each(changed.data.outputs.begin(), changed.data.outputs.end(), change);
  changed.data.num_inputs = static_cast<std::int32_t>(changed.inputs.size());

  REPRISE_RETURN_IF_ERROR(write_program(folder + "/program.rp", Program(changed.data)));
  std::string command = fmt::format("reprise run {}/program.rp", folder);
  for (std::size_t i = 0; i < changed.inputs.size(); ++i) {
    const std::string path = fmt::format("{}/in{}.npy", folder, i);
    REPRISE_RETURN_IF_ERROR(write_npy(path, make_dense(changed.inputs[i])));
    command += (i == 0 ? " --input " : " ") + path;
  }
  return command;
}

FuzzCase without_dead_parts(const FuzzCase& one) {
  FuzzCase out = one;
  Tables used{std::vector<bool>(one.inputs.size()), std::vector<bool>(one.data.captures.size()),
              std::vector<bool>(one.data.constants.size())};
  remove_dead(out.data.instructions, out.data.outputs, used);
  out.capture_layouts.resize(out.data.captures.size());
  std::vector<Layout> layouts = out.capture_layouts;
  const std::map<RefKind, std::vector<std::int64_t>> to{
      {RefKind::input, compact(out.inputs, used.inputs)},
      {RefKind::capture, compact(out.data.captures, used.captures)},
      {RefKind::constant, compact(out.data.constants, used.constants)}};
  static_cast<void>(compact(out.capture_layouts, used.captures));
  out.data.num_inputs = static_cast<std::int32_t>(out.inputs.size());
  renumber_tables(out.data.instructions, out.data.outputs, to);
  return out;
}

Result<std::vector<mx::array>> answer(const HostCall& call) {
  std::vector<mx::array> out;
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    if (k < call.operands.size() && type_of(call.operands[k]) == call.results[k]) {
      out.push_back(call.operands[k]);
      continue;
    }
    ArraySpec spec{call.results[k], {}, Layout::dense};
    for (std::size_t i = 0; i < element_total(spec.type); ++i) {
      append(spec.bytes, spec.type.dtype, static_cast<double>((static_cast<std::size_t>(call.callback) + i) % 5));
    }
    out.push_back(make_dense(spec));
  }
  return out;
}

}  // namespace reprise::fuzz
