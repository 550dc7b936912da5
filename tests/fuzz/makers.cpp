#include "fuzz/makers.hpp"

#include <bit>
#include <unordered_map>

namespace reprise::fuzz {
namespace {

ops::Value by_kind(const ops::Field& field, Generator& g, int rank) {
  Random& r = g.random();
  switch (field.kind) {
    case ops::FieldKind::flag: return r.coin();
    case ops::FieldKind::real: return static_cast<double>(r.between(1, 8)) / 4;
    case ops::FieldKind::dtype: return g.dtype(ops::kAllDTypes);
    case ops::FieldKind::mode: return Name{std::string(ops::name(ops::QuantMode::affine))};
    case ops::FieldKind::types: return std::vector<TensorType>{{g.dtype(ops::kAllDTypes), g.shape(0, 2)}};
    case ops::FieldKind::integers: return g.axes(rank);
    default: return rank > 0 ? g.axis(rank) : std::max<std::int64_t>(field.min, 0);
  }
}

// By the row: the first operand has any shape, the others broadcast with it; most have its dtype.
std::optional<Draft> by_row(const ops::OpDef& op, Generator& g) {
  Draft draft;
  Random& r = g.random();
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ops::DTypeSet set = op.dtypes_of(op.operand(i));
    if (i == 0) {
      draft.operands.push_back(g.any({.dtypes = set}));
      continue;
    }
    const TensorType& first = draft.operands[0].type;
    const DType d = (set & ops::set_of(first.dtype)) != 0 && r.percent(70) ? first.dtype : g.dtype(set);
    draft.operands.push_back(g.like({d, g.broadcasting(first.shape)}));
  }
  if (draft.operands.size() > 1 && r.percent(30)) std::swap(draft.operands.front(), draft.operands.back());
  if (op.attrs) {
    const int rank = draft.operands.empty() ? 0 : draft.operands[0].type.rank();
    for (const ops::Field& field : op.attrs->fields) {
      if (field.kind != ops::FieldKind::count) draft.attrs.emplace_back(field.name, by_kind(field, g, rank));
    }
  }
  return draft;
}

}  // namespace

std::optional<Draft> make(const ops::OpDef& op, Generator& generator) {
  static const std::unordered_map<std::string_view, MakeFn> makers = [] {
    std::unordered_map<std::string_view, MakeFn> out;
    for (const auto list : {shape_makers(), index_makers(), contract_makers(), fused_makers()}) {
      for (const Maker& maker : list) out.emplace(maker.op, maker.make);
    }
    return out;
  }();
  const auto found = makers.find(op.name);
  return found == makers.end() ? by_row(op, generator) : found->second(op, generator);
}

}  // namespace reprise::fuzz
