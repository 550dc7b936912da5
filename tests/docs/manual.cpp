#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "conformance/case_program.hpp"
#include "docs/pages.hpp"
#include "reprise/ops.hpp"

namespace reprise::docs {
namespace {

using conformance::Case;
using nlohmann::json;

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string paragraph(std::string_view title, std::string_view text) {
  return wrapped(fmt::format("**{}.** {}", title, text)) + "\n";
}

// What the CPU gave for main operands of each dtype; null when the op is not recorded yet.
const json* recorded(const OpInfo& op, const Records& records) {
  for (const json& record : records) {
    if (record.value("device", "") != "cpu") continue;
    for (const json& ops : record.at("backends")) {
      if (ops.contains(op.name)) return &ops.at(std::string(op.name));
    }
  }
  return nullptr;
}

// "bool, int8 → int32; uint8 → uint32; the others keep theirs": in the order of the operands' dtypes.
std::string by_dtype(const OpInfo& op, const json& dtypes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  std::vector<std::string> kept;
  for (const std::string_view d : op.dtypes) {
    const auto found = dtypes.find(std::string(d));
    if (found == dtypes.end() || !found->value("supported", false)) continue;
    const std::string result = found->at("result");
    if (result == d) {
      kept.emplace_back(d);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == result; });
    if (group == groups.end()) group = groups.insert(groups.end(), {result, {}});
    group->second.emplace_back(d);
  }
  // One dtype for all needs no list: the result rule has said it.
  if (groups.size() <= 1 && (kept.empty() || (groups.size() == 1 && kept == std::vector{groups[0].first}))) return "";
  if (groups.empty()) return "";
  std::string out;
  for (const auto& [result, from] : groups) out += fmt::format("{} → {}; ", fmt::join(from, ", "), result);
  if (kept.empty()) {
    out.resize(out.size() - 2);
  } else {
    out += fmt::format("{} kept", fmt::join(kept, ", "));
  }
  return out;
}

std::string operands(const OpInfo& op) {
  if (op.operands.empty()) return "";
  std::string out = "| Operand | Shape | Dtypes |\n|---|---|---|\n";
  for (const OperandInfo& o : op.operands) {
    std::string name(o.name);
    std::string note;
    if (name.ends_with("...*")) {
      note = " (any number)";
    } else if (name.ends_with("...")) {
      note = " (one or more)";
    } else if (name.ends_with("?")) {
      note = " (may be left out)";
    }
    while (name.ends_with("*") || name.ends_with("?") || name.ends_with(".")) name.pop_back();
    out += fmt::format("| `{}`{} | {} | {} |\n", name, note, cell(o.shape), o.dtype_words);
  }
  return out + "\n";
}

std::string attributes(const OpInfo& op) {
  if (op.attributes.empty()) return "";
  std::string out = "| Attribute | Kind | Meaning | Default |\n|---|---|---|---|\n";
  for (const AttributeInfo& a : op.attributes) {
    const std::string range = a.range.empty() ? "" : fmt::format(" ({})", a.range);
    out += fmt::format("| `{}` | {}{} | {} | {} |\n", a.name, a.kind, range, cell(a.summary),
                       a.default_text.empty() ? "required" : fmt::format("`{}`", a.default_text));
  }
  return out + "\n" + wrapped(fmt::format("On the wire: `{}`.", op.wire)) + "\n";
}

std::string messages(const OpInfo& op, const std::vector<Case>& cases) {
  std::vector<std::string> out;
  for (const Case& one : cases) {
    if (one.op != op.name || one.says.empty()) continue;
    std::string message = conformance::message_of(one, {.device = Device::cpu()});
    if (std::find(out.begin(), out.end(), message) == out.end()) out.push_back(std::move(message));
  }
  if (out.empty()) return "";
  return fmt::format("```\n{}\n```\n\n", fmt::join(out, "\n"));
}

std::string tolerance(const OpInfo& op, const json* dtypes) {
  if (op.tolerances.empty()) return paragraph("Tolerance", "Exact: results are equal on every backend and device.");
  std::set<std::string> given;
  for (const json& entry : dtypes ? *dtypes : json::object()) given.insert(entry.value("result", ""));
  std::string reason(op.tolerance);
  reason[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(reason[0])));
  std::string out = paragraph("Tolerance", reason + ".");
  const bool to_one = op.tolerances[0].relative_to_one;
  out += fmt::format("| Result | Relative to {} | And absolute |\n|---|---|---|\n",
                     to_one ? "the greater of 1 and its size" : "its size");
  for (const ToleranceInfo& t : op.tolerances) {
    if (!given.empty() && !given.contains(std::string(t.dtype))) continue;
    out += fmt::format("| {} | {:.2g} | {:.2g} |\n", t.dtype, t.relative, t.absolute);
  }
  return out + "\n";
}

