// Instructions become units: a group of element-wise ones of one shape that feed each other, or a single one. Units are
// planned in an order that keeps to the program's as far as groups allow. What no planner takes waits in a list and
// becomes one MLX program as soon as a native step needs one of its results.
#include "backends/native/planner.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include "backends/mlx/lowering.hpp"
#include "backends/native/builder.hpp"
#include "backends/native/copy.hpp"
#include "backends/native/elementwise.hpp"
#include "backends/native/fallback.hpp"
#include "base/format.hpp"
#include "program/verify.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

/// Larger groups gain nothing and outgrow the first-level cache.
constexpr std::size_t kMaxGroup = 64;

bool is_empty(const TensorType& type) { return std::find(type.shape.begin(), type.shape.end(), 0) != type.shape.end(); }

/// Copies an array that nobody else holds by taking it over, others element by element.
class AdoptStep final : public Step {
 public:
  AdoptStep(View from, View to) : from_(std::move(from)), to_(std::move(to)) {
    reads = {from_.slot};
    writes = {to_.slot};
  }

  Status run(const Frame& frame) const override {
    if (frame.array(from_.slot)->is_donatable()) {
      frame.set_array(to_.slot, frame.take_array(from_.slot));
      return {};
    }
    const TensorType& type = to_.type;
    mx::array out(mx::allocator::malloc(to_.bytes()), to_mlx(type.shape), to_mlx(type.dtype));
    copy_strided(frame.at(from_), from_.strides, reinterpret_cast<std::byte*>(out.data<char>()), to_.strides,
                 type.shape, size_of(type.dtype), frame.threads());
    frame.set_array(to_.slot, std::move(out));
    return {};
  }

  std::string describe() const override {
    return fmt::format("take over {} (a copy, unless it is donated)", to_string(to_.type));
  }

 private:
  View from_, to_;
};

}  // namespace

// --- OpPlanner

const ops::OpDef& OpPlanner::def() const { return *builder_.instruction(instruction_).op; }
std::size_t OpPlanner::size() const { return builder_.instruction(instruction_).operands.size(); }
View OpPlanner::operator[](std::size_t i) const {
  return builder_.view_of(builder_.value_of(builder_.instruction(instruction_).operands[i]));
}
View OpPlanner::dense(std::size_t i) {
  return builder_.dense_of(builder_.value_of(builder_.instruction(instruction_).operands[i]));
}
View OpPlanner::dense(const View& view) { return builder_.dense_of(view); }

const mx::array* OpPlanner::fixed(std::size_t i) const {
  const View view = (*this)[i];
  const Slot& slot = builder_.plan_->slots[view.slot];
  if (slot.storage != Storage::constant) return nullptr;
  const mx::array& array = builder_.plan_->constants[slot.index];
  return view.offset == 0 && view.is_dense() && from_mlx(array.dtype()) == view.type.dtype &&
                 array.size() == static_cast<std::size_t>(view.size())
             ? &array
             : nullptr;
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
    if (storage == Storage::arena || storage == Storage::array) {
      builder_.place(to, old);
      return old;
    }
    if (storage == Storage::input && old.offset == 0 && old.bytes() == builder_.plan_->slots[old.slot].bytes) {
      const View adopted = builder_.new_view(Storage::array, result_type(i));
      builder_.plan_->slots[adopted.slot].made_by_step = true;
      builder_.add_step(std::make_unique<AdoptStep>(old, adopted));
      builder_.place(to, adopted);
      return adopted;
    }
  }
  const View copy = result(i);
  builder_.add_step(make_copy_step(old, copy));
  return copy;
}

View OpPlanner::scratch(TensorType type) { return builder_.new_view(Storage::arena, type); }
View OpPlanner::constant(mx::array array) { return builder_.constant_view(std::move(array)); }

void OpPlanner::add(std::unique_ptr<Step> step, std::initializer_list<View> reads, std::initializer_list<View> writes) {
  for (const View& v : reads) step->reads.push_back(v.slot);
  for (const View& v : writes) step->writes.push_back(v.slot);
  builder_.add_step(std::move(step));
}

// --- PlanBuilder: values and slots

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
  slot.bytes = static_cast<std::size_t>(element_count(type.shape).value_or(0)) * size_of(type.dtype);
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

// --- PlanBuilder: units

