// reprise check: says whether a program file keeps the contract, with all its faults.
#include "base/format.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "program/infer.hpp"
#include "reprise/text.hpp"

namespace reprise::cli {
namespace {

int run(const std::string& path, const std::vector<std::string>& inputs) {
  auto program = read_program(path);
  if (!program) return fail_reading(program.error());
  std::vector<Error> faults;
  auto verified = verify(*program, &faults);
  if (!verified) {
    int code = kUsage;
    for (const Error& fault : faults) code = fail(fault.with_context(path));
    return code;
  }
  if (!inputs.empty()) {
    auto types = input_types(inputs);
    if (!types) return fail_reading(types.error());
    auto typed = infer(std::make_shared<const VerifiedProgram>(*std::move(verified)), *types);
    if (!typed) return fail_reading(typed.error().with_context(path));
  }
  Status written =
      print(fmt::format("{}: good: {} instructions, {} inputs, {} captures, {} constants, {} outputs\n", path,
                        (*program)->instructions.size(), (*program)->num_inputs, (*program)->captures.size(),
                        (*program)->constants.size(), (*program)->num_real_outputs));
  if (written.ok()) written = flush();
  return written.ok() ? kGood : fail(written.error());
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  struct Options {
    std::string program;
    std::vector<std::string> inputs;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Check a program file and name all its faults");
  command->add_option("program", options->program, "A program file")->required()->type_name("PROGRAM.rp");
  command
      ->add_option("--input", options->inputs,
                   "Check shapes too: a type such as 'f32[2, 3]', or a file, for each input")
      ->type_name("TYPE|FILE...");
  command->callback([options, &action] { action = [options] { return run(options->program, options->inputs); }; });
}

}  // namespace reprise::cli
