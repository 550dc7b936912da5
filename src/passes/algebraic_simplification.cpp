// Rules that change no bit of any result, whatever the values: NaN, infinities, zeros of either sign, the ends of the
// integers. None drops an operand but a constant: what the operand depends on may call the host, refuse values or not
// end, and goes on doing so.
#include <algorithm>
#include <unordered_map>

#include "ops/reduce/reduce.hpp"
#include "ops/registry.hpp"
#include "ops/shape/shape.hpp"
#include "ops/slice/slice.hpp"
#include "passes/editor.hpp"
#include "passes/passes.hpp"

namespace reprise::pass {
namespace {

using Rule = std::optional<Ref> (*)(Editor& editor, Node& node);

bool same_type(const Editor& editor, const Node& node, const Ref& ref) { return editor.type(ref) == editor.type(node); }

// `x` if the operand beside it is the number that leaves it as it is.
std::optional<Ref> without(const Editor& editor, const Node& node, std::size_t x, bool is_neutral) {
  if (is_neutral && same_type(editor, node, node.operands[x])) return node.operands[x];
  return {};
}

bool splat_is(const Editor& editor, const Ref& ref, double value) {
  const auto c = editor.splat(ref);
  return c && is_number(*c, value);
}

// Complex numbers mix their parts: infinity times 1 + 0i has a NaN.
bool is_complex_result(const Editor& editor, const Node& node) { return is_complex(editor.type(node).dtype); }

// --- Arithmetic

// -0.0 is what leaves both zeros alone; an integer has one zero only.
double neutral_of_sum(DType d) { return is_floating(d) ? -0.0 : 0.0; }

std::optional<Ref> simplify_add(Editor& editor, Node& node) {
  if (is_complex_result(editor, node)) return {};
  const double zero = neutral_of_sum(editor.type(node).dtype);
  if (auto x = without(editor, node, 0, splat_is(editor, node.operands[1], zero))) return x;
  return without(editor, node, 1, splat_is(editor, node.operands[0], zero));
}

std::optional<Ref> simplify_subtract(Editor& editor, Node& node) {
  if (is_complex_result(editor, node)) return {};
  return without(editor, node, 0, splat_is(editor, node.operands[1], 0.0));
}

std::optional<Ref> simplify_multiply(Editor& editor, Node& node) {
  if (is_complex_result(editor, node)) return {};
  if (auto x = without(editor, node, 0, splat_is(editor, node.operands[1], 1))) return x;
  return without(editor, node, 1, splat_is(editor, node.operands[0], 1));
}

std::optional<Ref> simplify_divide(Editor& editor, Node& node) {
  if (is_complex_result(editor, node)) return {};
  return without(editor, node, 0, splat_is(editor, node.operands[1], 1));
}

// Integers only: a float's quotient is truncated.
std::optional<Ref> simplify_quotient(Editor& editor, Node& node) {
  if (!is_integer(editor.type(node).dtype)) return {};
  return without(editor, node, 0, splat_is(editor, node.operands[1], 1));
}

// Powers of floats come from a library function, whose square need not be the product.
std::optional<Ref> simplify_pow(Editor& editor, Node& node) {
  if (!is_integer(editor.type(node).dtype) || !same_type(editor, node, node.operands[0])) return {};
  if (splat_is(editor, node.operands[1], 1)) return node.operands[0];
  if (splat_is(editor, node.operands[1], 2)) {
    become(node, "multiply", {node.operands[0], node.operands[0]}, ops::AttrBox{});
    editor.touch();
  }
  return {};
}

std::optional<Ref> simplify_shift(Editor& editor, Node& node) {
  return without(editor, node, 0, splat_is(editor, node.operands[1], 0.0));
}

std::optional<Ref> simplify_xor(Editor& editor, Node& node) {
  if (auto x = without(editor, node, 0, splat_is(editor, node.operands[1], 0.0))) return x;
  return without(editor, node, 1, splat_is(editor, node.operands[0], 0.0));
}

// --- Functions of one operand

// The operand where the op has nothing to do for its dtype.
std::optional<Ref> identity_on(const Editor& editor, const Node& node, bool (*nothing_to_do)(DType)) {
  if (nothing_to_do(editor.type(node.operands[0]).dtype)) return node.operands[0];
  return {};
}

bool is_real(DType d) { return !is_complex(d); }
bool is_whole(DType d) { return is_integer(d) || d == DType::bool_; }
bool is_unsigned(DType d) { return kind(d) == DTypeKind::unsigned_integer || d == DType::bool_; }

// f(f(x)) is f(x): the inner result. The sign of a complex number rounds.
std::optional<Ref> once(const Editor& editor, const Node& node) {
  if (is_complex(editor.type(node.operands[0]).dtype) && node.op->name == "sign") return {};
  if (editor.producer(node.operands[0], node.op->name)) return node.operands[0];
  return {};
}

// f(f(x)) is x.
std::optional<Ref> undone(Editor& editor, Node& node) {
  const Node* inner = editor.producer(node.operands[0], node.op->name);
  if (inner && same_type(editor, node, inner->operands[0])) return inner->operands[0];
  return {};
}

std::optional<Ref> simplify_abs(Editor& editor, Node& node) {
  if (auto x = identity_on(editor, node, is_unsigned)) return x;
  return once(editor, node);
}

std::optional<Ref> simplify_rounding(Editor& editor, Node& node) {
  if (auto x = identity_on(editor, node, is_whole)) return x;
  return once(editor, node);
}

std::optional<Ref> simplify_sign(Editor& editor, Node& node) { return once(editor, node); }

std::optional<Ref> simplify_real(Editor& editor, Node& node) { return identity_on(editor, node, is_real); }

std::optional<Ref> simplify_conjugate(Editor& editor, Node& node) {
  if (auto x = identity_on(editor, node, is_real)) return x;
  return undone(editor, node);
}

// Both operands the same.
std::optional<Ref> simplify_extremum(Editor& editor, Node& node) {
  return without(editor, node, 0, node.operands[0] == node.operands[1]);
}

std::optional<Ref> simplify_or(Editor& editor, Node& node) {
  if (auto x = simplify_extremum(editor, node)) return x;
  return simplify_xor(editor, node);
}

std::optional<Ref> simplify_logical_and(Editor& editor, Node& node) {
  if (auto x = simplify_extremum(editor, node)) return x;
  if (auto x = without(editor, node, 0, splat_is(editor, node.operands[1], 1))) return x;
  return without(editor, node, 1, splat_is(editor, node.operands[0], 1));
}

// --- Casts

// Whether each value of `from` is one of `to`.
bool holds(DType to, DType from) {
  if (to == from) return true;
  const int from_bits = static_cast<int>(8 * size_of(from)), to_bits = static_cast<int>(8 * size_of(to));
  const auto digits = [](DType d) {
    switch (d) {
      case DType::float16: return 11;
      case DType::bfloat16: return 8;
      case DType::float32: return 24;
      default: return 53;
    }
  };
  switch (kind(from)) {
    case DTypeKind::boolean: return !is_complex(to);
    case DTypeKind::unsigned_integer:
      if (kind(to) == DTypeKind::unsigned_integer || kind(to) == DTypeKind::signed_integer) return to_bits > from_bits;
      return is_floating(to) && digits(to) >= from_bits;
    case DTypeKind::signed_integer:
      if (kind(to) == DTypeKind::signed_integer) return to_bits > from_bits;
      return is_floating(to) && digits(to) >= from_bits - 1;
    case DTypeKind::floating: return to == DType::float64 || (to == DType::float32 && from_bits == 16);
    case DTypeKind::complex: return false;
  }
  return false;
}

// Wide integers and float64 reach 16-bit floats in two roundings, which the way through another dtype may change.
bool one_rounding(DType from, DType to) {
  if (to != DType::float16 && to != DType::bfloat16) return true;
  return from == DType::bool_ || size_of(from) <= 2 || from == DType::float32;
}

std::optional<Ref> simplify_astype(Editor& editor, Node& node) {
  if (same_type(editor, node, node.operands[0])) return node.operands[0];
  const Node* inner = editor.producer(node.operands[0], "astype");
  if (!inner) return {};
  const Ref x = inner->operands[0];
  const DType from = editor.type(x).dtype, through = editor.type(*inner).dtype, to = editor.type(node).dtype;
  if (is_complex(to) || !holds(through, from) || !one_rounding(from, to)) return {};
  // Integers wrap on their way to integers, floats saturate.
  if (is_integer(from) && is_floating(through) && is_integer(to) && !holds(to, from)) return {};
  if (from == to) return x;
  node.operands[0] = x;
  editor.touch();
  return {};
}

std::optional<Ref> simplify_bitcast(Editor& editor, Node& node) {
  if (same_type(editor, node, node.operands[0])) return node.operands[0];
  const Node* inner = editor.producer(node.operands[0], "bitcast");
  if (!inner) return {};
  const DType from = editor.type(inner->operands[0]).dtype, through = editor.type(*inner).dtype;
  const DType to = editor.type(node).dtype;
  // As bool bytes become 0 or 1.
  if (through == DType::bool_ || size_of(from) != size_of(through) || size_of(through) != size_of(to)) return {};
  if (from == to) return inner->operands[0];
  node.operands[0] = inner->operands[0];
  editor.touch();
  return {};
}

// --- Shapes

std::optional<Ref> simplify_reshape(Editor& editor, Node& node) {
  if (same_type(editor, node, node.operands[0])) return node.operands[0];
  const Node* inner = editor.producer(node.operands[0]);
  if (!inner || (inner->op->name != "reshape" && inner->op->name != "squeeze")) return {};
  if (same_type(editor, node, inner->operands[0])) return inner->operands[0];
  become(node, "reshape", {inner->operands[0]}, ops::ShapeAttrs{editor.type(node).shape});
  editor.touch();
  return {};
}

std::optional<Ref> simplify_transpose(Editor& editor, Node& node) {
  const std::size_t rank = editor.type(node).shape.size();
  auto axes = axes_of(node.as<ops::AxesAttrs>().axes, rank);
  const auto is_identity = [&] {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != i) return false;
    }
    return true;
  };
  if (is_identity()) return node.operands[0];
  const Node* inner = editor.producer(node.operands[0], "transpose");
  if (!inner) return {};
  const auto first = axes_of(inner->as<ops::AxesAttrs>().axes, rank);
  for (std::size_t& axis : axes) axis = first[axis];
  if (is_identity()) return inner->operands[0];
  become(node, "transpose", {inner->operands[0]}, ops::AxesAttrs{ops::Ints(axes.begin(), axes.end())});
  editor.touch();
  return {};
}

