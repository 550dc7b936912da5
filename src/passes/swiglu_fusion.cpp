#include "passes/match.hpp"
#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

// The gate of gate * sigmoid(gate).
std::optional<Ref> gate_of(const Editor& editor, const Ref& ref) {
  const Node* product = editor.producer(ref, "multiply");
  if (!product || editor.uses(ref) != 1) return {};
  return either_way(*product, [&](const Ref& gate, const Ref& factor) -> std::optional<Ref> {
    const Node* sigmoid = editor.producer(factor, "sigmoid");
    if (sigmoid && editor.uses(factor) == 1 && sigmoid->operands[0] == gate) return gate;
    return {};
  });
}

}  // namespace

// (gate * sigmoid(gate)) * up of float32 arrays of one shape. gate * (sigmoid(gate) * up) may overflow elsewhere.
bool fuse_swiglu(Graph& graph) {
  return change_lists(graph.top, [&](List& list) {
    Editor editor(graph, list);
    return editor.run([&](Node& node) -> std::optional<Ref> {
      const TensorType& type = editor.type(node);
      if (node.op->name != "multiply" || type.dtype != DType::float32) return {};
      for (const std::size_t k : {0u, 1u}) {
        const Ref up = node.operands[1 - k];
        const auto gate = gate_of(editor, node.operands[k]);
        if (!gate || editor.type(*gate) != type || editor.type(up) != type) continue;
        become(node, "fast_swiglu", {*gate, up}, ops::AttrBox{});
        editor.touch();
        break;
      }
      return {};
    });
  });
}

}  // namespace reprise::pass
