// reprise run: runs a program file on arrays from files.
#include <mlx/mlx.h>

#include <filesystem>
#include <sstream>

#include "base/format.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "io/atomic_file.hpp"
#include "io/npy/npy.hpp"
#include "io/npy/npz.hpp"
#include "program/array_access.hpp"
#include "reprise/text.hpp"

namespace reprise::cli {
namespace {

struct Options {
  std::string program;
  std::vector<std::string> inputs;
  std::string output_dir;
  std::string output;
  std::uint32_t max_loop_turns = 0;
  Target target;
};

// Every output as NAME/out0.npy, NAME/out1.npy, ..., complete but not yet under their names.
Result<std::vector<AtomicFile>> prepare_outputs(const std::string& dir, const std::vector<mlx::core::array>& outputs) {
  std::error_code code;
  std::filesystem::create_directories(dir, code);
  if (code) return make_error(ErrorCode::io, "'{}' cannot be made: {}", dir, code.message());
  std::vector<AtomicFile> files;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = (std::filesystem::path(dir) / fmt::format("out{}.npy", i)).string();
    REPRISE_ASSIGN(const EncodedNpy encoded, encode_npy(outputs[i]));
    REPRISE_ASSIGN(AtomicFile file, AtomicFile::create(path));
    REPRISE_RETURN_IF_ERROR(file.write(encoded.header));
    REPRISE_RETURN_IF_ERROR(file.write(encoded.data));
    files.push_back(std::move(file));
  }
  return files;
}

Status write_archive(const std::string& path, const std::vector<mlx::core::array>& outputs) {
  NamedArrays named;
  for (std::size_t i = 0; i < outputs.size(); ++i) named.emplace_back(fmt::format("out{}", i), outputs[i]);
  return write_npz(path, named);
}

Status print_outputs(const std::vector<mlx::core::array>& outputs) {
  std::ostringstream out;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    out << "out" << i << " : " << to_string(type_of(outputs[i])) << "\n" << outputs[i] << "\n";
  }
  REPRISE_RETURN_IF_ERROR(print(out.str()));
  return flush();
}

struct Job {
  Program program;
  std::vector<mlx::core::array> inputs;
};

Result<Job> read(const Options& options) {
  REPRISE_ASSIGN(Program program, read_program(options.program));
  REPRISE_ASSIGN(std::vector<mlx::core::array> inputs, read_inputs(options.inputs));
  return Job{std::move(program), std::move(inputs)};
}

Status run(const Options& options, const ResolvedTarget& target, Job job) {
  REPRISE_ASSIGN(const Executable executable,
                 compile(job.program, {.backend = target.backend, .device = target.device}));
  REPRISE_ASSIGN(const auto outputs, executable.run(std::move(job.inputs), {.max_loop_turns = options.max_loop_turns}));
  if (options.output.empty() && options.output_dir.empty()) return print_outputs(outputs);
  // Nothing gets its name before everything is written.
  std::vector<AtomicFile> files;
  if (!options.output_dir.empty()) {
    REPRISE_ASSIGN(files, prepare_outputs(options.output_dir, outputs));
  }
  if (!options.output.empty()) REPRISE_RETURN_IF_ERROR(write_archive(options.output, outputs));
  for (AtomicFile& file : files) REPRISE_RETURN_IF_ERROR(file.commit());
  return {};
}

int run(const Options& options) {
  if (!options.output.empty() && !options.output.ends_with(".npz")) {
    return fail(make_error(ErrorCode::invalid_argument, "--output '{}': wanted a .npz file", options.output));
  }
  auto target = resolve(options.target);
  if (!target) return fail(target.error());
  auto job = read(options);
  if (!job) return fail_reading(job.error());
  const Status status = run(options, *target, *std::move(job));
  return status.ok() ? kGood : fail(status.error().with_context(options.program));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a program file");
  command->add_option("program", options->program, "A program file")->required()->type_name("PROGRAM.rp");
  command->add_option("--input", options->inputs, "The program's inputs in order: .npy files, or .npz with several")
      ->type_name("FILE...");
  command->add_option("--output-dir", options->output_dir, "Write out0.npy, out1.npy, ... there, and print nothing")
      ->type_name("DIR");
  command->add_option("--output", options->output, "Write all outputs to this .npz, and print nothing")
      ->type_name("FILE.npz");
  add_number(*command, "--max-loop-turns", options->max_loop_turns, "Give up when a loop turns more often; 0: never")
      ->type_name("N");
  add_target_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace reprise::cli
