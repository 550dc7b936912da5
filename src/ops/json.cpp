// The op table for tools, as JSON.
#include <nlohmann/json.hpp>

#include "reprise/ops.hpp"

namespace reprise {
namespace {

nlohmann::ordered_json as_json(const OpInfo& op) {
  using json = nlohmann::ordered_json;
  json operands = json::array();
  for (const OperandInfo& o : op.operands) {
    operands.push_back({{"name", o.name}, {"shape", o.shape}, {"dtypes", o.dtypes}});
  }
  json attributes = json::array();
  for (const AttributeInfo& a : op.attributes) {
    json attribute{{"name", a.name}, {"kind", a.kind}, {"summary", a.summary}};
    if (!a.range.empty()) attribute["range"] = a.range;
    if (!a.default_text.empty()) attribute["default"] = a.default_text;
    attributes.push_back(std::move(attribute));
  }
  json tolerances = json::object();
  for (const ToleranceInfo& t : op.tolerances) {
    tolerances[std::string(t.dtype)] = {
        {"relative", t.relative}, {"absolute", t.absolute}, {"relative_to_one", t.relative_to_one}};
  }
  return {{"name", op.name},
          {"family", op.family},
          {"summary", op.summary},
          {"signature", op.signature},
          {"operands", std::move(operands)},
          {"attributes", std::move(attributes)},
          {"wire", op.wire},
          {"results", op.results},
          {"result", op.result},
          {"rule", op.rule},
          {"errors", op.errors},
          {"example", op.example},
          {"dtypes", op.dtypes},
          {"tolerance", op.tolerance},
          {"tolerances", std::move(tolerances)},
          {"extension", op.extension}};
}

constexpr int kIndent = 2;

}  // namespace

std::string to_json(const OpInfo& op) { return as_json(op).dump(kIndent); }

std::string op_table_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const OpInfo& op : op_table()) all.push_back(as_json(op));
  return all.dump(kIndent);
}

}  // namespace reprise