std::optional<Ref> simplify_broadcast(Editor& editor, Node& node) {
  const auto increasing = [](const std::vector<std::size_t>& axes) { return std::is_sorted(axes.begin(), axes.end()); };
  const auto axes = axes_of(node.as<ops::BroadcastAttrs>().axes, editor.type(node).shape.size());
  // Axes that do not increase act as a reshape.
  if (!increasing(axes)) return {};
  if (same_type(editor, node, node.operands[0])) return node.operands[0];
  const Node* inner = editor.producer(node.operands[0], "broadcast");
  if (!inner) return {};
  const auto first = axes_of(inner->as<ops::BroadcastAttrs>().axes, editor.type(*inner).shape.size());
  if (!increasing(first)) return {};
  ops::BroadcastAttrs joined{editor.type(node).shape, {}};
  for (const std::size_t axis : first) joined.axes.push_back(static_cast<std::int64_t>(axes[axis]));
  become(node, "broadcast", {inner->operands[0]}, std::move(joined));
  editor.touch();
  return {};
}

// The axes that a reverse really flips.
std::vector<std::size_t> flipped(const Editor& editor, const Node& node) {
  const Shape& shape = editor.type(node).shape;
  std::vector<std::size_t> out;
  for (const std::size_t axis : axes_of(node.as<ops::AxesAttrs>().axes, shape.size())) {
    if (shape[axis] > 1) out.push_back(axis);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<Ref> simplify_reverse(Editor& editor, Node& node) {
  const auto mine = flipped(editor, node);
  if (mine.empty()) return node.operands[0];
  const Node* inner = editor.producer(node.operands[0], "reverse");
  if (inner && flipped(editor, *inner) == mine) return inner->operands[0];
  return {};
}

std::optional<Ref> simplify_pad(Editor& editor, Node& node) {
  const auto& attrs = node.as<ops::PadAttrs>();
  const auto all_zero = [](const ops::Ints& list) {
    return std::all_of(list.begin(), list.end(), [](std::int64_t n) { return n == 0; });
  };
  const bool fixed = node.operands[1].kind == RefKind::constant || node.operands[1].kind == RefKind::capture;
  return without(editor, node, 0, fixed && all_zero(attrs.low) && all_zero(attrs.high) && all_zero(attrs.interior));
}

std::optional<Ref> simplify_slice(Editor& editor, Node& node) {
  const auto& attrs = node.as<ops::SliceAttrs>();
  const bool steps = std::any_of(attrs.strides.begin(), attrs.strides.end(), [](std::int64_t n) { return n != 1; });
  return without(editor, node, 0, node.operands.size() == 1 && !steps);
}

std::optional<Ref> simplify_concatenate(Editor& editor, Node& node) {
  return without(editor, node, 0, node.operands.size() == 1);
}

std::optional<Ref> simplify_reduction(Editor& editor, Node& node) {
  return without(editor, node, 0, node.as<ops::ReduceAttrs>().axes.empty());
}

std::optional<Ref> simplify_squeeze(Editor& editor, Node& node) {
  if (node.as<ops::AxesAttrs>().axes.empty()) return node.operands[0];
  return simplify_reshape(editor, node);
}

struct Entry {
  std::string_view op;
  Rule rule;
};
constexpr Entry kRules[] = {
    {"add", simplify_add},
    {"subtract", simplify_subtract},
    {"multiply", simplify_multiply},
    {"divide", simplify_divide},
    {"quotient", simplify_quotient},
    {"pow", simplify_pow},
    {"left_shift", simplify_shift},
    {"right_shift", simplify_shift},
    {"min", simplify_extremum},
    {"max", simplify_extremum},
    {"bitwise_and", simplify_extremum},
    {"bitwise_or", simplify_or},
    {"bitwise_xor", simplify_xor},
    {"logical_and", simplify_logical_and},
    {"logical_or", simplify_or},
    {"logical_xor", simplify_xor},
    {"abs", simplify_abs},
    {"ceil", simplify_rounding},
    {"floor", simplify_rounding},
    {"round", simplify_rounding},
    {"sign", simplify_sign},
    {"negate", undone},
    {"bitwise_not", undone},
    {"logical_not", undone},
    {"real", simplify_real},
    {"conjugate", simplify_conjugate},
    {"astype", simplify_astype},
    {"bitcast", simplify_bitcast},
    {"reshape", simplify_reshape},
    {"squeeze", simplify_squeeze},
    {"transpose", simplify_transpose},
    {"broadcast", simplify_broadcast},
    {"reverse", simplify_reverse},
    {"pad", simplify_pad},
    {"slice", simplify_slice},
    {"concatenate", simplify_concatenate},
    {"sum", simplify_reduction},
    {"product", simplify_reduction},
    {"all", simplify_reduction},
    {"any", simplify_reduction},
    {"reduce_max", simplify_reduction},
    {"reduce_min", simplify_reduction},
};

const std::unordered_map<const ops::OpDef*, Rule>& rules() {
  static const auto table = [] {
    std::unordered_map<const ops::OpDef*, Rule> out;
    for (const Entry& entry : kRules) out.emplace(ops::find_def(entry.op), entry.rule);
    return out;
  }();
  return table;
}

}  // namespace

bool simplify_algebra(Graph& graph) {
  return change_lists(graph.top, [&](List& list) {
    Editor editor(graph, list);
    return editor.run([&](Node& node) -> std::optional<Ref> {
      const auto found = rules().find(node.op);
      return found != rules().end() ? found->second(editor, node) : std::nullopt;
    });
  });
}

}  // namespace reprise::pass
