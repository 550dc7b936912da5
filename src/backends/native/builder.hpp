// The plan while it grows. See planner.cpp for the order of events.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backends/native/native.hpp"
#include "program/infer.hpp"

namespace reprise::native {

/// Index of a value: inputs, then captures, constants and results of the instruction list.
using ValueId = std::uint32_t;

inline bool is_empty(const TensorType& type) { return element_count(type.shape) == 0; }

class PlanBuilder {
 public:
  explicit PlanBuilder(std::shared_ptr<const TypedProgram> typed);

  Result<std::unique_ptr<const Plan>> build();

 private:
  friend class OpPlanner;

  struct Value {
    TensorType type;
    std::optional<View> view;   ///< once it is known where it lies
    std::optional<View> dense;  ///< a dense copy, where one was made
    std::uint32_t uses = 0;     ///< instructions that will read it and are not planned yet
    bool is_output = false;
  };

  /// Instructions that become one step: a group of element-wise ones, or a single one.
  struct Unit {
    std::vector<std::size_t> members;
    bool elementwise = false;
    bool softmax = false;  ///< all of it is the softmax of its first operand's last axis
  };

  // Preparation.
  void find_needed();
  void find_units();
  std::vector<std::size_t> order_of_units() const;
  bool is_elementwise(std::size_t i) const;
  /// The instructions that together are a softmax whose last one is i, in order; else none.
  std::vector<std::size_t> softmax_ending_at(std::size_t i) const;

  // Emission.
  Status emit(const Unit& unit);
  Status emit_steps(const Unit& unit);
  void emit_group(const Unit& unit);
  /// Places the result where an input of the group lies that nothing wants afterwards; false when there is none.
  bool write_over_input(const struct Group& group, ValueId result);
  void emit_softmax(const Unit& unit);
  bool emit_native(std::size_t i, std::string& why);
  Status flush_fallback();
  Result<std::unique_ptr<const Plan>> subplan(std::size_t i, std::size_t k) const;
  void finish_outputs();
  void used_by(std::size_t i);
  bool depends_on_pending(const Unit& unit) const;

  // Slots and views.
  ValueId value_of(const Ref& ref) const;
  ValueId first_result(std::size_t i) const;
  const VerifiedInstruction& instruction(std::size_t i) const { return list_.instructions[i]; }
  std::size_t producer_of(const Ref& result) const { return producers_[static_cast<std::size_t>(result.index)]; }
  SlotId new_slot(Storage storage, const TensorType& type, std::size_t index = 0);
  View new_view(Storage storage, const TensorType& type) { return dense_view(new_slot(storage, type), type); }
  void place(ValueId value, View view);
  View view_of(ValueId value);
  View dense_of(ValueId value);
  View dense_of(const View& view);
  /// An array-backed dense view, for MLX and for outputs.
  View array_view_of(ValueId value);
  void make_array(SlotId slot);
  /// True when instruction i may write over everything in the value's slot.
  bool may_overwrite(ValueId value, std::size_t i) const;
  View constant_view(mlx::core::array array);
  void add_step(std::unique_ptr<Step> step);

  std::shared_ptr<const TypedProgram> typed_;
  const VerifiedList& list_;
  std::size_t first_capture_, first_constant_, first_result_;
  std::vector<Value> values_;
  std::vector<std::size_t> producers_;  ///< by result: the instruction that makes it
  std::vector<bool> needed_;
  std::vector<std::size_t> unit_of_;
  std::vector<Unit> units_;
  std::vector<std::vector<ValueId>> residents_;  ///< by slot: values that lie in it
  std::vector<std::size_t> pending_;             ///< instructions for MLX, not yet a step
  std::vector<std::string> pending_why_;
  std::vector<bool> is_pending_;
  std::size_t native_steps_ = 0;
  bool in_loop_ = false;  ///< the plan of a loop's condition or body, whose inputs are carries
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
};

}  // namespace reprise::native