std::string section(const OpInfo& op, const std::vector<Case>& cases, const Records& records) {
  const json* dtypes = recorded(op, records);
  std::string out = fmt::format("## {}\n\n{}\n\n", op.name, cell(op.summary));
  out += "```\n" + wrapped(op.signature, "    ") + "```\n\n";
  out += operands(op) + attributes(op);
  out += paragraph(op.results == "1" ? "Result" : "Results", op.result);
  if (dtypes) {
    const std::string table = by_dtype(op, *dtypes);
    if (!table.empty()) out += wrapped("As run, by dtype: " + table + ".") + "\n";
  }
  out += paragraph("Rule", op.rule);
  out += fmt::format("**Example.**\n\n```\n{}```\n\n", op.example);
  out += paragraph("Errors", op.errors);
  out += messages(op, cases);
  out += tolerance(op, dtypes);
  if (op.extension) out += "The reference system does not have this op.\n\n";
  return out;
}

std::vector<std::string> families() {
  std::vector<std::string> out;
  for (const OpInfo& op : op_table()) {
    if (std::find(out.begin(), out.end(), op.family) == out.end()) out.emplace_back(op.family);
  }
  return out;
}

constexpr const char* kIntroduction = R"(# The ops

Every op, family by family, from the rows that Reprise itself reads: `reprise ops NAME` prints the same, `reprise ops
--json` gives it to tools. Each example is a case that the tests run on every device, and each error message one that
they have seen. Which dtypes work where is in [support.md](../support.md), the contract in
[spec/ops.md](../spec/ops.md).

## How to read a page

* The first block is an instruction of the text form: operands, then attributes by name with their kinds. What is in
  square brackets may be left out. Attributes stand in the order of the wire, where they have no names; `x n` means a
  list of n.
* Kinds of attributes: *integer*, *flag* (true or false; 0 or not on the wire), *real* (its binary64 bits on the wire),
  *dtype*, *mode* (a name), *integers* (a list), *tensor types* (`[f32[2], s32[]]`).
* *Broadcast shape*: shapes are aligned at their last axes, and an axis of size 1 repeats. *Promoted dtype*: the least
  that holds both, in the order bool, unsigned, signed, floating, complex; int8 with uint8 gives int16, uint64 with a
  signed integer float32, float16 with bfloat16 float32, an integer with a float that float.
* Examples: `in` lines are the operands, `out` lines the results. `iota` counts 0, 1, 2, ... in row-major order; one
  value alone fills the shape; `(1, -2)` is complex.

## What every op refuses

Inference knows all shapes and dtypes before anything runs. It names the instruction, what was seen and what is wanted:
operands of other dtypes than listed, attributes out of their range or of another kind, too few or too many of either,
ranks above 64, axes of 2^31 elements or more, and values larger than the memory of the machine. *Errors of the run*
depend on values; the executable stays usable. A page lists what else its op refuses, and under it messages of the tests.

## Families

)";

}  // namespace

Pages manual(const std::vector<Case>& cases, const Records& records) {
  Pages out;
  std::string index = kNotice + std::string(kIntroduction) + "| Family | Ops |\n|---|---|\n";
  for (const std::string& family : families()) {
    std::string page = fmt::format(
        "{}# {}\n\n[All families](README.md), [how to read this](README.md#how-to-read-a-page)\n\n", kNotice, family);
    std::vector<std::string> links;
    for (const OpInfo& op : op_table()) {
      if (op.family != family) continue;
      links.push_back(fmt::format("[{0}]({1}.md#{0})", op.name, family));
      page += section(op, cases, records);
    }
    while (page.ends_with("\n\n")) page.pop_back();
    out["ops/" + family + ".md"] = page;
    index += fmt::format("| [{0}]({0}.md) | {1} |\n", family, fmt::join(links, ", "));
  }
  out["ops/README.md"] = index;
  return out;
}

std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (column > 0 && column + 1 + word.size() > 120) {
      out += "\n" + indent + word;
      column = indent.size() + word.size();
    } else {
      out += (column > 0 ? " " : "") + word;
      column += (column > 0 ? 1 : 0) + word.size();
    }
    at = end + 1;
  }
  return out + "\n";
}

}  // namespace reprise::docs
