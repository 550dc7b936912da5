// Instructions become units: a group of element-wise ones of one shape that feed each other, or a single one. Units are
// planned in an order that keeps to the program's as far as groups allow. What no planner takes waits in a list and
// becomes one MLX program as soon as a native step needs one of its results.
#include "backends/native/planner.hpp"

#include <algorithm>
#include <map>

#include "backends/mlx/lowering.hpp"
#include "backends/native/builder.hpp"
#include "backends/native/copy.hpp"
#include "backends/native/elementwise.hpp"
#include "backends/native/softmax.hpp"
#include "base/format.hpp"

namespace reprise::native {

namespace mx = mlx::core;

// --- Values and slots

PlanBuilder::PlanBuilder(std::shared_ptr<const TypedProgram> typed)
    : typed_(std::move(typed)), list_(typed_->verified().list()) {
  const ProgramData& data = typed_->program().data();
  for (std::size_t i = 0; i < typed_->inputs().size(); ++i) {
    const TensorType& type = typed_->inputs()[i];
    values_.push_back({type});
    place(static_cast<ValueId>(i), dense_view(new_slot(Storage::input, type, i), type));
  }
  first_capture_ = values_.size();
  for (const Capture& capture : data.captures) values_.push_back({capture.type()});
  first_constant_ = values_.size();
  for (const Constant& constant : data.constants) values_.push_back({{constant.dtype, {}}});
  first_result_ = values_.size();
  for (const TensorType& type : typed_->types().results) values_.push_back({type});
  producers_.reserve(list_.result_count);
  for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
    producers_.insert(producers_.end(), list_.instructions[i].result_count, i);
  }
}

ValueId PlanBuilder::value_of(const Ref& ref) const {
  const auto i = static_cast<std::size_t>(ref.index);
  switch (ref.kind) {
    case RefKind::capture: return static_cast<ValueId>(first_capture_ + i);
    case RefKind::constant: return static_cast<ValueId>(first_constant_ + i);
    case RefKind::result: return static_cast<ValueId>(first_result_ + i);
    default: return static_cast<ValueId>(i);
  }
}

ValueId PlanBuilder::first_result(std::size_t i) const {
  return static_cast<ValueId>(first_result_ + list_.instructions[i].first_result);
}

SlotId PlanBuilder::new_slot(Storage storage, const TensorType& type, std::size_t index) {
  Slot slot;
  slot.storage = storage;
  slot.index = index;
  slot.type = type;
  slot.bytes = bytes_of(type);
  plan_->slots.push_back(std::move(slot));
  residents_.emplace_back();
  return static_cast<SlotId>(plan_->slots.size() - 1);
}

void PlanBuilder::place(ValueId value, View view) {
  residents_[view.slot].push_back(value);
  values_[value].view = std::move(view);
}

View PlanBuilder::constant_view(mx::array array) {
  array.eval();
  const TensorType type{from_mlx(array.dtype()), Shape(array.shape().begin(), array.shape().end())};
  View view = dense_view(new_slot(Storage::constant, type, plan_->constants.size()), type);
  view.strides.assign(array.strides().begin(), array.strides().end());
  plan_->constants.push_back(std::move(array));
  return view;
}

View PlanBuilder::view_of(ValueId value) {
  Value& v = values_[value];
  if (!v.view) {
    const ProgramData& data = typed_->program().data();
    // Captures and constants get a slot when they are first asked for.
    if (value >= first_constant_) {
      place(value, constant_view(mlx_backend::scalar_of(data.constants[value - first_constant_])));
    } else {
      place(value, constant_view(*data.captures[value - first_capture_].value));
    }
  }
  return *v.view;
}

View PlanBuilder::dense_of(const View& view) {
  if (view.is_dense()) return view;
  View copy = new_view(Storage::arena, view.type);
  add_step(make_copy_step(view, copy));
  return copy;
}

View PlanBuilder::dense_of(ValueId value) {
  const View view = view_of(value);
  if (view.is_dense()) return view;
  Value& v = values_[value];
  if (!v.dense) {
    v.dense = dense_of(view);
    residents_[v.dense->slot].push_back(value);
  }
  return *v.dense;
}

void PlanBuilder::make_array(SlotId slot) {
  if (plan_->slots[slot].storage == Storage::arena) plan_->slots[slot].storage = Storage::array;
}

View PlanBuilder::array_view_of(ValueId value) {
  View view = dense_of(value);
  const Slot& slot = plan_->slots[view.slot];
  if (slot.storage == Storage::constant && slot.type != view.type) {
    // A capture whose elements lie in another order, seen through a view: MLX gets a plain array.
    View copy = new_view(Storage::array, view.type);
    add_step(make_copy_step(view, copy));
    return copy;
  }
  make_array(view.slot);
  // What MLX makes of it may show the same memory.
  plan_->slots[view.slot].may_be_shared = true;
  return view;
}

