#include "ops/registry.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/suggest.hpp"
#include "ops/examples.hpp"
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

[[maybe_unused]] constexpr bool rows_are_complete() {
  for (const auto& family : kFamilies) {
    for (const OpDef& op : family) {
      if (op.name.empty() || op.family.empty() || op.summary.empty() || op.infer == nullptr) return false;
      if (op.result.empty() || op.rule.empty() || op.errors.empty() || op.tolerance.reason.empty()) return false;
      for (const Operand& operand : op.operands) {
        if (operand.name.empty() || operand.shape.empty()) return false;
      }
      for (const Field& field : op.attrs ? op.attrs->fields : std::span<const Field>()) {
        if (field.kind != FieldKind::count && (field.name.empty() || field.summary.empty())) return false;
      }
    }
  }
  return true;
}
// The undefined-behaviour sanitizer, which we only use together with the address sanitizer, keeps GCC from comparing
// addresses at compile time.
#ifndef __SANITIZE_ADDRESS__
static_assert(rows_are_complete(), "a row lacks a part of its documentation or its inference rule");
#endif

std::vector<std::string_view> names_of(DTypeSet set) {
  std::vector<std::string_view> out;
  for (int i = 0; i < kDTypeCount; ++i) {
    if ((set & set_of(static_cast<DType>(i))) != 0) out.push_back(reprise::name(static_cast<DType>(i)));
  }
  return out;
}

std::string in_words(DTypeSet set) {
  if (set == kAllDTypes) return "any dtype";
  if (set == kReals) return "any real dtype";
  if (set == (kAllDTypes & ~kBool)) return "any dtype but bool";
  if (set == kIntegers) return "any integer dtype";
  if (set == (kIntegers | kBool)) return "any integer dtype or bool";
  return describe(set);
}

std::string range_text(const Field& field) {
  if (field.kind != FieldKind::integer && field.kind != FieldKind::integers) return {};
  constexpr Range kAny{};
  constexpr Range kWide{.min = INT64_MIN, .max = INT64_MAX};
  if ((field.min == kAny.min && field.max == kAny.max) || (field.min == kWide.min && field.max == kWide.max)) return {};
  if (field.max == kAny.max) return fmt::format("{} or more", field.min);
  return fmt::format("{} to {}", field.min, field.max);
}

// What one instruction looks like: "sum x {keep_axes = false, axes = [...]}".
std::string signature_of(const OpDef& op) {
  std::vector<std::string> parts;
  for (const Operand& operand : op.operands) {
    const bool optional = operand.name.ends_with("*") || operand.name.ends_with("?");
    const std::string_view name = operand.name.substr(0, operand.name.size() - (optional ? 1 : 0));
    parts.push_back(optional ? fmt::format("[{}]", name) : std::string(name));
  }
  std::string out(op.name);
  if (!parts.empty()) out += fmt::format(" {}", fmt::join(parts, ", "));
  if (!op.attrs) return out;
  std::vector<std::string> fields;
  for (const Field& field : op.attrs->fields) {
    if (field.kind == FieldKind::count) continue;
    fields.push_back(fmt::format("{} = {}", field.name, kind_name(field)));
  }
  return fmt::format("{} {{{}}}", out, fmt::join(fields, ", "));
}

std::vector<ToleranceInfo> tolerances_of(const OpDef& op) {
  const Tolerance& t = op.tolerance;
  std::vector<ToleranceInfo> out;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto d = static_cast<DType>(i);
    if (!is_floating(d) && !is_complex(d)) continue;
    // Bool and integers may give float32.
    if ((op.dtypes & set_of(d)) == 0 && d != DType::float32) continue;
    if (t.allowed(d, 1) > 0) out.push_back({reprise::name(d), t.relative(d), t.fixed(d), t.relative_to_one});
  }
  return out;
}

OpInfo info_of(const OpDef& op) {
  OpInfo info{.name = op.name,
              .family = op.family,
              .summary = op.summary,
              .signature = signature_of(op),
              .result = op.result,
              .rule = op.rule,
              .errors = op.errors,
              .example = example_of(op.name),
              .dtypes = names_of(op.dtypes),
              .results = op.count_results  ? "depends on the instruction"
                         : op.results == 1 ? "1"
                         : op.results == 2 ? "2"
                                           : "3",
              .tolerance = op.tolerance.reason,
              .tolerances = tolerances_of(op),
              .extension = has(op.traits, Trait::extension)};
  for (const Operand& operand : op.operands) {
    const DTypeSet dtypes = op.dtypes_of(operand);
    info.operands.push_back({operand.name, operand.shape, in_words(dtypes), names_of(dtypes)});
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
      info.attributes.push_back({field.name, kind_name(field), field.summary, range_text(field), std::move(fallback)});
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
