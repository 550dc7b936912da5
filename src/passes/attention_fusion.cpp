// Scaled dot-product attention: dot(softmax(dot(q, k) * scale + mask), v) of float32 arrays, whatever the order of
// their axes.
#include <mlx/array.h>

#include <algorithm>
#include <cmath>

#include "ops/attention/attention.hpp"
#include "ops/dot/dot.hpp"
#include "ops/shape/shape.hpp"
#include "passes/match.hpp"
#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

/// Masks that are captures are looked at while they are not larger.
constexpr std::size_t kMaxMask = std::size_t{1} << 20;

// An operand of a product: its axes by role, from the front.
struct Side {
  std::vector<std::size_t> batch;
  std::size_t contracted = 0;
  std::size_t free = 0;
};

// Of a product with one summed and one free axis.
std::optional<Side> side(const ops::Ints& contract, const ops::Ints& batch, std::size_t rank) {
  if (contract.size() != 1 || rank != batch.size() + 2) return {};
  Side out{axes_of(batch, rank), axis_of(contract[0], rank), 0};
  const auto taken = [&](std::size_t axis) {
    return axis == out.contracted || std::find(out.batch.begin(), out.batch.end(), axis) != out.batch.end();
  };
  while (taken(out.free)) ++out.free;
  return out;
}

bool counts_up(const std::vector<std::size_t>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != i) return false;
  }
  return true;
}

// The scores whose softmax over the last axis `ref` is, the greatest one taken off first. Without that the exponential
// overflows where the fused op's does not.
std::optional<Ref> softmax_of(const Editor& editor, const Ref& ref) {
  const Node* quotient = editor.producer(ref, "divide");
  if (!quotient || editor.uses(ref) != 1) return {};
  const TensorType& type = editor.type(*quotient);
  const Ref weights = quotient->operands[0], total = quotient->operands[1];
  if (editor.type(weights) != type || !lies_beside(editor, total, type)) return {};
  const Node* exponential = editor.producer(weights, "exp");
  const auto summed = reduced_row(editor, total, "sum");
  if (!exponential || editor.uses(weights) != 2 || !summed || *summed != weights) return {};
  const Ref difference = exponential->operands[0];
  const Node* subtract = editor.producer(difference, "subtract");
  if (!subtract || editor.uses(difference) != 1) return {};
  const Ref scores = subtract->operands[0], greatest = subtract->operands[1];
  if (editor.type(scores) != type || !lies_beside(editor, greatest, type)) return {};
  const auto reduced = reduced_row(editor, greatest, "reduce_max");
  if (!reduced || *reduced != scores || editor.uses(scores) != 2) return {};
  return scores;
}

bool is_finite(const Editor& editor, const Ref& ref) {
  const auto value = number(editor, ref);
  return value && std::isfinite(*value);
}

// Whether each element of a float32 mask is known to be finite. The fused op gives 0 where minus infinity hides all
// keys, and looks at no hidden score; the decomposed form gives NaN.
bool is_finite_mask(const Editor& editor, const Ref& ref) {
  constexpr int kMaxDepth = 8;
  Ref at = ref;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (editor.type(at).dtype != DType::float32) return false;
    if (is_finite(editor, at)) return true;
    if (at.kind == RefKind::capture) {
      const auto& values = *editor.graph().captures()[static_cast<std::size_t>(at.index)].value;
      if (values.size() > kMaxMask || !values.flags().row_contiguous) return false;
      const float* data = values.data<float>();
      return std::all_of(data, data + values.size(), [](float v) { return std::isfinite(v); });
    }
    const Node* node = editor.producer(at);
    if (!node) return false;
    const std::string_view op = node->op->name;
    if (op == "select") return is_finite(editor, node->operands[1]) && is_finite(editor, node->operands[2]);
    if (op != "broadcast" && op != "reshape" && op != "squeeze" && op != "transpose" && op != "slice") return false;
    at = node->operands[0];
  }
  return false;
}

struct Attention {
  const Node* product = nullptr;  ///< of q and k
  double scale = 1;
  std::optional<Ref> mask;
};

