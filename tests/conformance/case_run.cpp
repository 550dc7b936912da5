#include "conformance/case_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case_program.hpp"
#include "movement/movement.hpp"
#include "program/mlx_convert.hpp"
#include "program/verify.hpp"
#include "reprise/text.hpp"

namespace reprise::conformance {
namespace {

using mlx::core::array;
using movement::elements;
using movement::Num;
namespace mx = mlx::core;

using Arrays = std::vector<array>;

std::string show(const Num& n, DType d) {
  if (is_complex(d)) return fmt::format("({}, {})", n.re, n.im);
  if (is_floating(d)) return fmt::format("{}", n.re);
  return n.i < 0 ? fmt::format("{}", static_cast<long long>(n.i)) : fmt::format("{}", static_cast<std::uint64_t>(n.i));
}

// `allowed` is an absolute error.
bool close(double seen, double wanted, double allowed) {
  if (std::isnan(seen) || std::isnan(wanted)) return std::isnan(seen) && std::isnan(wanted);
  return seen == wanted || std::abs(seen - wanted) <= allowed;
}

testing::AssertionResult matches(const array& seen, const Literal& wanted, const ops::Tolerance& tolerance,
                                 std::optional<double> near) {
  if (type_of(seen) != wanted.type) {
    return testing::AssertionFailure() << to_string(type_of(seen)) << ", wanted " << to_string(wanted.type);
  }
  const DType d = wanted.type.dtype;
  const auto s = elements(seen);
  const auto w = elements(to_array(wanted));  // rounded to the dtype
  for (std::size_t k = 0; k < w.size(); ++k) {
    const double size = std::hypot(w[k].re, w[k].im);
    const double allowed = near ? *near * std::max(1.0, size) : tolerance.allowed(d, size);
    if (s[k].i != w[k].i || !close(s[k].re, w[k].re, allowed) || !close(s[k].im, w[k].im, allowed)) {
      return testing::AssertionFailure() << "element " << k << " is " << show(s[k], d) << ", wanted " << show(w[k], d);
    }
  }
  return testing::AssertionSuccess();
}

std::vector<Ref> refs(Ref (*make)(std::int64_t), std::size_t first, std::size_t count) {
  std::vector<Ref> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(make(static_cast<std::int64_t>(first + i)));
  return out;
}

void append(std::vector<Ref>& to, const std::vector<Ref>& from) { to.insert(to.end(), from.begin(), from.end()); }

ProgramData captured(const Case& one) {
  ProgramData data = program_of(one)->data();
  data.captures = captures_of(one.inputs);
  data.num_inputs = 0;
  data.instructions[0].operands = refs(capture, 0, one.inputs.size());
  return data;
}

// Slots: a count, the operands, then results, which start as whatever has their type.
ProgramData looped(const Case& one) {
  const std::size_t n = one.inputs.size();
  const std::size_t k = one.outputs.size();
  ProgramData data;
  data.num_inputs = static_cast<std::int32_t>(n + k);
  data.constants = {Constant::of(std::int64_t{0}, DType::int32), Constant::of(std::int64_t{1}, DType::int32)};
  Instruction loop{"while", {constant(0)}, {}, {}};
  append(loop.operands, refs(input, 0, n + k));
  SubProgram cond{{{"less", {carry(0), constant(1)}, {}, {}}}, {result(0)}};
  SubProgram body{{{"add", {carry(0), constant(1)}, {}, {}}, {one.op, refs(carry, 1, n), one.attrs, {}}}, {result(0)}};
  append(body.outputs, refs(carry, 1, n));
  append(body.outputs, refs(result, 1, k));
  loop.subprograms = {std::move(cond), std::move(body)};
  data.instructions = {std::move(loop)};
  data.outputs = refs(result, 1 + n, k);
  data.num_real_outputs = static_cast<std::int32_t>(k);
  return data;
}

struct Way {
  std::string name;
  Arrays inputs;
};

// All operands at once in the k-th layout that they have.
std::vector<Way> layouts_of(const Case& one) {
  static constexpr const char* kNames[] = {"dense", "axes stored in reverse", "stored backwards", "every other element",
                                           "with an offset"};
  std::vector<Way> ways;
  for (const char* name : kNames) ways.push_back({name, {}});
  Way repeated{"stored once and repeated", {}};
  bool any_repeated = false;
  for (const Literal& literal : one.inputs) {
    const array dense = to_array(literal);
    const Arrays all = movement::layouts(dense);
    for (std::size_t k = 0; k < ways.size(); ++k) ways[k].inputs.push_back(all[std::min(k, all.size() - 1)]);
    if (literal.filled && literal.elements.size() > 1) {
      any_repeated = true;
      const array scalar = to_array({{literal.type.dtype, {}}, {literal.elements[0]}, true});
      repeated.inputs.push_back(mx::broadcast_to(scalar, dense.shape(), mx::Device::cpu));
      repeated.inputs.back().eval();
    } else {
      repeated.inputs.push_back(dense);
    }
  }
  if (any_repeated) ways.push_back(std::move(repeated));
  return ways;
}

class Check {
 public:
  Check(const Case& one, const CompileOptions& target) : one_(one), target_(target) {
    if (!one.op.empty()) tolerance_ = ops::find_def(one.op)->tolerance;
  }