bool PlanBuilder::may_overwrite(ValueId value, std::size_t i) const {
  const Value& v = values_[value];
  if (v.uses != 1 || !pending_.empty()) return false;
  const auto& operands = instruction(i).operands;
  const SlotId slot = v.view->slot;
  if (plan_->slots[slot].storage == Storage::constant) return false;
  for (const ValueId other : residents_[slot]) {
    if (values_[other].is_output) return false;
    if (other != value && values_[other].uses > 0) return false;
  }
  // The instruction's other operands may lie in the same slot.
  return std::count_if(operands.begin(), operands.end(), [&](const Ref& ref) {
           const auto& view = values_[value_of(ref)].view;
           return view && view->slot == slot;
         }) == 1;
}

void PlanBuilder::add_step(std::unique_ptr<Step> step) { plan_->steps.push_back(std::move(step)); }

// --- Emission

void PlanBuilder::used_by(std::size_t i) {
  for (const Ref& ref : instruction(i).operands) --values_[value_of(ref)].uses;
}

bool PlanBuilder::depends_on_pending(const Unit& unit) const {
  for (const std::size_t i : unit.members) {
    for (const Ref& ref : instruction(i).operands) {
      if (ref.kind == RefKind::result && is_pending_[static_cast<std::size_t>(ref.index)]) return true;
    }
  }
  return false;
}

void PlanBuilder::emit_group(const Unit& unit) {
  Group group;
  group.shape = values_[first_result(unit.members[0])].type.shape;
  std::map<ValueId, std::uint32_t> member_of;  // results of this group
  for (std::uint32_t m = 0; m < unit.members.size(); ++m) member_of[first_result(unit.members[m])] = m;
  std::map<ValueId, std::uint32_t> input_of;
  for (const std::size_t i : unit.members) {
    for (const Ref& ref : instruction(i).operands) {
      const ValueId value = value_of(ref);
      if (member_of.contains(value) || input_of.contains(value)) continue;
      input_of.emplace(value, static_cast<std::uint32_t>(group.inputs.size()));
      View view = view_of(value);
      // Right-aligned broadcast to the group's shape.
      const std::size_t rank = group.shape.size();
      const std::size_t missing = rank - view.type.shape.size();
      std::vector<std::int64_t> strides(rank, 0);
      for (std::size_t a = missing; a < rank; ++a) {
        if (view.type.shape[a - missing] != 1) strides[a] = view.strides[a - missing];
      }
      view.strides = std::move(strides);
      view.type.shape = group.shape;
      group.inputs.push_back(std::move(view));
    }
  }
  const auto inputs = static_cast<std::uint32_t>(group.inputs.size());
  for (const std::size_t i : unit.members) {
    GroupMember member{
        instruction(i).op, instruction(i).attrs.get(), {}, values_[first_result(i)].type.dtype, {}, false};
    for (const Ref& ref : instruction(i).operands) {
      const ValueId value = value_of(ref);
      if (const auto found = member_of.find(value); found != member_of.end()) {
        member.operands.push_back(inputs + found->second);
      } else {
        member.operands.push_back(input_of.at(value));
      }
    }
    group.members.push_back(std::move(member));
  }
  for (const std::size_t i : unit.members) used_by(i);
  for (std::size_t m = 0; m < unit.members.size(); ++m) {
    const ValueId value = first_result(unit.members[m]);
    Value& v = values_[value];
    if (v.uses == 0 && !v.is_output) continue;
    // The last member writes when all others have read a tile.
    const bool last = m + 1 == unit.members.size();
    group.members[m].over_input = last && write_over_input(group, value);
    if (!group.members[m].over_input) place(value, new_view(Storage::arena, v.type));
    group.members[m].result = *v.view;
  }
  std::vector<SlotId> reads, writes;
  for (const View& in : group.inputs) reads.push_back(in.slot);
  for (const GroupMember& m : group.members) {
    if (m.result) writes.push_back(m.result->slot);
  }
  auto step = make_elementwise_step(std::move(group));
  step->reads = std::move(reads);
  step->writes = std::move(writes);
  add_step(std::move(step));
  ++native_steps_;
}

