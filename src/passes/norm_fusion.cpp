// rms norm and layer norm, grown from the inside: first (x - mean) * rsqrt(variance + eps) with a weight of ones, then
// the weight that follows takes the place of the ones, then the bias joins.
#include <cmath>

#include "ops/norm/norm.hpp"
#include "ops/shape/shape.hpp"
#include "passes/match.hpp"
#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

// What `ref` is the mean over the last axis of: sum / D or sum * (1 / D).
std::optional<Ref> mean_of(const Editor& editor, const Ref& ref) {
  const Ref at = for_each_row(editor, ref);
  const Node* node = editor.producer(at);
  if (!node || editor.uses(at) != 1) return {};
  const auto match = [&](const Ref& sum, const Ref& factor, bool divides) -> std::optional<Ref> {
    const auto value = number(editor, factor);
    const auto x = value ? reduced_row(editor, sum, "sum") : std::nullopt;
    if (!x || editor.uses(sum) != 1 || editor.type(*node) != editor.type(sum) || !is_rows(editor.type(*x))) return {};
    const auto width = static_cast<float>(editor.type(*x).shape.back());
    const bool right = divides ? *value == width : *value == 1 / width || *value == static_cast<float>(1.0 / width);
    return right ? x : std::nullopt;
  };
  if (node->op->name == "divide") return match(node->operands[0], node->operands[1], true);
  if (node->op->name != "multiply") return {};
  return either_way(*node, [&](const Ref& sum, const Ref& factor) { return match(sum, factor, false); });
}

// What `ref` is the square of.
std::optional<Ref> square_of(const Editor& editor, const Ref& ref) {
  const Node* node = editor.producer(ref);
  if (!node || editor.uses(ref) != 1 || editor.type(node->operands[0]) != editor.type(ref)) return {};
  if (node->op->name == "multiply" && node->operands[0] == node->operands[1]) return node->operands[0];
  if (node->op->name == "pow" && number(editor, node->operands[1]) == 2.0f) return node->operands[0];
  return {};
}

struct Scaled {
  Ref centred;  ///< what is normalised
  double eps = 0;
};

// mean(centred^2) + eps, or without eps.
std::optional<Scaled> second_moment(const Editor& editor, const Ref& ref) {
  const Ref at = for_each_row(editor, ref);
  const auto mean_square = [&](const Ref& mean) -> std::optional<Ref> {
    const auto square = mean_of(editor, mean);
    return square ? square_of(editor, *square) : std::nullopt;
  };
  if (const auto x = mean_square(ref)) return Scaled{*x, 0};
  const Node* sum = editor.producer(at, "add");
  if (!sum || editor.uses(at) != 1) return {};
  return either_way(*sum, [&](const Ref& mean, const Ref& eps) -> std::optional<Scaled> {
    const auto value = number(editor, eps);
    if (!value || !(*value >= 0) || std::isinf(*value) || editor.type(*sum) != editor.type(mean)) return {};
    const auto x = mean_square(mean);
    return x ? std::optional(Scaled{*x, *value}) : std::nullopt;
  });
}

// The second moment that `ref` is the root of, or its reciprocal.
std::optional<Scaled> root(const Editor& editor, const Ref& ref, bool reciprocal) {
  const Ref at = for_each_row(editor, ref);
  const Node* node = editor.producer(at);
  if (!node || editor.uses(at) != 1) return {};
  if (node->op->name == (reciprocal ? "rsqrt" : "sqrt")) return second_moment(editor, node->operands[0]);
  if (reciprocal && node->op->name == "divide" && editor.type(*node) == editor.type(node->operands[1]) &&
      number(editor, node->operands[0]) == 1.0f) {
    return root(editor, node->operands[1], false);
  }
  return {};
}

// centred * rsqrt(...) or centred / sqrt(...)
std::optional<Scaled> normalised(const Editor& editor, const Node& node) {
  const auto match = [&](const Ref& centred, const Ref& factor, bool reciprocal) -> std::optional<Scaled> {
    if (editor.type(centred) != editor.type(node) || !lies_beside(editor, factor, editor.type(node))) return {};
    if (editor.uses(factor) != 1) return {};
    auto found = root(editor, factor, reciprocal);
    if (!found || found->centred != centred) return {};
    return found;
  };
  if (node.op->name == "divide") return match(node.operands[0], node.operands[1], false);
  return either_way(node, [&](const Ref& centred, const Ref& factor) { return match(centred, factor, true); });
}