void PlanBuilder::find_needed() {
  needed_.assign(list_.instructions.size(), false);
  std::vector<std::size_t> producer(list_.result_count);
  for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
    for (std::size_t r = 0; r < instruction(i).result_count; ++r) producer[instruction(i).first_result + r] = i;
  }
  const auto mark = [&](const Ref& ref) {
    if (ref.kind == RefKind::result) needed_[producer[static_cast<std::size_t>(ref.index)]] = true;
  };
  const auto real = static_cast<std::size_t>(typed_->program()->num_real_outputs);
  for (std::size_t i = 0; i < list_.outputs.size(); ++i) {
    // The tail only keeps host calls alive; without any it changes nothing.
    if (i >= real && !typed_->verified().calls_host()) break;
    mark(list_.outputs[i]);
    values_[value_of(list_.outputs[i])].is_output |= i < real;
  }
  for (std::size_t i = list_.instructions.size(); i-- > 0;) {
    if (!needed_[i]) continue;
    for (const Ref& ref : instruction(i).operands) mark(ref);
  }
  for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
    if (!needed_[i]) continue;
    for (const Ref& ref : instruction(i).operands) ++values_[value_of(ref)].uses;
  }
}

bool PlanBuilder::is_elementwise(std::size_t i) const {
  const VerifiedInstruction& one = instruction(i);
  if (one.result_count != 1) return false;
  const TensorType& type = values_[first_result(i)].type;
  if (is_empty(type)) return false;
  std::vector<TensorType> operands;
  for (const Ref& ref : one.operands) operands.push_back(values_[value_of(ref)].type);
  return !why_not_elementwise(*one.op, one.attrs.get(), operands, type);
}

// A level counts how often the way to an instruction leaves a group; groups of one level cannot wait for each other.
void PlanBuilder::find_units() {
  const std::size_t n = list_.instructions.size();
  std::vector<std::size_t> producer(list_.result_count);
  std::vector<std::uint32_t> level(n, 0);
  std::vector<bool> elementwise(n);
  std::vector<std::size_t> leader(n);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  std::vector<std::size_t> count(n, 1);
  const auto find = [&](std::size_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < instruction(i).result_count; ++r) producer[instruction(i).first_result + r] = i;
    if (!needed_[i]) continue;
    elementwise[i] = is_elementwise(i);
    const auto same_shape = [&](std::size_t p) {
      return values_[first_result(p)].type.shape == values_[first_result(i)].type.shape;
    };
    for (const Ref& ref : instruction(i).operands) {
      if (ref.kind != RefKind::result) continue;
      const std::size_t p = producer[static_cast<std::size_t>(ref.index)];
      const bool joins = elementwise[i] && elementwise[p] && same_shape(p);
      level[i] = std::max(level[i], level[p] + (elementwise[p] && !joins ? 1 : 0));
    }
    if (!elementwise[i]) continue;
    for (const Ref& ref : instruction(i).operands) {
      if (ref.kind != RefKind::result) continue;
      const std::size_t p = producer[static_cast<std::size_t>(ref.index)];
      if (!elementwise[p] || !same_shape(p) || level[p] != level[i]) continue;
      const std::size_t a = find(p), b = find(i);
      if (a == b || count[a] + count[b] > kMaxGroup) continue;
      leader[b] = a;
      count[a] += count[b];
    }
  }
  unit_of_.assign(n, 0);
  std::map<std::size_t, std::size_t> unit_of_leader;
  for (std::size_t i = 0; i < n; ++i) {
    if (!needed_[i]) continue;
    const auto [it, added] = unit_of_leader.try_emplace(find(i), units_.size());
    if (added) units_.push_back({{}, elementwise[i]});
    unit_of_[i] = it->second;
    units_[it->second].members.push_back(i);
  }
}

std::vector<std::size_t> PlanBuilder::order_of_units() const {
  std::vector<std::size_t> producer(list_.result_count);
  for (std::size_t i = 0; i < list_.instructions.size(); ++i) {
    for (std::size_t r = 0; r < instruction(i).result_count; ++r) producer[instruction(i).first_result + r] = i;
  }
  std::vector<std::vector<std::size_t>> followers(units_.size());
  std::vector<std::size_t> waits(units_.size(), 0);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const std::size_t i : units_[u].members) {
      for (const Ref& ref : instruction(i).operands) {
        if (ref.kind != RefKind::result) continue;
        const std::size_t p = unit_of_[producer[static_cast<std::size_t>(ref.index)]];
        if (p == u) continue;
        followers[p].push_back(u);
        ++waits[u];
      }
    }
  }
  using Entry = std::pair<std::size_t, std::size_t>;  // last member, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (waits[u] == 0) ready.emplace(units_[u].members.back(), u);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t u = ready.top().second;
    ready.pop();
    order.push_back(u);
    for (const std::size_t f : followers[u]) {
      if (--waits[f] == 0) ready.emplace(units_[f].members.back(), f);
    }
  }
  return order;
}

