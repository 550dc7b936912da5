#include "fuzz/runner.hpp"

#include "base/format.hpp"
#include "fuzz/noise.hpp"
#include "passes/passes.hpp"

namespace reprise::fuzz {
namespace {

// Every loop of the generator ends soon; a noised or shrunk one may not.
constexpr std::int64_t kMaxTurns = 200;

Result<Outputs> run_on(const CompileOptions& options, const FuzzCase& one) {
  REPRISE_ASSIGN(const Executable executable, compile(one.program(), options));
  REPRISE_ASSIGN(const auto arrays, executable.run(one.input_arrays(), {.host = answer, .max_loop_turns = kMaxTurns}));
  Outputs out;
  for (const mx::array& x : arrays) out.push_back(spec_of(x));
  return out;
}

// The program as it is, on some backend and device.
class Plain : public Runner {
 public:
  Plain(std::string_view name, const CompileOptions& options) : name_(name), options_(options) {}
  std::string_view name() const override { return name_; }
  Result<Outputs> run(const FuzzCase& one) const override { return run_on(options_, one); }

 private:
  std::string name_;
  CompileOptions options_;
};

// The program after a change that must not show.
class Changed : public Runner {
 public:
  Changed(std::string_view name, const CompileOptions& options, FuzzCase (*change)(const FuzzCase&))
      : name_(name), options_(options), change_(change) {}
  std::string_view name() const override { return name_; }
  Result<Outputs> run(const FuzzCase& one) const override { return run_on(options_, change_(one)); }

 private:
  std::string name_;
  CompileOptions options_;
  FuzzCase (*change_)(const FuzzCase&);
};

// The program after the passes. Its numbers of instructions are those of the new list; inputs and outputs stay.
FuzzCase optimised(const FuzzCase& one) {
  FuzzCase out = one;
  auto whole = std::make_shared<const VerifiedProgram>(verify(one.program()).value());
  auto types = std::make_shared<const TypedProgram>(infer(whole, one.input_types()).value());
  out.data = pass::optimise(std::move(types), {}).value().program->program().data();
  // Captures have their layouts already.
  out.capture_layouts.assign(out.data.captures.size(), Layout::dense);
  return out;
}

template <typename F>
void each_ref(FuzzCase& one, F change) {
  for (Instruction& i : one.data.instructions) {
    for (Ref& ref : i.operands) change(ref);
  }
  for (Ref& ref : one.data.outputs) change(ref);
}

FuzzCase captured(const FuzzCase& one) {
  FuzzCase out = one;
  const auto first = static_cast<std::int64_t>(one.data.captures.size());
  for (const ArraySpec& spec : one.inputs) {
    out.data.captures.push_back(make_capture(make_dense(spec)).value());
    out.capture_layouts.push_back(spec.layout);
  }
  each_ref(out, [&](Ref& ref) {
    if (ref.kind == RefKind::input) ref = capture(first + ref.index);
  });
  out.inputs.clear();
  out.data.num_inputs = 0;
  return out;
}

// Slots: a count, the inputs, the outputs, which begin as zeros.
FuzzCase looped(const FuzzCase& one) {
  FuzzCase out = one;
  const TypedProgram types = typed(one).value();
  const auto inputs = static_cast<std::int64_t>(one.inputs.size());
  const auto constants = static_cast<std::int64_t>(one.data.constants.size());
  out.data.constants.push_back(Constant::of(std::int64_t{0}, DType::int32));
  out.data.constants.push_back(Constant::of(std::int64_t{1}, DType::int32));
  Instruction loop{"while", {constant(constants)}, {}, {}};
  for (std::int64_t i = 0; i < inputs; ++i) loop.operands.push_back(input(i));
  each_ref(out, [](Ref& ref) {
    if (ref.kind == RefKind::input) ref = carry(1 + ref.index);
  });
  SubProgram cond{{{"less", {carry(0), constant(constants + 1)}, {}, {}}}, {result(0)}};
  SubProgram body{std::move(out.data.instructions), {}};
  body.outputs.push_back(result(static_cast<std::int64_t>(types.types().results.size())));
  body.instructions.push_back({"add", {carry(0), constant(constants + 1)}, {}, {}});
  for (std::int64_t i = 0; i < inputs; ++i) body.outputs.push_back(carry(1 + i));
  std::vector<Ref> results;
  for (std::size_t k = 0; k < one.data.outputs.size(); ++k) {
    const TensorType type = types.type_of(one.data.outputs[k]);
    loop.operands.push_back(capture(static_cast<std::int64_t>(out.data.captures.size())));
    out.data.captures.push_back(make_capture(make_dense(filled(type, 0))).value());
    out.capture_layouts.push_back(Layout::dense);
    body.outputs.push_back(out.data.outputs[k]);
    results.push_back(result(1 + inputs + static_cast<std::int64_t>(k)));
  }
  loop.subprograms = {std::move(cond), std::move(body)};
  out.data.instructions = {std::move(loop)};
  out.data.outputs = std::move(results);
  return out;
}

}  // namespace

Result<std::unique_ptr<const Runner>> make_runner(std::string_view name) {
  const CompileOptions mlx{.backend = Backend::mlx}, native{.backend = Backend::native};
  if (name == "mlx") return {std::make_unique<const Plain>(name, mlx)};
  if (name == "native") return {std::make_unique<const Plain>(name, native)};
  if (name.starts_with("mlx:")) {
    REPRISE_ASSIGN(const Device device, parse_device(name.substr(4)));
    return {std::make_unique<const Plain>(name, CompileOptions{.backend = Backend::mlx, .device = device})};
  }
  const bool on_native = name.starts_with("native-");
  const std::string_view change = on_native ? name.substr(7) : name;
  const CompileOptions& options = on_native ? native : mlx;
  if (change == "optimised") return {std::make_unique<const Changed>(name, options, optimised)};
  if (change == "captured") return {std::make_unique<const Changed>(name, options, captured)};
  if (change == "looped") return {std::make_unique<const Changed>(name, options, looped)};
  if (change == "wide") return {std::make_unique<const Changed>(name, options, widened)};
  return make_error(ErrorCode::invalid_argument,
                    "runner '{}' is unknown; wanted mlx, native, captured, looped, optimised, wide, native-captured or "
                    "native-looped",
                    name);
}

}  // namespace reprise::fuzz