// `ref` as a vector [D] beside rows of width D, if it is one repeated for each row.
std::optional<Ref> row_vector(Editor& editor, const Ref& ref, const TensorType& rows, const Node& like) {
  const std::int64_t width = rows.shape.back();
  const TensorType wanted{DType::float32, {width}};
  const TensorType type = editor.type(ref);
  if (type == wanted) return ref;
  if (type.dtype != DType::float32) return {};
  const Node* node = editor.producer(ref, "broadcast");
  if (node && editor.type(node->operands[0]) == wanted) {
    const auto axes = axes_of(node->as<ops::BroadcastAttrs>().axes, type.shape.size());
    if (type.shape.back() == width && axes[0] == type.shape.size() - 1) return node->operands[0];
  }
  if (type.shape.size() > rows.shape.size() || type.shape.empty() || type.shape.back() != width) return {};
  if (element_count(type.shape) != width) return {};
  return editor.add("reshape", {ref}, ops::ShapeAttrs{{width}}, like);
}

bool is_norm(std::string_view op) { return op == "fast_rms_norm" || op == "fast_layer_norm_no_bias"; }

// The operands of a norm whose weight is all ones and which only this node reads.
const Node* bare_norm(const Editor& editor, const Ref& ref) {
  const Node* norm = editor.producer(ref);
  if (!norm || !is_norm(norm->op->name) || editor.uses(ref) != 1) return nullptr;
  return number(editor, norm->operands[1]) == 1.0f ? norm : nullptr;
}

void fuse_core(Editor& editor, Node& node) {
  const auto found = normalised(editor, node);
  if (!found) return;
  const TensorType type = editor.type(node);
  Ref x = found->centred;
  std::string_view op = "fast_rms_norm";
  // Read by its square, once or twice, and by the product.
  if (const Node* centre = editor.producer(x, "subtract"); centre && editor.uses(x) <= 3) {
    const Ref mean = centre->operands[1];
    const auto of = lies_beside(editor, mean, type) ? mean_of(editor, mean) : std::nullopt;
    if (of && *of == centre->operands[0] && editor.type(*of) == type) {
      x = *of;
      op = "fast_layer_norm_no_bias";
    }
  }
  const Ref one = editor.graph().add_constant(Constant::of(1.0, DType::float32));
  const Ref ones = editor.add("broadcast", {one}, ops::BroadcastAttrs{{type.shape.back()}, {}}, node);
  become(node, op, {x, ones}, ops::EpsAttrs{found->eps});
  editor.touch();
}

void fuse_weight(Editor& editor, Node& node) {
  for (const std::size_t k : {0u, 1u}) {
    const Node* norm = bare_norm(editor, node.operands[k]);
    if (!norm || editor.type(*norm) != editor.type(node)) continue;
    const auto weight = row_vector(editor, node.operands[1 - k], editor.type(node), node);
    if (!weight) continue;
    become(node, norm->op->name, {norm->operands[0], *weight}, norm->as<ops::EpsAttrs>());
    editor.touch();
    return;
  }
}

void fuse_bias(Editor& editor, Node& node) {
  for (const std::size_t k : {0u, 1u}) {
    const Node* norm = editor.producer(node.operands[k], "fast_layer_norm_no_bias");
    if (!norm || editor.uses(node.operands[k]) != 1 || editor.type(*norm) != editor.type(node)) continue;
    const auto bias = row_vector(editor, node.operands[1 - k], editor.type(node), node);
    if (!bias) continue;
    become(node, "fast_layer_norm", {norm->operands[0], norm->operands[1], *bias}, norm->as<ops::EpsAttrs>());
    editor.touch();
    return;
  }
}

}  // namespace

bool fuse_norms(Graph& graph) {
  return change_lists(graph.top, [&](List& list) {
    Editor editor(graph, list);
    return editor.run([&](Node& node) -> std::optional<Ref> {
      const std::string_view op = node.op->name;
      if ((op != "multiply" && op != "divide" && op != "add") || !is_rows(editor.type(node))) return {};
      if (op == "add") {
        fuse_bias(editor, node);
        return {};
      }
      fuse_core(editor, node);
      if (node.op->name == "multiply") fuse_weight(editor, node);
      return {};
    });
  });
}

}  // namespace reprise::pass
