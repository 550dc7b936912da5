// What the commands share. Each command is one file with one function that adds it to the parser.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>
#include <optional>
#include <string>

#include "base/format.hpp"
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

/// The same for an error from a file that the user named: one that cannot be read is as bad as one with bad content.
int fail_reading(const Error& error);

/// Writes to standard error. What cannot be said is lost: there is nowhere to complain (fmt::print would throw).
void say(const std::string& text);

/// Writes to standard output and notices when it cannot (a full disk, a closed pipe).
Status print(std::string_view text);
/// Flushes what print() wrote.
Status flush();

/// The whole text as a number, or an error in the words of a user. CLI11's own conversions take what does not fit
/// (-1 for an unsigned number, 10^20 for a 64-bit one) for some other number.
template <typename T>
T parse_number(const std::string& name, const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::result_out_of_range) {
    throw CLI::ValidationError(name, fmt::format("'{}' does not fit in {} bits", text, 8 * sizeof(T)));
  }
  if (code != std::errc{} || stop != end) {
    constexpr const char* kWanted = std::is_floating_point_v<T> ? "a number"
                                    : std::is_signed_v<T>       ? "a whole number"
                                                                : "a whole number from 0 up";
    throw CLI::ValidationError(name, fmt::format("'{}' is not {}", text, kWanted));
  }
  return value;
}

/// An option that takes a number; `target` is a number or an optional one.
template <typename T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& target, const std::string& description) {
  return command.add_option_function<std::string>(
      name, [name, &target](const std::string& text) { target = parse_number<T>(name, text); }, description);
}

template <typename T>
CLI::Option* add_number(CLI::App& command, const std::string& name, std::optional<T>& target,
                        const std::string& description) {
  return command.add_option_function<std::string>(
      name, [name, &target](const std::string& text) { target = parse_number<T>(name, text); }, description);
}

/// The options --backend, --device and --threads, as every command that runs something has them.
struct Target {
  std::string backend = "auto";
  std::string device = "cpu";
  std::optional<int> threads;
};
void add_target_options(CLI::App& command, Target& target);

struct ResolvedTarget {
  Backend backend = Backend::automatic;
  Device device;
};
/// Applies --threads and turns the names into values.
Result<ResolvedTarget> resolve(const Target& target);

/// A command sets this to what main() runs after parsing.
using Action = std::function<int()>;

void add_generate(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_passes(CLI::App& app, Action& action);

}  // namespace reprise::cli
