// A typed program in the form that passes change: results keep their numbers while instructions come and go.
//
//   Graph graph(typed);
//   for_each_list(graph, [&](List& list) { ... });
//   Draft draft = graph.to_program();  // numbered by position again, to be verified and inferred
#pragma once

#include <deque>
#include <vector>

#include "program/infer.hpp"

namespace reprise::pass {

struct List;

/// An instruction. Its results are the values first .. first + count of its list.
struct Node {
  const ops::OpDef* op = nullptr;
  ops::AttrBox attrs;
  std::vector<Attr> wire;  ///< the same attributes, positional
  std::vector<Ref> operands;
  std::vector<List> lists;  ///< {cond, body} of a `while`
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t number = 0;  ///< what messages call it

  template <typename Attrs>
  const Attrs& as() const {
    return *static_cast<const Attrs*>(attrs.get());
  }
};

struct List {
  std::deque<Node> nodes;  ///< operands come before their users
  std::vector<Ref> outputs;
  std::deque<TensorType> carries;
  std::deque<TensorType> types;  ///< by value; a value that no node makes any more keeps its place
};

/// A program again, with the numbers that its instructions had.
struct Draft {
  Program program;
  Numbering numbering;
};

class Graph {
 public:
  explicit Graph(const TypedProgram& typed);

  Draft to_program() const;

  const TensorType& type_of(const Ref& ref, const List& list) const;
  Ref add_capture(mlx::core::array value);
  Ref add_constant(const Constant& constant);

  const std::vector<Capture>& captures() const { return captures_; }
  const std::vector<Constant>& constants() const { return constants_; }
  bool calls_host() const { return calls_host_; }
  std::size_t num_real_outputs() const { return static_cast<std::size_t>(num_real_outputs_); }

  /// Lets go of captures and constants that nothing reads; true if there were any.
  bool drop_unread_tables();

  List top;

 private:
  std::int32_t num_real_outputs_ = 0;
  bool calls_host_ = false;
  std::deque<TensorType> inputs_;
  std::vector<Capture> captures_;
  std::deque<TensorType> capture_types_;
  std::vector<Constant> constants_;
  std::deque<TensorType> constant_types_;
};

bool is_driven(const Node& node);  ///< a loop or a host call: never merged, folded or moved

/// By node: whether an output of the list needs it. At the top level the kept-alive tail counts if the program calls
/// the host, as everywhere.
std::vector<bool> live_nodes(const Graph& graph, const List& list);

/// By value: the node that makes it, or SIZE_MAX.
std::vector<std::size_t> producers(const List& list);

/// Calls `change` with every list, inner ones first; true if any call was.
template <typename F>
bool change_lists(List& list, const F& change) {
  bool changed = false;
  for (Node& node : list.nodes) {
    for (List& inner : node.lists) changed |= change_lists(inner, change);
  }
  return change(list) || changed;
}

}  // namespace reprise::pass
