#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

bool clean(Graph& graph, List& list) {
  // The kept-alive tail only makes host calls fire.
  bool changed = false;
  if (&list == &graph.top && !graph.calls_host() && list.outputs.size() > graph.num_real_outputs()) {
    list.outputs.resize(graph.num_real_outputs());
    changed = true;
  }
  const std::vector<bool> live = live_nodes(graph, list);
  std::deque<Node> kept;
  for (std::size_t i = 0; i < list.nodes.size(); ++i) {
    if (live[i]) kept.push_back(std::move(list.nodes[i]));
  }
  changed |= kept.size() < list.nodes.size();
  list.nodes = std::move(kept);
  return changed;
}

// Outer lists first: what is dropped need not be cleaned.
bool clean_all(Graph& graph, List& list) {
  bool changed = clean(graph, list);
  for (Node& node : list.nodes) {
    for (List& inner : node.lists) changed |= clean_all(graph, inner);
  }
  return changed;
}

}  // namespace

// The contract runs nothing that no output depends on: neither a host call nor a loop that would not end.
bool remove_dead_code(Graph& graph) {
  const bool changed = clean_all(graph, graph.top);
  return graph.drop_unread_tables() || changed;
}

}  // namespace reprise::pass
