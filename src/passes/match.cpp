#include "passes/match.hpp"

#include "ops/reduce/reduce.hpp"
#include "ops/shape/shape.hpp"

namespace reprise::pass {

bool is_rows(const TensorType& type) {
  return type.dtype == DType::float32 && !type.shape.empty() && element_count(type.shape).value_or(0) > 0;
}

Ref for_each_row(const Editor& editor, const Ref& ref) {
  Ref at = ref;
  // A reshape to [B, 1] and a broadcast to [B, D] are all that is ever needed.
  for (int depth = 0; depth < 2; ++depth) {
    const Node* node = editor.producer(at);
    if (!node) return at;
    const Shape& to = editor.type(*node).shape;
    const Shape& from = editor.type(node->operands[0]).shape;
    if (to.empty()) return at;
    const Shape rows(to.begin(), to.end() - 1);
    Shape column = rows;
    column.push_back(1);
    if (node->op->name == "reshape") {
      if (to.back() != 1 || from != rows) return at;
    } else if (node->op->name == "broadcast") {
      if (from != rows && from != column) return at;
      const auto axes = axes_of(node->as<ops::BroadcastAttrs>().axes, to.size());
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] != i) return at;
      }
    } else {
      return at;
    }
    at = node->operands[0];
  }
  return at;
}

std::optional<Ref> reduced_row(const Editor& editor, const Ref& ref, std::string_view op) {
  const Node* node = editor.producer(for_each_row(editor, ref), op);
  if (!node) return {};
  const std::size_t rank = editor.type(node->operands[0]).shape.size();
  const auto& attrs = node->as<ops::ReduceAttrs>();
  if (attrs.axes.size() != 1 || axis_of(attrs.axes[0], rank) != rank - 1) return {};
  return node->operands[0];
}

bool lies_beside(const Editor& editor, const Ref& ref, const TensorType& rows) {
  const TensorType& type = editor.type(ref);
  if (type == rows) return true;
  // One row only: a scalar will do.
  if (rows.rank() == 1 && type == TensorType{rows.dtype, {}}) return true;
  TensorType column = rows;
  column.shape.back() = 1;
  return type == column;
}

std::optional<float> number(const Editor& editor, const Ref& ref) {
  const auto c = editor.splat(ref);
  return c ? float32_of(*c) : std::nullopt;
}

}  // namespace reprise::pass
