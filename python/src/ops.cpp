#include "reprise/ops.hpp"

#include "bindings.hpp"

namespace reprise::python {
namespace {

nb::list texts(const std::vector<std::string_view>& items) {
  nb::list out;
  for (const std::string_view item : items) out.append(to_str(item));
  return out;
}

nb::list describe(const std::vector<OperandInfo>& operands) {
  nb::list out;
  for (const OperandInfo& o : operands) {
    nb::dict operand;
    operand["name"] = o.name;
    operand["shape"] = o.shape;
    operand["dtypes"] = texts(o.dtypes);
    out.append(operand);
  }
  return out;
}

nb::list describe(const std::vector<AttributeInfo>& attributes) {
  nb::list out;
  for (const AttributeInfo& a : attributes) {
    nb::dict attribute;
    attribute["name"] = a.name;
    attribute["kind"] = a.kind;
    attribute["summary"] = a.summary;
    if (!a.range.empty()) attribute["range"] = a.range;
    if (!a.default_text.empty()) attribute["default"] = a.default_text;
    out.append(attribute);
  }
  return out;
}

nb::dict describe(const std::vector<ToleranceInfo>& tolerances) {
  nb::dict out;
  for (const ToleranceInfo& t : tolerances) {
    nb::dict tolerance;
    tolerance["relative"] = t.relative;
    tolerance["absolute"] = t.absolute;
    tolerance["relative_to_one"] = t.relative_to_one;
    out[to_str(t.dtype)] = tolerance;
  }
  return out;
}

// As `reprise ops --json` prints it; a test compares the two.
nb::dict describe(const OpInfo& op) {
  nb::dict out;
  out["name"] = op.name;
  out["family"] = op.family;
  out["summary"] = op.summary;
  out["signature"] = op.signature;
  out["operands"] = describe(op.operands);
  out["attributes"] = describe(op.attributes);
  out["wire"] = op.wire;
  out["results"] = op.results;
  out["result"] = op.result;
  out["rule"] = op.rule;
  out["errors"] = op.errors;
  out["example"] = op.example;
  out["dtypes"] = texts(op.dtypes);
  out["tolerance"] = op.tolerance;
  out["tolerances"] = describe(op.tolerances);
  out["extension"] = op.extension;
  return out;
}

}  // namespace

void bind_ops(nb::module_& module) {
  module.def(
      "ops",
      [] {
        nb::list out;
        for (const OpInfo& op : op_table()) out.append(describe(op));
        return out;
      },
      nb::sig("def ops() -> list[dict[str, typing.Any]]"),
      "The op table: one dict for each op, with what `reprise ops --json` prints.");
}

}  // namespace reprise::python