// scores = dot(q, k) [* scale] [+ mask]
std::optional<Attention> scores_of(const Editor& editor, const Ref& scores) {
  Attention out;
  const TensorType& type = editor.type(scores);
  const auto scaled = [&](const Ref& ref) -> std::optional<Attention> {
    if (editor.type(ref) != type) return {};
    Attention made = out;
    made.product = editor.producer(ref, "dot");
    if (made.product) return made;
    const Node* node = editor.producer(ref);
    if (!node) return {};
    const auto by = [&](const Ref& product, const Ref& factor) -> std::optional<Attention> {
      const auto value = number(editor, factor);
      if (!value || !std::isfinite(*value) || *value == 0 || editor.type(product) != type) return {};
      made.scale = node->op->name == "divide" ? 1.0 / *value : *value;
      made.product = editor.producer(product, "dot");
      return made.product && editor.uses(product) == 1 ? std::optional(made) : std::nullopt;
    };
    if (node->op->name == "multiply") return either_way(*node, by);
    return node->op->name == "divide" ? by(node->operands[0], node->operands[1]) : std::nullopt;
  };
  if (auto plain = scaled(scores)) return plain;
  const Node* sum = editor.producer(scores, "add");
  if (!sum) return {};
  return either_way(*sum, [&](const Ref& product, const Ref& mask) -> std::optional<Attention> {
    if (editor.uses(product) != 1 || !is_finite_mask(editor, mask)) return {};
    auto made = scaled(product);
    if (made) made->mask = mask;
    return made;
  });
}

// The operand with its axes in this order, and with four of them.
Ref heads_first(Editor& editor, const Ref& ref, const std::vector<std::size_t>& order, const Node& like) {
  Ref out = ref;
  if (!counts_up(order)) {
    out = editor.add("transpose", {out}, ops::AxesAttrs{ops::Ints(order.begin(), order.end())}, like);
  }
  if (order.size() == 4) return out;
  Shape shape = editor.type(out).shape;
  shape.insert(shape.begin(), 4 - order.size(), 1);
  return editor.add("reshape", {out}, ops::ShapeAttrs{std::move(shape)}, like);
}

std::vector<std::size_t> order(const Side& s, std::size_t third, std::size_t last) {
  std::vector<std::size_t> out = s.batch;
  out.push_back(third);
  out.push_back(last);
  return out;
}

std::optional<Ref> fuse(Editor& editor, Node& node) {
  if (node.op->name != "dot") return {};
  const TensorType type = editor.type(node);
  if (!is_rows(type) || !is_rows(editor.type(node.operands[0]))) return {};
  const auto& outer = node.as<ops::DotAttrs>();
  const std::size_t rank = editor.type(node.operands[0]).shape.size();
  if (rank > 4) return {};
  const auto weights = side(outer.contract_a, outer.batch_a, rank);
  const auto values = side(outer.contract_b, outer.batch_b, editor.type(node.operands[1]).shape.size());
  if (!weights || !values || !counts_up(weights->batch) || weights->contracted != rank - 1) return {};
  const auto scores = softmax_of(editor, node.operands[0]);
  if (!scores) return {};
  const auto found = scores_of(editor, *scores);
  if (!found) return {};
  const Node& product = *found->product;
  const auto& inner = product.as<ops::DotAttrs>();
  const auto type_of = [&](const Ref& ref) -> const TensorType& { return editor.type(ref); };
  const auto q = side(inner.contract_a, inner.batch_a, type_of(product.operands[0]).shape.size());
  const auto k = side(inner.contract_b, inner.batch_b, type_of(product.operands[1]).shape.size());
  if (!q || !k || q->batch.size() + 2 != rank) return {};
  for (const Ref& ref : {product.operands[0], product.operands[1], node.operands[1]}) {
    if (!is_rows(type_of(ref))) return {};
  }
  const Ref q_ref = product.operands[0], k_ref = product.operands[1], v_ref = node.operands[1];
  std::vector<Ref> operands = {heads_first(editor, q_ref, order(*q, q->free, q->contracted), node),
                               heads_first(editor, k_ref, order(*k, k->free, k->contracted), node),
                               heads_first(editor, v_ref, order(*values, values->contracted, values->free), node)};
  if (found->mask) operands.push_back(*found->mask);
  const std::string_view op = found->mask ? "fast_sdpa_masked" : "fast_sdpa";
  if (rank == 4) {
    become(node, op, std::move(operands), ops::ScaleAttrs{found->scale});
    editor.touch();
    return {};
  }
  const Ref made = editor.add(op, std::move(operands), ops::ScaleAttrs{found->scale}, node);
  become(node, "reshape", {made}, ops::ShapeAttrs{type.shape});
  return {};
}

}  // namespace

bool fuse_attention(Graph& graph) {
  return change_lists(graph.top, [&](List& list) {
    Editor editor(graph, list);
    return editor.run([&](Node& node) { return fuse(editor, node); });
  });
}

}  // namespace reprise::pass
