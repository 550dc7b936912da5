#include "backends/mlx/tape.hpp"

#include <mlx/primitives.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/format.hpp"
#include "base/machine.hpp"

namespace reprise::mlx_backend {
namespace {

/// Constant sub-graphs up to this many bytes are computed at recording; larger ones at each replay, so that a program
/// of large fills does not keep them all.
constexpr std::size_t kFoldBytes = 1 << 20;
/// Nothing is computed at recording when the constant sub-graphs take more than this on the way.
constexpr std::size_t kFoldWorkBytes = 64 << 20;
/// Asking for less is not worth the system call.
constexpr std::size_t kAskBytes = 16 << 20;

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

std::size_t saturating_add(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

std::size_t dense_bytes(const mx::Shape& shape, mx::Dtype dtype) {
  std::size_t bytes = dtype.size();
  bool overflow = false;
  for (const auto dim : shape) {
    if (dim == 0) return 0;
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::size_t>(dim), &bytes);
  }
  return overflow ? SIZE_MAX : bytes;
}

}  // namespace

bool is_view(const mx::Primitive& primitive) {
  const std::string_view name = primitive.name();
  constexpr std::string_view kViews[] = {"Broadcast", "BroadcastAxes", "ExpandDims",   "Squeeze",   "Transpose",
                                         "Slice",     "Split",         "View",         "AsStrided", "Reshape",
                                         "Flatten",   "Unflatten",     "StopGradient", "Depends"};
  return std::find(std::begin(kViews), std::end(kViews), name) != std::end(kViews);
}

void require_memory(std::size_t bytes) {
  if (bytes < kAskBytes) return;
  if (bytes <= static_cast<std::size_t>(machine_memory())) {
    // Only an attempt tells whether a limit on address space allows it.
    if (void* memory = std::malloc(bytes)) {
      std::free(memory);
      return;
    }
  }
  throw MemoryError(fmt::format("the results take {} bytes at one time, which cannot be had; this process may use {}",
                                bytes, machine_memory()));
}

array placeholder(const mx::Shape& shape, mx::Dtype dtype) { return array(shape, dtype, nullptr, {}); }

Tape Tape::record(const std::vector<array>& inputs, const std::vector<array>& outputs) {
  const std::vector<array> order = sorted(outputs);

  std::unordered_set<std::uintptr_t> dependent;  // on an input
  for (const array& in : inputs) dependent.insert(in.id());
  std::vector<array> fold;  // constant results that dependent nodes or outputs use
  std::size_t fold_work = 0;
  const auto is_dependent = [&](const array& a) { return dependent.count(a.id()) > 0; };
  for (const array& a : order) {
    if (!a.has_primitive()) continue;
    if (!std::any_of(a.inputs().begin(), a.inputs().end(), is_dependent)) {
      if (!is_view(a.primitive())) {
        for (const array& out : a.outputs())
          fold_work = saturating_add(fold_work, dense_bytes(out.shape(), out.dtype()));
      }
      continue;
    }
    for (const array& out : a.outputs()) dependent.insert(out.id());
    for (const array& in : a.inputs()) {
      if (!is_dependent(in) && in.has_primitive() && in.nbytes() <= kFoldBytes) fold.push_back(in);
    }
  }
  for (const array& out : outputs) {
    if (!is_dependent(out) && out.has_primitive() && out.nbytes() <= kFoldBytes) fold.push_back(out);
  }
  if (fold_work <= kFoldWorkBytes) mx::eval(fold);  // detaches them from what they were computed from

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
  tape.find_peak();
  return tape;
}

void Tape::find_peak() {
  std::vector<std::size_t> last_use(num_slots_, 0);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    for (const std::uint32_t slot : nodes_[n].inputs) last_use[slot] = n;
  }
  for (const std::uint32_t slot : outputs_) last_use[slot] = SIZE_MAX;
  std::vector<std::size_t> bytes(num_slots_, 0);
  std::size_t live = 0;
  std::uint32_t next = static_cast<std::uint32_t>(num_inputs_ + constants_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    const bool view = is_view(*node.primitive);
    for (std::size_t r = 0; r < node.shapes.size(); ++r, ++next) {
      bytes[next] = view ? 0 : dense_bytes(node.shapes[r], node.dtypes[r]);
      live = saturating_add(live, bytes[next]);
    }
    peak_bytes_ = std::max(peak_bytes_, live);
    for (const std::uint32_t slot : node.inputs) {
      if (last_use[slot] == n) live -= std::exchange(bytes[slot], 0);
    }
  }
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