bool PlanBuilder::write_over_input(const Group& group, ValueId result) {
  const TensorType& type = values_[result].type;
  for (const View& in : group.inputs) {
    const Slot& slot = plan_->slots[in.slot];
    const bool same = in.type.dtype == type.dtype && in.is_dense() && in.offset == 0 && in.bytes() == slot.bytes;
    if (!same || slot.storage == Storage::constant || slot.may_be_shared) continue;
    // A loop's carries swap places anyway.
    if (slot.storage == Storage::input && in_loop_) continue;
    const bool free = std::none_of(residents_[in.slot].begin(), residents_[in.slot].end(),
                                   [&](ValueId other) { return values_[other].is_output || values_[other].uses > 0; });
    const auto reads_it = [&](const View& other) { return other.slot == in.slot; };
    if (!free || std::count_if(group.inputs.begin(), group.inputs.end(), reads_it) != 1) continue;
    if (slot.storage != Storage::input) {
      place(result, in);
      return true;
    }
    // Only if the caller gives the array away, which a replay shows.
    const View taken = new_view(Storage::array, type);
    plan_->slots[taken.slot].made_by_step = true;
    add_step(make_take_over_step(dense_view(in.slot, type), taken, false));
    place(result, taken);
    return true;
  }
  return false;
}

void PlanBuilder::emit_softmax(const Unit& unit) {
  const View from = dense_of(value_of(instruction(unit.members[0]).operands[0]));
  for (const std::size_t i : unit.members) used_by(i);
  const ValueId result = first_result(unit.members.back());
  place(result, new_view(Storage::arena, values_[result].type));
  add_step(make_softmax_step(from, *values_[result].view));
  ++native_steps_;
}

bool PlanBuilder::emit_native(std::size_t i, std::string& why) {
  const VerifiedInstruction& one = instruction(i);
  const Native* native = native_of(*one.op);
  if (!native) {
    why = "no native kernel";
    return false;
  }
  for (std::size_t r = 0; r < one.result_count; ++r) {
    if (is_empty(values_[first_result(i) + r].type)) why = "empty";
  }
  for (const Ref& ref : one.operands) {
    if (is_empty(values_[value_of(ref)].type)) why = "empty";
  }
  if (!why.empty()) return false;
  const std::size_t before = plan_->steps.size();
  OpPlanner planner(*this, i);
  if (auto declined = native->plan(planner, one.attrs.get())) {
    why = *std::move(declined);
    return false;
  }
  if (plan_->steps.size() > before) ++native_steps_;
  used_by(i);
  return true;
}

Status PlanBuilder::emit(const Unit& unit) {
  const std::size_t first = plan_->steps.size();
  REPRISE_RETURN_IF_ERROR(emit_steps(unit));
  for (std::size_t s = first; s < plan_->steps.size(); ++s) {
    auto& computed = plan_->steps[s]->instructions;
    if (computed.empty()) computed = unit.members;  // else a step on MLX that had to come before
  }
  return {};
}

Status PlanBuilder::emit_steps(const Unit& unit) {
  const std::size_t i = unit.members[0];
  if (unit.elementwise || unit.softmax || native_of(*instruction(i).op)) {
    if (depends_on_pending(unit)) REPRISE_RETURN_IF_ERROR(flush_fallback());
  }
  if (unit.elementwise) {
    emit_group(unit);
    return {};
  }
  if (unit.softmax) {
    emit_softmax(unit);
    return {};
  }
  std::string why;
  if (emit_native(i, why)) return {};
  pending_.push_back(i);
  pending_why_.push_back(fmt::format("{}: {}", instruction(i).op->name, why));
  for (std::size_t r = 0; r < instruction(i).result_count; ++r) is_pending_[instruction(i).first_result + r] = true;
  return {};
}

void PlanBuilder::finish_outputs() {
  const auto real = static_cast<std::size_t>(typed_->program()->num_real_outputs);
  for (std::size_t k = 0; k < real; ++k) plan_->outputs.push_back(array_view_of(value_of(list_.outputs[k])));
}

Result<std::unique_ptr<const Plan>> PlanBuilder::build() {
  is_pending_.assign(list_.result_count, false);
  find_needed();
  find_units();
  for (const std::size_t u : order_of_units()) REPRISE_RETURN_IF_ERROR(emit(units_[u]));
  REPRISE_RETURN_IF_ERROR(flush_fallback());
  // A program that only passes values on needs no step at all.
  plan_->has_kernels = native_steps_ > 0 || plan_->steps.empty();
  finish_outputs();
  place_slots(*plan_);
  return std::unique_ptr<const Plan>(std::move(plan_));
}

Result<std::unique_ptr<const Plan>> make_plan(std::shared_ptr<const TypedProgram> typed) {
  return PlanBuilder(std::move(typed)).build();
}

}  // namespace reprise::native
