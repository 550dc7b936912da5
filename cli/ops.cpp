// reprise ops: the op table, for people and for tools.
#include "reprise/ops.hpp"

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/suggest.hpp"
#include "command.hpp"

namespace reprise::cli {
namespace {

std::string join(const std::vector<std::string_view>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

nlohmann::ordered_json as_json(const OpInfo& op) {
  nlohmann::ordered_json attributes = nlohmann::ordered_json::array();
  for (const AttributeInfo& a : op.attributes) {
    nlohmann::ordered_json attribute{{"name", a.name}, {"kind", a.kind}, {"summary", a.summary}};
    if (!a.default_text.empty()) attribute["default"] = a.default_text;
    attributes.push_back(std::move(attribute));
  }
  return {{"name", op.name},           {"family", op.family},      {"summary", op.summary},
          {"rule", op.rule},           {"operands", op.operands},  {"attributes", std::move(attributes)},
          {"wire", op.wire},           {"results", op.results},    {"dtypes", op.dtypes},
          {"tolerance", op.tolerance}, {"extension", op.extension}};
}

// Breaks at spaces so that lines stay within 96 characters, all indented.
std::string wrapped(std::string_view text, std::string_view indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (column == 0 || column + 1 + word.size() > 96) {
      out += fmt::format("{}{}{}", column == 0 ? "" : "\n", indent, word);
      column = indent.size() + word.size();
    } else {
      out += fmt::format(" {}", word);
      column += 1 + word.size();
    }
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return out + "\n";
}

std::string page(const OpInfo& op) {
  std::string out = fmt::format("{} ({}): {}\n\n{}\n", op.name, op.family, op.summary, wrapped(op.rule, "  "));
  out += fmt::format("  operands    {}\n", op.operands.empty() ? "none" : join(op.operands));
  out += fmt::format("  results     {}\n", op.results);
  out += fmt::format("  dtypes      {}\n", join(op.dtypes));
  out += fmt::format("  tolerance   {}\n", op.tolerance);
  if (!op.attributes.empty()) {
    out += fmt::format("  wire        {}\n  attributes\n", op.wire);
    for (const AttributeInfo& a : op.attributes) {
      out += fmt::format("    {:<14} {:<13} {}{}\n", a.name, a.kind, a.summary,
                         a.default_text.empty() ? " (required)" : fmt::format(" (default {})", a.default_text));
    }
  }
  return out;
}

std::string list() {
  std::string out;
  std::string_view family;
  for (const OpInfo& op : op_table()) {
    if (op.family != family) out += fmt::format("{}{}\n", family.empty() ? "" : "\n", op.family);
    family = op.family;
    out += fmt::format("  {:<34} {}\n", op.name, op.summary);
  }
  return out;
}

int run(const std::string& name, bool json) {
  std::string out;
  if (!name.empty()) {
    const OpInfo* op = find_op(name);
    if (!op) {
      std::vector<std::string_view> known;
      for (const OpInfo& other : op_table()) known.push_back(other.name);
      return fail(make_error(ErrorCode::invalid_argument, "unknown op '{}'{} (reprise ops lists them)", name,
                             suggest(name, known)));
    }
    out = json ? as_json(*op).dump(2) + "\n" : page(*op);
  } else if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const OpInfo& op : op_table()) all.push_back(as_json(op));
    out = all.dump(2) + "\n";
  } else {
    out = list();
  }
  Status written = print(out);
  if (written.ok()) written = flush();
  return written.ok() ? kGood : fail(written.error());
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  struct Options {
    std::string name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ops", "List the ops, or explain one");
  command->add_option("name", options->name, "An op")->type_name("NAME");
  command->add_flag("--json", options->json, "As JSON, for tools");
  command->callback([options, &action] { action = [options] { return run(options->name, options->json); }; });
}

}  // namespace reprise::cli
