// Pieces of patterns that more than one fusion looks for. All are about float32: sums of 16-bit floats overflow and
// round on the way where a fused op does not.
#pragma once

#include "passes/editor.hpp"

namespace reprise::pass {

/// float32, some elements, rank 1 or more.
bool is_rows(const TensorType& type);

/// The value behind reshapes and broadcasts that only give a value for each row the shape of the rows: [B] or [B, 1] as
/// [B, 1] or [B, D].
Ref for_each_row(const Editor& editor, const Ref& ref);

/// The operand of `op` over the last axis alone, if that is what `ref` is: "sum", "reduce_max".
std::optional<Ref> reduced_row(const Editor& editor, const Ref& ref, std::string_view op);

/// Whether `ref`, an operand beside rows of type `rows`, has one value for each row.
bool lies_beside(const Editor& editor, const Ref& ref, const TensorType& rows);

/// The float32 number that each element of a value is.
std::optional<float> number(const Editor& editor, const Ref& ref);

/// Calls `match` with both orders of a node's two operands until it gives something.
template <typename F>
auto either_way(const Node& node, const F& match) -> decltype(match(node.operands[0], node.operands[1])) {
  if (auto found = match(node.operands[0], node.operands[1])) return found;
  return match(node.operands[1], node.operands[0]);
}

}  // namespace reprise::pass