  void run() const {
    if (!one_.says.empty()) {
      const std::string seen = message_of(one_, target_);
      EXPECT_NE(seen.find(one_.says), std::string::npos) << seen << "; wanted: " << one_.says;
      return;
    }
    const auto program = program_of(one_);
    if (!program) return fail(program.error());

    const auto again = parse_program(print_program(*program), program->data().captures);
    EXPECT_TRUE(again.ok() && *again == *program) << "the program changes when printed and parsed";
    if (!one_.op.empty()) {
      const auto verified = verify(*program);
      if (!verified) return fail(verified.error());
      EXPECT_EQ(verified->list().result_count, one_.outputs.size()) << "results of " << one_.op;
      if (verified->list().result_count != one_.outputs.size()) return;
    }
    const auto compiled = compile(*program, target_);
    if (!compiled) return fail(compiled.error());
    for (const Way& way : layouts_of(one_)) {
      compare(*compiled, way.inputs, way.name);
      for (std::size_t i = 0; i < way.inputs.size(); ++i) {
        EXPECT_TRUE(matches(way.inputs[i], one_.inputs[i], {}, {})) << way.name << ": input " << i << " was changed";
      }
    }
    compare(*compiled, arrays_of(one_.inputs), "donated");
    if (one_.op.empty()) return;
    if (const auto folded = compile(Program(captured(one_)), target_)) {
      compare(*folded, {}, "captures");
      compare(*folded, {}, "captures, second run");
    } else {
      fail(folded.error());
    }
    if (const auto loop = compile(Program(looped(one_)), target_)) {
      Arrays slots = arrays_of(one_.inputs);
      for (const Literal& out : one_.outputs) {
        slots.push_back(mx::zeros(to_mlx(out.type.shape), to_mlx(out.type.dtype), mx::Device::cpu));
      }
      compare(*loop, std::move(slots), "in a loop");
    } else {
      fail(loop.error());
    }
  }

 private:
  static void fail(const Error& error) { ADD_FAILURE() << error.message(); }

  void compare(const Executable& executable, Arrays inputs, std::string_view how) const {
    const auto out = executable.run(std::move(inputs), echoing());
    if (!out) {
      ADD_FAILURE() << how << ": " << out.error().message();
      return;
    }
    ASSERT_EQ(out->size(), one_.outputs.size()) << how;
    for (std::size_t i = 0; i < out->size(); ++i) {
      EXPECT_TRUE(matches((*out)[i], one_.outputs[i], tolerance_, one_.near)) << how << ", result " << i;
    }
  }

  const Case& one_;
  const CompileOptions& target_;
  ops::Tolerance tolerance_;
};

void collect(const std::vector<Instruction>& list, std::vector<std::string>& out) {
  for (const Instruction& instruction : list) {
    out.push_back(instruction.op);
    for (const SubProgram& sub : instruction.subprograms) collect(sub.instructions, out);
  }
}

bool uses(const Case& one, DType d) {
  for (const auto* list : {&one.captures, &one.inputs, &one.outputs}) {
    if (std::any_of(list->begin(), list->end(), [d](const Literal& l) { return l.type.dtype == d; })) return true;
  }
  return false;
}

}  // namespace

namespace {
CompileOptions current_target;
}

const CompileOptions& OnDevice::target() { return current_target; }

void OnDevice::SetUp() { use(GetParam()); }

void OnDevice::use(const char* device) {
  if (device == std::string_view("native")) {
    current_target = {.backend = Backend::native};
    return;
  }
  const auto found = parse_device(device);
  // The reason is part of the name by which ctest lists what was skipped.
  if (!found) GTEST_SKIP() << "no " << (device == std::string_view("cuda") ? "CUDA" : device) << " device";
  current_target = {.backend = Backend::mlx, .device = *found};
}

void check_case(const Case& one, const CompileOptions& target) {
  if (target.device != Device::cpu() && uses(one, DType::float64)) return;
  Check(one, target).run();
}

std::vector<std::string> ops_of(const Case& one) {
  std::vector<std::string> out;
  if (!one.op.empty()) return {one.op};
  const auto program = program_of(one);
  if (program) collect(program->data().instructions, out);
  return out;
}

}  // namespace reprise::conformance
