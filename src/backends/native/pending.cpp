// What no native planner takes becomes a program of its own for MLX.
#include <map>

#include "backends/native/builder.hpp"
#include "backends/native/extract.hpp"
#include "backends/native/fallback.hpp"
#include "base/format.hpp"
#include "program/verify.hpp"

namespace reprise::native {
namespace {

/// Instructions taken out of a program, as a program of their own whose messages number them as before.
Result<std::shared_ptr<const TypedProgram>> typed_part(ProgramData data, const Numbering& numbering,
                                                       const std::vector<TensorType>& inputs) {
  data.num_inputs = static_cast<std::int32_t>(inputs.size());
  auto verified = verify(Program(std::move(data)), nullptr, &numbering);
  if (!verified) return verified.error();
  auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), inputs);
  if (!typed) return typed.error();
  return std::make_shared<const TypedProgram>(*std::move(typed));
}

}  // namespace

Result<std::unique_ptr<const Plan>> PlanBuilder::subplan(std::size_t i, std::size_t k) const {
  const ProgramData& whole = typed_->program().data();
  Extract extract(whole, [](const Ref& ref) { return ref.kind == RefKind::carry ? input(ref.index) : ref; });
  const SubProgram& list = whole.instructions[i].subprograms[k];
  for (const Instruction& one : list.instructions) extract.data.instructions.push_back(extract.instruction(one, true));
  for (const Ref& ref : list.outputs) extract.data.outputs.push_back(extract.reference(ref));
  extract.data.num_real_outputs = static_cast<std::int32_t>(extract.data.outputs.size());
  std::vector<TensorType> carries;
  for (const Ref& ref : instruction(i).operands) carries.push_back(values_[value_of(ref)].type);
  REPRISE_ASSIGN(auto typed, typed_part(std::move(extract.data), numbering_of(instruction(i).subprograms[k]), carries));
  PlanBuilder builder(std::move(typed));
  builder.in_loop_ = true;
  return builder.build();
}

Status PlanBuilder::flush_fallback() {
  if (pending_.empty()) return {};
  const ProgramData& whole = typed_->program().data();
  std::map<ValueId, std::int64_t> inner_result;  // results that the fallback makes
  std::vector<ValueId> inputs;
  std::map<ValueId, std::int64_t> input_of;
  const auto outer = [&](const Ref& ref) -> Ref {
    const ValueId value = value_of(ref);
    if (const auto made = inner_result.find(value); made != inner_result.end()) return result(made->second);
    const auto [it, added] = input_of.try_emplace(value, static_cast<std::int64_t>(inputs.size()));
    if (added) inputs.push_back(value);
    return input(it->second);
  };
  Extract extract(whole, outer);
  std::int64_t results = 0;
  FallbackParts parts;
  Numbering numbering;
  for (const std::size_t i : pending_) {
    extract.data.instructions.push_back(extract.instruction(whole.instructions[i], true));
    numbering.numbers.push_back(instruction(i).number);
    std::vector<Numbering>& inner = numbering.subprograms.emplace_back();
    for (const VerifiedList& list : instruction(i).subprograms) inner.push_back(numbering_of(list));
    parts.names.push_back(instruction(i).op->name);
    for (std::size_t r = 0; r < instruction(i).result_count; ++r) {
      inner_result[static_cast<ValueId>(first_result(i) + r)] = results++;
    }
  }
  for (const std::size_t i : pending_) used_by(i);
  std::vector<ValueId> outputs;
  for (const std::size_t i : pending_) {
    for (std::size_t r = 0; r < instruction(i).result_count; ++r) {
      const auto value = static_cast<ValueId>(first_result(i) + r);
      if (values_[value].uses == 0 && !values_[value].is_output) continue;
      outputs.push_back(value);
      extract.data.outputs.push_back(result(inner_result.at(value)));
    }
  }
  extract.data.num_real_outputs = static_cast<std::int32_t>(extract.data.outputs.size());
  // Host calls fire whether or not a real output needs them.
  for (const std::size_t i : pending_) {
    if (has(instruction(i).op->traits, ops::Trait::host) || has(instruction(i).op->traits, ops::Trait::control)) {
      for (std::size_t r = 0; r < instruction(i).result_count; ++r) {
        extract.data.outputs.push_back(result(inner_result.at(static_cast<ValueId>(first_result(i) + r))));
      }
    }
  }
  std::vector<TensorType> signature;
  for (const ValueId value : inputs) {
    signature.push_back(values_[value].type);
    parts.inputs.push_back(array_view_of(value));
  }
  REPRISE_ASSIGN(auto typed, typed_part(std::move(extract.data), numbering, signature));
  REPRISE_ASSIGN(parts.mlx, mlx_backend::specialise(std::move(typed), Device::cpu()));
  for (const ValueId value : outputs) {
    const View view = new_view(Storage::array, values_[value].type);
    plan_->slots[view.slot].made_by_step = true;
    plan_->slots[view.slot].may_be_shared = true;
    place(value, view);
    parts.outputs.push_back(view.slot);
  }
  auto step = make_fallback_step(std::move(parts));
  step->why = fmt::format("{}", fmt::join(pending_why_, "\n"));
  step->instructions = pending_;
  add_step(std::move(step));
  pending_.clear();
  pending_why_.clear();
  is_pending_.assign(is_pending_.size(), false);
  return {};
}

}  // namespace reprise::native
