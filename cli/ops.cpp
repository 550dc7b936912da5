// reprise ops: the op table, for people and for tools.
#include "reprise/ops.hpp"

#include "base/format.hpp"
#include "base/suggest.hpp"
#include "command.hpp"

namespace reprise::cli {
namespace {

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

// A word and a paragraph beside it.
std::string entry(std::string_view word, std::string_view text) {
  std::string out = wrapped(text, "              ");
  return out.replace(2, word.size(), word);
}

std::string page(const OpInfo& op) {
  std::string out = fmt::format("{} ({}): {}\n\n{}\n", op.name, op.family, op.summary, wrapped(op.signature, "  "));
  if (op.operands.empty()) out += entry("operands", "none");
  for (const OperandInfo& o : op.operands) {
    const std::string_view word = &o == op.operands.data() ? "operands" : "";
    out += entry(word, fmt::format("{}: shape {}; {}", o.name, o.shape, o.dtype_words));
  }
  for (const AttributeInfo& a : op.attributes) {
    const std::string_view word = &a == op.attributes.data() ? "attributes" : "";
    out += entry(word, fmt::format("{}: {}; {}{}; {}", a.name, a.kind, a.summary,
                                   a.range.empty() ? "" : fmt::format(" ({})", a.range),
                                   a.default_text.empty() ? "required" : fmt::format("default {}", a.default_text)));
  }
  if (!op.wire.empty()) out += entry("wire", op.wire);
  out += entry("result", op.result);
  out += entry("rule", op.rule);
  out += entry("errors", op.errors);
  std::string tolerance(op.tolerance);
  for (const ToleranceInfo& t : op.tolerances) {
    tolerance += fmt::format("; {} {:.2g}{}{}", t.dtype, t.relative, t.relative_to_one ? " of 1 or the size" : "",
                             t.absolute > 0 ? fmt::format(" + {:.2g}", t.absolute) : "");
  }
  out += entry("tolerance", tolerance);
  out += "  example\n";
  for (std::string_view rest = op.example; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    out += fmt::format("    {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
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
    out = json ? to_json(*op) + "\n" : page(*op);
  } else if (json) {
    out = op_table_json() + "\n";
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
