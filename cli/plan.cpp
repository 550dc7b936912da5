// reprise plan: what the native backend makes of a program.
#include "reprise/plan.hpp"

#include "base/format.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "io/atomic_file.hpp"

namespace reprise::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> inputs;
  std::optional<std::int64_t> capacity;
  std::string svg;
  bool explain = false;
  bool json = false;
};

Result<PlanInfo> plan_of(const Options& options, const OpenedProgram& opened) {
  auto executable = compile(opened.program, {.backend = Backend::native});
  if (!executable) return executable.error().with_context(options.file);
  auto plan = executable->plan(opened.types.value_or(std::vector<TensorType>()));
  if (!plan) return plan.error().with_context(options.file);
  return plan;
}

int run(const Options& options) {
  if (options.json && options.explain) {
    return fail(Error(ErrorCode::invalid_argument, "--json tells the reasons anyway; leave out --explain"));
  }
  auto opened = open_program(options.file, options.inputs, options.capacity);
  if (!opened) return fail_reading(opened.error());
  auto plan = plan_of(options, *opened);
  if (!plan) return fail(plan.error());
  if (!options.svg.empty()) {
    const Status saved = write_file_atomically(options.svg, to_svg(*plan));
    if (!saved.ok()) return fail(saved.error());
  }
  Status written = print(options.json ? to_json(*plan) + "\n" : to_string(*plan, options.explain));
  if (written.ok()) written = flush();
  return written.ok() ? kGood : fail(written.error());
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "Show the steps and the memory of the native backend");
  command->add_option("file", options->file, "A program file or a GGUF model")
      ->required()
      ->type_name("PROGRAM.rp|MODEL.gguf");
  command
      ->add_option("--input", options->inputs, "The program's inputs: a type such as 'f32[2, 3]', or a file, for each")
      ->type_name("TYPE|FILE...");
  add_number(*command, "--capacity", options->capacity, kCapacityHelp)->type_name("N");
  command->add_flag("--explain", options->explain, "Say of each step why no better kernel does it");
  command->add_option("--svg", options->svg, "Draw it too")->type_name("FILE.svg");
  command->add_flag("--json", options->json, "As JSON, for tools");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace reprise::cli