// --- PlanBuilder: emission

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
      const bool constant = value >= first_constant_ && value < first_result_;
      group.fixed.push_back(constant ? &plan_->constants[plan_->slots[group.inputs.back().slot].index] : nullptr);
    }
  }
  const auto inputs = static_cast<std::uint32_t>(group.inputs.size());
  std::vector<std::uint32_t> inside(unit.members.size(), 0);  // uses within the group
  for (const std::size_t i : unit.members) {
    GroupMember member{instruction(i).op, instruction(i).attrs.get(), {}, values_[first_result(i)].type.dtype, {}};
    for (const Ref& ref : instruction(i).operands) {
      const ValueId value = value_of(ref);
      if (const auto found = member_of.find(value); found != member_of.end()) {
        member.operands.push_back(inputs + found->second);
        ++inside[found->second];
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
    place(value, new_view(Storage::arena, v.type));
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
  const std::size_t i = unit.members[0];
  if (unit.elementwise || native_of(*instruction(i).op)) {
    if (depends_on_pending(unit)) REPRISE_RETURN_IF_ERROR(flush_fallback());
  }
  if (unit.elementwise) {
    emit_group(unit);
    return {};
  }
  std::string why;
  if (emit_native(i, why)) return {};
  pending_.push_back(i);
  pending_why_.push_back(fmt::format("{}: {}", instruction(i).op->name, why));
  for (std::size_t r = 0; r < instruction(i).result_count; ++r) is_pending_[instruction(i).first_result + r] = true;
  return {};
}

namespace {

/// Numbers the references of some instructions anew, as a program of their own needs them.
class Extract {
 public:
  Extract(const ProgramData& whole, std::function<Ref(const Ref&)> outer) : whole_(whole), outer_(std::move(outer)) {}

  Instruction instruction(const Instruction& from, bool top) {
    Instruction out = from;
    for (Ref& ref : out.operands) ref = renumber(ref, top);
    for (SubProgram& sub : out.subprograms) {
      for (Instruction& inner : sub.instructions) inner = instruction(inner, false);
      for (Ref& ref : sub.outputs) ref = renumber(ref, false);
    }
    return out;
  }

  ProgramData data;

 private:
  Ref renumber(const Ref& ref, bool top) {
    const auto i = static_cast<std::size_t>(ref.index);
    if (ref.kind == RefKind::capture) {
      const auto [it, added] = captures_.try_emplace(ref.index, static_cast<std::int64_t>(data.captures.size()));
      if (added) data.captures.push_back(whole_.captures[i]);
      return capture(it->second);
    }
    if (ref.kind == RefKind::constant) {
      const auto [it, added] = constants_.try_emplace(ref.index, static_cast<std::int64_t>(data.constants.size()));
      if (added) data.constants.push_back(whole_.constants[i]);
      return constant(it->second);
    }
    return top ? outer_(ref) : ref;
  }

  const ProgramData& whole_;
  std::function<Ref(const Ref&)> outer_;
  std::map<std::int64_t, std::int64_t> captures_, constants_;
};

}  // namespace

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
  for (const std::size_t i : pending_) {
    extract.data.instructions.push_back(extract.instruction(whole.instructions[i], true));
    parts.numbers.push_back(i);
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
  extract.data.num_inputs = static_cast<std::int32_t>(inputs.size());
  std::vector<TensorType> signature;
  for (const ValueId value : inputs) {
    signature.push_back(values_[value].type);
    parts.inputs.push_back(array_view_of(value));
  }
  auto verified = verify(Program(std::move(extract.data)));
  if (!verified) return verified.error();
  auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), signature);
  if (!typed) return typed.error();
  auto mlx = mlx_backend::specialise(std::make_shared<const TypedProgram>(*std::move(typed)), Device::cpu());
  if (!mlx) return mlx.error();
  parts.mlx = *std::move(mlx);
  for (const ValueId value : outputs) {
    const View view = new_view(Storage::array, values_[value].type);
    plan_->slots[view.slot].made_by_step = true;
    place(value, view);
    parts.outputs.push_back(view.slot);
  }
  auto step = make_fallback_step(std::move(parts));
  step->why = fmt::format("{}", fmt::join(pending_why_, "; "));
  add_step(std::move(step));
  pending_.clear();
  pending_why_.clear();
  is_pending_.assign(is_pending_.size(), false);
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
  if (native_steps_ == 0) return std::unique_ptr<const Plan>();
  finish_outputs();
  place_slots(*plan_);
  return std::unique_ptr<const Plan>(std::move(plan_));
}

Result<std::unique_ptr<const Plan>> make_plan(std::shared_ptr<const TypedProgram> typed) {
  return PlanBuilder(std::move(typed)).build();
}

}  // namespace reprise::native
