// What an op's planner asks for, in terms of the plan that grows.
#include <algorithm>

#include "backends/native/arrays.hpp"
#include "backends/native/builder.hpp"
#include "backends/native/copy.hpp"
#include "backends/native/elementwise.hpp"
#include "base/format.hpp"
#include "ops/registry.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

bool host_within(const VerifiedList& list) {
  return std::any_of(list.instructions.begin(), list.instructions.end(), [](const VerifiedInstruction& one) {
    return has(one.op->traits, ops::Trait::host) ||
           std::any_of(one.subprograms.begin(), one.subprograms.end(), host_within);
  });
}

}  // namespace

const ops::OpDef& OpPlanner::def() const { return *builder_.instruction(instruction_).op; }
std::size_t OpPlanner::size() const { return builder_.instruction(instruction_).operands.size(); }
View OpPlanner::operator[](std::size_t i) const {
  return builder_.view_of(builder_.value_of(builder_.instruction(instruction_).operands[i]));
}
View OpPlanner::dense(std::size_t i) {
  return builder_.dense_of(builder_.value_of(builder_.instruction(instruction_).operands[i]));
}
View OpPlanner::dense(const View& view) { return builder_.dense_of(view); }

View OpPlanner::cast(const View& view, DType dtype) {
  if (view.type.dtype == dtype) return view;
  const View out = scratch({dtype, view.type.shape});
  GroupMember member;
  member.op = ops::find_def("astype");
  member.operands = {0};
  member.dtype = dtype;
  member.result = out;
  add(make_elementwise_step({view.type.shape, {view}, {std::move(member)}}), {view}, {out});
  return out;
}

const mx::array* OpPlanner::fixed(const View& view) const {
  const Slot& slot = builder_.plan_->slots[view.slot];
  return slot.storage == Storage::constant ? &builder_.plan_->constants[slot.index] : nullptr;
}

std::size_t OpPlanner::result_count() const { return builder_.instruction(instruction_).result_count; }
const TensorType& OpPlanner::result_type(std::size_t i) const {
  return builder_.values_[builder_.first_result(instruction_) + i].type;
}

View OpPlanner::result(std::size_t i) {
  const auto value = static_cast<ValueId>(builder_.first_result(instruction_) + i);
  if (!builder_.values_[value].view) builder_.place(value, builder_.new_view(Storage::arena, result_type(i)));
  return *builder_.values_[value].view;
}

void OpPlanner::set_view(View view, std::size_t i) {
  view.type = result_type(i);
  builder_.place(static_cast<ValueId>(builder_.first_result(instruction_) + i), std::move(view));
}

View OpPlanner::updated(std::size_t operand, std::size_t i) {
  const ValueId from = builder_.value_of(builder_.instruction(instruction_).operands[operand]);
  const auto to = static_cast<ValueId>(builder_.first_result(instruction_) + i);
  const View old = builder_.view_of(from);
  const Storage storage = builder_.plan_->slots[old.slot].storage;
  const bool mine = builder_.may_overwrite(from, instruction_);
  if (mine && old.is_dense() && old.type == result_type(i)) {
    const bool shared = builder_.plan_->slots[old.slot].may_be_shared;
    if (storage == Storage::arena || (storage == Storage::array && !shared)) {
      builder_.place(to, old);
      return old;
    }
    if (storage != Storage::constant && old.offset == 0 && old.bytes() == builder_.plan_->slots[old.slot].bytes) {
      const View adopted = builder_.new_view(Storage::array, result_type(i));
      builder_.plan_->slots[adopted.slot].made_by_step = true;
      builder_.add_step(make_take_over_step(old, adopted, true));
      builder_.place(to, adopted);
      return adopted;
    }
  }
  const View copy = result(i);
  builder_.add_step(make_copy_step(old, copy));
  return copy;
}

View OpPlanner::array(std::size_t i) {
  return builder_.array_view_of(builder_.value_of(builder_.instruction(instruction_).operands[i]));
}

SlotId OpPlanner::array_result(std::size_t i) {
  const View view = builder_.new_view(Storage::array, result_type(i));
  builder_.plan_->slots[view.slot].made_by_step = true;
  builder_.plan_->slots[view.slot].may_be_shared = true;
  builder_.place(static_cast<ValueId>(builder_.first_result(instruction_) + i), view);
  return view.slot;
}

bool OpPlanner::calls_host() const {
  const auto& lists = builder_.instruction(instruction_).subprograms;
  return std::any_of(lists.begin(), lists.end(), host_within);
}

Result<std::unique_ptr<const Plan>> OpPlanner::subplan(std::size_t k) { return builder_.subplan(instruction_, k); }

View OpPlanner::scratch(TensorType type) { return builder_.new_view(Storage::arena, type); }
View OpPlanner::constant(mx::array array) { return builder_.constant_view(std::move(array)); }

void OpPlanner::add(std::unique_ptr<Step> step, std::span<const View> reads, std::span<const View> writes) {
  for (const View& v : reads) step->reads.push_back(v.slot);
  for (const View& v : writes) step->writes.push_back(v.slot);
  builder_.add_step(std::move(step));
}

}  // namespace reprise::native
