#include <mlx/array.h>

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); }

std::size_t hash_of(const Attr& attr) {
  if (const auto* i = std::get_if<std::int64_t>(&attr)) return std::hash<std::int64_t>{}(*i);
  if (const auto* n = std::get_if<Name>(&attr)) return std::hash<std::string>{}(n->text);
  return std::hash<std::string>{}(std::get<Bytes>(attr).data);
}

std::size_t hash_of(const Ref& ref) {
  return mix(static_cast<std::size_t>(ref.kind), static_cast<std::size_t>(ref.index));
}

std::size_t hash_of(const Constant& c) {
  return mix(static_cast<std::size_t>(c.dtype), std::visit(
                                                    [](const auto& value) {
                                                      using T = std::decay_t<decltype(value)>;
                                                      if constexpr (std::is_same_v<T, std::complex<double>>) {
                                                        return mix(std::hash<double>{}(value.real()),
                                                                   std::hash<double>{}(value.imag()));
                                                      } else {
                                                        return std::hash<T>{}(value);
                                                      }
                                                    },
                                                    c.value));
}

struct ConstantHash {
  std::size_t operator()(const Constant& c) const { return hash_of(c); }
};

// By constant and by capture: the first one that is the same. Captures are the same when they are one array; contents
// are not compared.
struct Tables {
  std::vector<std::int64_t> constants, captures;

  explicit Tables(const Graph& graph) {
    std::unordered_map<Constant, std::int64_t, ConstantHash> first_constant;
    for (const Constant& c : graph.constants()) {
      constants.push_back(first_constant.try_emplace(c, static_cast<std::int64_t>(constants.size())).first->second);
    }
    std::unordered_map<std::uintptr_t, std::int64_t> first_capture;
    for (const Capture& c : graph.captures()) {
      captures.push_back(
          first_capture.try_emplace(c.value->id(), static_cast<std::int64_t>(captures.size())).first->second);
    }
  }

  Ref first(Ref ref) const {
    if (ref.kind == RefKind::constant) ref.index = constants[static_cast<std::size_t>(ref.index)];
    if (ref.kind == RefKind::capture) ref.index = captures[static_cast<std::size_t>(ref.index)];
    return ref;
  }
};

// Whether the order of the two operands cannot show in any bit but those of a NaN. Complex products may round
// differently, and which zero min and max pick is open.
bool may_swap(const Graph& graph, const List& list, const Node& node) {
  return has(node.op->traits, ops::Trait::commutative) && node.op->name != "min" && node.op->name != "max" &&
         !is_complex(graph.type_of(node.operands[0], list).dtype) &&
         !is_complex(graph.type_of(node.operands[1], list).dtype);
}

bool before(const Ref& a, const Ref& b) { return a.kind != b.kind ? a.kind < b.kind : a.index < b.index; }

struct NodeHash {
  std::size_t operator()(const Node* node) const {
    std::size_t seed = std::hash<const void*>{}(node->op);
    for (const Ref& ref : node->operands) seed = mix(seed, hash_of(ref));
    for (const Attr& attr : node->wire) seed = mix(seed, hash_of(attr));
    return seed;
  }
};
struct NodeEqual {
  bool operator()(const Node* a, const Node* b) const {
    return a->op == b->op && a->operands == b->operands && a->wire == b->wire;
  }
};

bool merge(Graph& graph, List& list, const Tables& tables) {
  const std::vector<bool> live = live_nodes(graph, list);
  std::unordered_set<const Node*, NodeHash, NodeEqual> seen;
  seen.reserve(list.nodes.size());
  std::vector<std::size_t> same(list.types.size());
  for (std::size_t v = 0; v < same.size(); ++v) same[v] = v;
  const auto current = [&](Ref ref) {
    if (ref.kind == RefKind::result) ref.index = static_cast<std::int64_t>(same[static_cast<std::size_t>(ref.index)]);
    return tables.first(ref);
  };
  bool changed = false;
  const auto replace = [&](Ref& ref) {
    const Ref now = current(ref);
    changed |= now != ref;
    ref = now;
  };
  std::deque<Node> kept, keys;
  for (std::size_t i = 0; i < list.nodes.size(); ++i) {
    Node& node = list.nodes[i];
    for (Ref& ref : node.operands) replace(ref);
    if (!live[i] || is_driven(node)) {
      kept.push_back(std::move(node));
      continue;
    }
    Node& key = keys.emplace_back();
    key.op = node.op;
    key.operands = node.operands;
    key.wire = node.wire;
    key.first = node.first;
    if (may_swap(graph, list, node) && before(key.operands[1], key.operands[0])) {
      std::swap(key.operands[0], key.operands[1]);
    }
    const auto [found, added] = seen.insert(&key);
    if (added) {
      kept.push_back(std::move(node));
      continue;
    }
    for (std::size_t r = 0; r < node.count; ++r) same[node.first + r] = (*found)->first + r;
    changed = true;
    keys.pop_back();
  }
  list.nodes = std::move(kept);
  for (Ref& ref : list.outputs) replace(ref);
  return changed;
}

}  // namespace

bool merge_common_subexpressions(Graph& graph) {
  const Tables tables(graph);
  return change_lists(graph.top, [&](List& list) { return merge(graph, list, tables); });
}

}  // namespace reprise::pass
