#include "backends/mlx/tape.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace reprise::mlx_backend {
namespace {

/// Constant sub-graphs up to this many bytes are computed at recording; larger ones at each replay, so that a program
/// of large fills does not keep them all.
constexpr std::size_t kFoldBytes = 1 << 20;

// Arrays that outputs depend on, inputs before users; a multi-output node appears once.
std::vector<array> sorted(const std::vector<array>& outputs) {
  std::vector<array> order;
  std::unordered_set<std::uintptr_t> seen;
  struct Frame {
    array node;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](const array& a) {
    if (!seen.insert(a.id()).second) return;
    for (const array& sibling : a.siblings()) seen.insert(sibling.id());
    stack.push_back({a});
  };
  for (const array& out : outputs) {
    enter(out);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.node.has_primitive() && top.next < top.node.inputs().size()) {
        const array in = top.node.inputs()[top.next++];
        enter(in);  // may move `top`
        continue;
      }
      order.push_back(std::move(top.node));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace

array placeholder(const mx::Shape& shape, mx::Dtype dtype) { return array(shape, dtype, nullptr, {}); }

Tape Tape::record(const std::vector<array>& inputs, const std::vector<array>& outputs) {
  const std::vector<array> order = sorted(outputs);

  std::unordered_set<std::uintptr_t> dependent;  // on an input
  for (const array& in : inputs) dependent.insert(in.id());
  std::vector<array> fold;  // constant results that dependent nodes or outputs use
  const auto is_dependent = [&](const array& a) { return dependent.count(a.id()) > 0; };
  for (const array& a : order) {
    if (!a.has_primitive()) continue;
    if (!std::any_of(a.inputs().begin(), a.inputs().end(), is_dependent)) continue;
    for (const array& out : a.outputs()) dependent.insert(out.id());
    for (const array& in : a.inputs()) {
      if (!is_dependent(in) && in.has_primitive() && in.nbytes() <= kFoldBytes) fold.push_back(in);
    }
  }
  for (const array& out : outputs) {
    if (!is_dependent(out) && out.has_primitive() && out.nbytes() <= kFoldBytes) fold.push_back(out);
  }
  mx::eval(fold);  // detaches them from what they were computed from

  Tape tape;
  tape.num_inputs_ = inputs.size();
  std::unordered_map<std::uintptr_t, std::uint32_t> slots;
  for (const array& in : inputs) slots.emplace(in.id(), static_cast<std::uint32_t>(slots.size()));
  const std::vector<array> folded = sorted(outputs);
  for (const array& a : folded) {
    if (a.has_primitive() || slots.count(a.id()) > 0) continue;
    if (!a.is_available()) throw std::logic_error("a placeholder of another recording is in the graph");
    slots.emplace(a.id(), static_cast<std::uint32_t>(inputs.size() + tape.constants_.size()));
    tape.constants_.push_back(a);
  }
  std::uint32_t next = static_cast<std::uint32_t>(inputs.size() + tape.constants_.size());
  for (const array& a : folded) {
    if (!a.has_primitive()) continue;
    Node node;
    node.primitive = a.primitive_ptr();
    for (const array& in : a.inputs()) node.inputs.push_back(slots.at(in.id()));
    for (const array& out : a.outputs()) {
      node.shapes.push_back(out.shape());
      node.dtypes.push_back(out.dtype());
      slots.emplace(out.id(), next++);
    }
    tape.nodes_.push_back(std::move(node));
  }
  for (const array& out : outputs) tape.outputs_.push_back(slots.at(out.id()));
  tape.num_slots_ = next;
  return tape;
}

std::vector<array> Tape::replay(std::vector<array> inputs) const {
  std::vector<array> slots = std::move(inputs);
  slots.reserve(num_slots_);
  slots.insert(slots.end(), constants_.begin(), constants_.end());
  for (const Node& node : nodes_) {
    std::vector<array> operands;
    operands.reserve(node.inputs.size());
    for (const std::uint32_t slot : node.inputs) operands.push_back(slots[slot]);
    if (node.shapes.size() == 1) {
      slots.emplace_back(node.shapes[0], node.dtypes[0], node.primitive, std::move(operands));
    } else {
      for (array& out : array::make_arrays(node.shapes, node.dtypes, node.primitive, operands)) {
        slots.push_back(std::move(out));
      }
    }
  }
  std::vector<array> outputs;
  outputs.reserve(outputs_.size());
  for (const std::uint32_t slot : outputs_) outputs.push_back(slots[slot]);
  return outputs;
}

}  // namespace reprise::mlx_backend
