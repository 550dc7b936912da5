// reprise passes: lists the passes, or shows what they make of a program.
#include "passes/passes.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "io/text/print.hpp"
#include "reprise/text.hpp"

namespace reprise::cli {
namespace {

struct Options {
  std::string program;
  std::vector<std::string> inputs;
  std::vector<std::string> disabled;
  std::vector<std::string> only;
};

std::string list() {
  std::string out;
  for (const PassInfo& pass : passes()) out += fmt::format("{:<26}{}\n", pass.name, pass.summary);
  return out;
}

Result<std::vector<std::string>> disabled(const Options& options) {
  REPRISE_RETURN_IF_ERROR(pass::check_names(options.only));
  std::vector<std::string> out = options.disabled;
  if (options.only.empty()) return out;
  for (const PassInfo& pass : passes()) {
    if (std::find(options.only.begin(), options.only.end(), pass.name) == options.only.end())
      out.emplace_back(pass.name);
  }
  return out;
}

Result<std::string> show(const Options& options, const Program& program, const std::vector<TensorType>& types) {
  REPRISE_ASSIGN(const std::vector<std::string> off, disabled(options));
  auto verified = verify(program);
  if (!verified) return verified.error().with_context(options.program);
  auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), types);
  if (!typed) return typed.error().with_context(options.program);
  REPRISE_ASSIGN(const pass::Optimised made,
                 pass::optimise(std::make_shared<const TypedProgram>(*std::move(typed)), off));
  std::string out = fmt::format("# {} instructions\n", program->instructions.size());
  for (const pass::PassRun& run : made.runs) {
    out += fmt::format("# {:<26}{:>9.3f} ms  {}\n", run.name, run.milliseconds,
                       run.changed ? fmt::format("{} instructions, loops included", run.instructions) : "no change");
  }
  return out + print_program(*made.program);
}

int run(const Options& options) {
  std::string text = list();
  if (options.program.empty()) {
    if (!options.inputs.empty() || !options.disabled.empty() || !options.only.empty()) {
      return fail(make_error(ErrorCode::invalid_argument,
                             "--input, --disable and --only need a program; write it before them"));
    }
  } else {
    auto program = read_program(options.program);
    if (!program) return fail_reading(program.error());
    auto types = input_types(options.inputs);
    if (!types) return fail_reading(types.error());
    auto shown = show(options, *program, *types);
    if (!shown) return fail(shown.error());
    text = *std::move(shown);
  }
  Status written = print(text);
  if (written.ok()) written = flush();
  return written.ok() ? kGood : fail(written.error());
}

}  // namespace

void add_passes(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("passes", "List the passes, or print a program after them");
  command->add_option("program", options->program, "A program file")->type_name("PROGRAM.rp");
  command
      ->add_option("--input", options->inputs, "A type such as 'f32[2, 3]', or a file, for each input of the program")
      ->type_name("TYPE|FILE...");
  command->add_option("--disable", options->disabled, "Leave these passes out; all: run none")->type_name("NAME...");
  command->add_option("--only", options->only, "Leave the others out")->type_name("NAME...");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace reprise::cli
