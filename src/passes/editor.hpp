// Rewrites one list of a graph from front to back: the rule sees each instruction with its operands already replaced.
//
//   Editor editor(graph, list);
//   editor.run([&](Node& node) -> std::optional<Ref> {
//     if (node.op->name == "negate") {
//       if (const Node* inner = editor.producer(node.operands[0], "negate")) return inner->operands[0];
//     }
//     return {};
//   });
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "passes/graph.hpp"

namespace reprise::pass {

class Editor {
 public:
  Editor(Graph& graph, List& list);

  /// Calls the rule with each instruction that an output needs. A reference that it gives takes the place of the
  /// instruction's one result; the instruction goes. It may also change the instruction, and says so with touch().
  /// True if anything changed.
  template <typename Rule>
  bool run(const Rule& rule) {
    std::deque<Node> old;
    old.swap(list_.nodes);
    for (std::size_t i = 0; i < old.size(); ++i) {
      Node& node = old[i];
      for (Ref& ref : node.operands) ref = current(ref);
      std::optional<Ref> instead;
      if (live_[i]) instead = rule(node);
      if (instead) {
        instead_[node.first] = *instead;
        changed_ = true;
      } else {
        emit(std::move(node));
      }
    }
    for (Ref& ref : list_.outputs) ref = current(ref);
    return changed_;
  }

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  List& list() { return list_; }
  void touch() { changed_ = true; }

  const TensorType& type(const Ref& ref) const { return graph_.type_of(ref, list_); }
  const TensorType& type(const Node& node) const { return list_.types[node.first]; }

  /// The instruction that makes a value, or null: of any op, or of the one named.
  const Node* producer(const Ref& ref) const;
  const Node* producer(const Ref& ref, std::string_view op) const;

  /// How often instructions that are needed, and outputs, read a value, counted before any change.
  std::size_t uses(const Ref& ref) const;

  /// The number that each element of a value is, where the program says so: a constant, a captured array of one
  /// element, and either of them repeated.
  std::optional<Constant> splat(const Ref& ref) const;

  /// One more instruction before the one that the rule looks at, and its result. The op's rule must accept it.
  template <typename Attrs>
  Ref add(std::string_view op, std::vector<Ref> operands, Attrs attrs, const Node& like) {
    return add(op, std::move(operands), ops::AttrBox(std::make_shared<const Attrs>(std::move(attrs))), like);
  }
  Ref add(std::string_view op, std::vector<Ref> operands, ops::AttrBox attrs, const Node& like);

 private:
  Ref current(const Ref& ref) const;
  void emit(Node node);

  Graph& graph_;
  List& list_;
  std::vector<bool> live_;
  std::vector<std::uint32_t> uses_;          // by value
  std::vector<std::size_t> made_by_;         // by value: place among the nodes emitted so far
  std::vector<std::optional<Ref>> instead_;  // by value
  bool changed_ = false;
};

/// A node's op, operands and attributes in place of what it had; its result keeps its type.
template <typename Attrs>
void become(Node& node, std::string_view op, std::vector<Ref> operands, Attrs attrs);
void become(Node& node, std::string_view op, std::vector<Ref> operands, ops::AttrBox attrs);
template <typename Attrs>
void become(Node& node, std::string_view op, std::vector<Ref> operands, Attrs attrs) {
  become(node, op, std::move(operands), ops::AttrBox(std::make_shared<const Attrs>(std::move(attrs))));
}

/// The value of an evaluated array of one element, exactly.
Constant constant_of(const mlx::core::array& one);

/// What a constant's number is, conservatively: false where the conversion to the dtype would have to be looked at.
bool is_number(const Constant& c, double value);
/// The number as its dtype holds it, for float32 only.
std::optional<float> float32_of(const Constant& c);

using ops::axes_of;
using ops::axis_of;

}  // namespace reprise::pass
