#include "ops/registry.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/suggest.hpp"
#include "ops/families.hpp"
#include "reprise/ops.hpp"

namespace reprise::ops {
namespace {

constexpr bool names_are_unique() {
  for (std::size_t f = 0; f < std::size(kFamilies); ++f) {
    for (std::size_t i = 0; i < kFamilies[f].size(); ++i) {
      for (std::size_t g = f; g < std::size(kFamilies); ++g) {
        for (std::size_t j = g == f ? i + 1 : 0; j < kFamilies[g].size(); ++j) {
          if (kFamilies[f][i].name == kFamilies[g][j].name) return false;
        }
      }
    }
  }
  return true;
}
static_assert(names_are_unique(), "two rows share a name");

// The undefined-behaviour sanitizer, which we only use together with the address sanitizer, keeps GCC from comparing
// the address of a function at compile time.
#ifdef __SANITIZE_ADDRESS__
constexpr bool lacks_rule(const OpDef&) { return false; }
#else
constexpr bool lacks_rule(const OpDef& op) { return op.infer == nullptr; }
#endif

constexpr bool rows_are_complete() {
  for (const auto& family : kFamilies) {
    for (const OpDef& op : family) {
      if (op.name.empty() || op.family.empty() || op.summary.empty() || op.rule.empty() || lacks_rule(op)) return false;
    }
  }
  return true;
}
static_assert(rows_are_complete(), "a row lacks its name, family, summary, rule or inference rule");

OpInfo info_of(const OpDef& op) {
  OpInfo info{.name = op.name,
              .family = op.family,
              .summary = op.summary,
              .rule = op.rule,
              .operands = {op.operands.begin(), op.operands.end()},
              .results = op.count_results  ? "depends on the instruction"
                         : op.results == 1 ? "1"
                         : op.results == 2 ? "2"
                                           : "3",
              .tolerance = op.tolerance.reason,
              .extension = has(op.traits, Trait::extension)};
  for (int i = 0; i < kDTypeCount; ++i) {
    if ((op.dtypes & set_of(static_cast<DType>(i))) != 0) info.dtypes.push_back(reprise::name(static_cast<DType>(i)));
  }
  if (op.attrs) {
    for (const Field& field : op.attrs->fields) {
      if (field.kind == FieldKind::count) continue;
      std::string fallback;
      if (field.default_value) {
        fallback = field.kind != FieldKind::flag ? std::to_string(*field.default_value)
                   : *field.default_value != 0   ? "true"
                                                 : "false";
      }
      if (field.may_be_left_out) fallback = "[]";
      info.attributes.push_back({field.name, kind_name(field), field.summary, std::move(fallback)});
    }
    info.wire = describe_wire(*op.attrs);
  }
  return info;
}

}  // namespace

std::span<const OpDef* const> all_defs() {
  static const std::vector<const OpDef*> all = [] {
    std::vector<const OpDef*> out;
    for (const auto& family : kFamilies) {
      for (const OpDef& op : family) out.push_back(&op);
    }
    return out;
  }();
  return all;
}

std::string nearest_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const OpDef* def : all_defs()) known.push_back(def->name);
  return suggest(name, known);
}

const OpDef* find_def(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpDef*> by_name = [] {
    std::unordered_map<std::string_view, const OpDef*> out;
    for (const OpDef* op : all_defs()) out.emplace(op->name, op);
    return out;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

}  // namespace reprise::ops

namespace reprise {

const std::vector<OpInfo>& op_table() {
  static const std::vector<OpInfo> table = [] {
    std::vector<OpInfo> out;
    for (const ops::OpDef* op : ops::all_defs()) out.push_back(ops::info_of(*op));
    return out;
  }();
  return table;
}

const OpInfo* find_op(std::string_view name) {
  const auto& table = op_table();
  const auto it = std::find_if(table.begin(), table.end(), [&](const OpInfo& op) { return op.name == name; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace reprise
