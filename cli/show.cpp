// reprise show: a program, or a model's own, in the text form.
#include "base/format.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "io/text/print.hpp"
#include "program/infer.hpp"
#include "reprise/text.hpp"

namespace reprise::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> inputs;
  std::string output;
  std::optional<std::int64_t> capacity;
};

Result<std::string> text_of(const Options& options, const OpenedProgram& shown) {
  // The arrays are not part of the text, so that it alone is no program file.
  const std::string note = shown.program->captures.empty()
                               ? ""
                               : "# The arrays of cap0, cap1, ... are not in this text: reprise show --output FILE.rp "
                                 "writes both.\n";
  if (!shown.types) return note + print_program(shown.program);
  auto verified = verify(shown.program);
  if (!verified) return verified.error().with_context(options.file);
  auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), *shown.types);
  if (!typed) return typed.error().with_context(options.file);
  return note + print_program(*typed);
}

int run(const Options& options) {
  auto shown = open_program(options.file, options.inputs, options.capacity);
  if (!shown) return fail_reading(shown.error());
  if (!options.output.empty()) {
    const Status saved = write_program(options.output, shown->program);
    return saved.ok() ? kGood : fail(saved.error());
  }
  auto text = text_of(options, *shown);
  if (!text) return fail(text.error());
  Status written = print(*text);
  if (written.ok()) written = flush();
  return written.ok() ? kGood : fail(written.error());
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "Print a program, or a model's, in the text form");
  command->add_option("file", options->file, "A program file or a GGUF model")
      ->required()
      ->type_name("PROGRAM.rp|MODEL.gguf");
  command
      ->add_option("--input", options->inputs, "Print types too: a type such as 'f32[2, 3]', or a file, for each input")
      ->type_name("TYPE|FILE...");
  command
      ->add_option("--output", options->output,
                   "Write a program file instead, and its arrays to a safetensors file beside it")
      ->type_name("FILE.rp");
  add_number(*command, "--capacity", options->capacity, kCapacityHelp)->type_name("N");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace reprise::cli
