#include "reprise/ops.hpp"

#include "bindings.hpp"

namespace reprise::python {
namespace {

nb::list texts(const std::vector<std::string_view>& items) {
  nb::list out;
  for (const std::string_view item : items) out.append(nb::str(item.data(), item.size()));
  return out;
}

nb::dict describe(const OpInfo& op) {
  nb::list operands;
  for (const OperandInfo& o : op.operands) {
    nb::dict operand;
    operand["name"] = o.name;
    operand["shape"] = o.shape;
    operand["dtypes"] = texts(o.dtypes);
    operands.append(operand);
  }
  nb::list attributes;
  for (const AttributeInfo& a : op.attributes) {
    nb::dict attribute;
    attribute["name"] = a.name;
    attribute["kind"] = a.kind;
    attribute["summary"] = a.summary;
    attribute["range"] = a.range.empty() ? nb::none() : nb::cast(a.range);
    attribute["default"] = a.default_text.empty() ? nb::none() : nb::cast(a.default_text);
    attributes.append(attribute);
  }
  nb::dict out;
  out["name"] = op.name;
  out["family"] = op.family;
  out["summary"] = op.summary;
  out["signature"] = op.signature;
  out["rule"] = op.rule;
  out["errors"] = op.errors;
  out["example"] = op.example;
  out["operands"] = operands;
  out["attributes"] = attributes;
  out["wire"] = op.wire;
  out["results"] = op.results;
  out["result"] = op.result;
  out["dtypes"] = texts(op.dtypes);
  nb::dict tolerances;
  for (const ToleranceInfo& t : op.tolerances) {
    nb::dict tolerance;
    tolerance["relative"] = t.relative;
    tolerance["absolute"] = t.absolute;
    tolerance["relative_to_one"] = t.relative_to_one;
    tolerances[nb::cast(t.dtype)] = tolerance;
  }
  out["tolerance"] = op.tolerance;
  out["tolerances"] = tolerances;
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
