// How a row becomes native steps. A family that has some has <family>.native.hpp with its planners and
// <family>.native.cpp with the functions; backends/native/natives.cpp joins them. A row without one, and an instruction
// that its planner declines, runs on MLX.
//
//   Decision plan_sum(OpPlanner& op, const ops::ReduceAttrs& attrs) {
//     if (op[0].type.dtype != DType::float32) return decline("only float32 is fast");
//     op.emit<SumStep>(op.dense(0), op.result());
//     return {};
//   }
//   inline constexpr std::array kReduceNatives{native<ops::ReduceAttrs, plan_sum>("sum")};
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/native/plan.hpp"
#include "ops/op_def.hpp"

namespace reprise::native {

/// Empty: steps were emitted. Else the reason why MLX has to do it.
using Decision = std::optional<std::string>;
inline Decision decline(std::string reason) { return reason; }

using ops::axes_of;
using ops::axis_of;

class PlanBuilder;

/// One instruction, as its planner sees it. No operand and no result is empty.
class OpPlanner {
 public:
  OpPlanner(PlanBuilder& builder, std::size_t instruction) : builder_(builder), instruction_(instruction) {}

  const ops::OpDef& def() const;
  std::size_t size() const;
  /// Operand i as it lies: it may be transposed, sliced, repeated.
  View operator[](std::size_t i) const;
  /// Operand i row-major and without gaps; copied by a step before this one where it is not.
  View dense(std::size_t i);
  /// A dense copy of any view.
  View dense(const View& view);
  /// A view's elements as `astype` makes them; the view itself where it has that dtype.
  View cast(const View& view, DType dtype);
  /// The array that a view shows part of, when it is the same for all replays, else null.
  const mlx::core::array* fixed(const View& view) const;

  std::size_t result_count() const;
  const TensorType& result_type(std::size_t i = 0) const;
  /// Where result i goes: dense.
  View result(std::size_t i = 0);
  /// Result i shows an operand's elements in another way: no step. Its dtype and size are the result's.
  void set_view(View view, std::size_t i = 0);
  /// Result i takes over operand `operand`'s memory, which it then updates in place, when nothing else wants that
  /// value; else a copy of it is made first. Returns where it is: dense.
  View updated(std::size_t operand, std::size_t i = 0);

  /// Operand i backed by an array, and dense.
  View array(std::size_t i);
  /// The slot of result i, whose array the step makes.
  SlotId array_result(std::size_t i = 0);
  /// True when something within its sub-programs calls the host.
  bool calls_host() const;
  /// The plan of sub-program k, whose inputs are the carries. Null when none of its instructions has a native kernel.
  Result<std::unique_ptr<const Plan>> subplan(std::size_t k);

  /// Memory that only the steps of this instruction use.
  View scratch(TensorType type);
  /// An array that is made now, for all replays: packed weights, tables.
  View constant(mlx::core::array array);

  /// Adds a step. It must name the slots it reads and writes, which add() takes from the views.
  void add(std::unique_ptr<Step> step, std::span<const View> reads, std::span<const View> writes);
  void add(std::unique_ptr<Step> step, std::initializer_list<View> reads, std::initializer_list<View> writes) {
    add(std::move(step), std::span(reads.begin(), reads.size()), std::span(writes.begin(), writes.size()));
  }

 private:
  PlanBuilder& builder_;
  std::size_t instruction_;
};

using PlanFn = Decision (*)(OpPlanner&, const void* attrs);

struct Native {
  std::string_view name;
  const void* attrs_type = nullptr;
  PlanFn plan = nullptr;
};

/// A planner of an op whose attributes are an `Attrs`.
template <typename Attrs, auto Plan>
constexpr Native native(std::string_view name) {
  return {name, ops::type_tag<Attrs>(),
          [](OpPlanner& op, const void* attrs) { return Decision(Plan(op, *static_cast<const Attrs*>(attrs))); }};
}

/// A planner of an op without attributes.
template <auto Plan>
constexpr Native native(std::string_view name) {
  return {name, nullptr, [](OpPlanner& op, const void*) { return Decision(Plan(op)); }};
}

/// The planner of a row, or null.
const Native* native_of(const ops::OpDef& op);

}  // namespace reprise::native
