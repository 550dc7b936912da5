// reprise show: a program, or a model's own, in the text form.
#include "base/format.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "io/text/print.hpp"
#include "program/infer.hpp"
#include "reprise/text.hpp"
#include "reprise/text_model.hpp"

namespace reprise::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> inputs;
  std::int64_t capacity = 256;
};

Result<std::string> text_of(const Options& options) {
  std::optional<Program> program;
  std::vector<TensorType> types;
  if (options.file.ends_with(".gguf")) {
    if (!options.inputs.empty()) {
      return Error(ErrorCode::invalid_argument, "--input goes with program files; a model's inputs are known");
    }
    REPRISE_ASSIGN(const TextModel model, TextModel::load(options.file));
    REPRISE_ASSIGN(program, model.decode_program(options.capacity));
    types = model.decode_inputs(options.capacity);
  } else {
    REPRISE_ASSIGN(program, read_program(options.file));
    REPRISE_ASSIGN(types, input_types(options.inputs));
    if (options.inputs.empty() && (*program)->num_inputs > 0) return print_program(*program);
  }
  auto verified = verify(*program);
  if (!verified) return verified.error().with_context(options.file);
  auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), types);
  if (!typed) return typed.error().with_context(options.file);
  return print_program(*typed);
}

int run(const Options& options) {
  auto text = text_of(options);
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
  command->add_option("--capacity", options->capacity, "Rows of a model's caches")
      ->type_name("N")
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace reprise::cli
