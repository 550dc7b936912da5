// What the commands share. Each command is one file with one function that adds it to the parser.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "reprise/executable.hpp"
#include "reprise/status.hpp"

namespace reprise::cli {

/// Exit codes: part of the interface.
enum ExitCode : int {
  kGood = 0,
  kRunFailed = 1,  ///< a run failed
  kUsage = 2,      ///< bad arguments, or a file that is missing or bad
};

/// Which exit code an error has.
ExitCode exit_code(const Error& error);

/// Prints "reprise: MESSAGE" on standard error, on one line, and gives the exit code.
int fail(const Error& error);

/// Writes to standard output and notices when it cannot (a full disk, a closed pipe).
Status print(std::string_view text);
/// Flushes what print() wrote.
Status flush();

/// The options --backend, --device and --threads, as every command that runs something has them.
struct Target {
  std::string backend = "mlx";
  std::string device = "cpu";
  int threads = 0;  ///< 0: not given
};
void add_target_options(CLI::App& command, Target& target);

struct ResolvedTarget {
  Backend backend = Backend::mlx;
  Device device;
};
/// Applies --threads and turns the names into values.
Result<ResolvedTarget> resolve(const Target& target);

/// A command sets this to what main() runs after parsing.
using Action = std::function<int()>;

void add_generate(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);

}  // namespace reprise::cli
