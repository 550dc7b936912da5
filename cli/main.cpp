#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <system_error>

#include "base/format.hpp"
#include "base/suggest.hpp"
#include "command.hpp"
#include "reprise/version.hpp"

namespace reprise::cli {

ExitCode exit_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::bad_file:
    case ErrorCode::parse:
    case ErrorCode::verify:
    case ErrorCode::infer:
    case ErrorCode::unsupported: return kUsage;
    case ErrorCode::io:
    case ErrorCode::limit:
    case ErrorCode::cancelled:
    case ErrorCode::runtime:
    case ErrorCode::internal: return kRunFailed;
  }
  return kRunFailed;
}

namespace {

// Names and texts of others may hold line ends and what moves a terminal's cursor.
std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

Error cannot_print() {
  return make_error(ErrorCode::io, "standard output cannot be written to: {}", std::generic_category().message(errno));
}

}  // namespace

void say(const std::string& text) { static_cast<void>(std::fputs(text.c_str(), stderr)); }

int fail(const Error& error) {
  say(fmt::format("reprise: {}\n", on_one_line(error.message())));
  return exit_code(error);
}

int fail_reading(const Error& error) {
  const int code = fail(error);
  return error.code() == ErrorCode::io || error.code() == ErrorCode::limit ? kUsage : code;
}

Status print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return cannot_print();
}

Status flush() {
  if (std::fflush(stdout) == 0) return {};
  return cannot_print();
}

void add_target_options(CLI::App& command, Target& target) {
  command.add_option("--backend", target.backend, "Who computes: native (CPU), mlx, or auto, the faster on the device")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--device", target.device, "Where: cpu, cuda or cuda:N")->type_name("NAME")->capture_default_str();
  add_number(command, "--threads", target.threads, "Most threads that work at once (default: the CPUs granted)")
      ->type_name("N");
}

Result<ResolvedTarget> resolve(const Target& target) {
  ResolvedTarget out;
  REPRISE_ASSIGN(out.backend, parse_backend(target.backend));
  if (target.threads) REPRISE_RETURN_IF_ERROR(set_threads(*target.threads));
  REPRISE_ASSIGN(out.device, parse_device(target.device));
  return out;
}

namespace {

// CLI11 takes the argument after "--prompt=" for its value; an empty one is meant.
std::vector<std::string> split_empty_values(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      words.push_back(word.substr(0, word.size() - 1));
      word.clear();
    }
    words.push_back(std::move(word));
  }
  return words;
}

// The first word must be a command or an option like --help. CLI11 would only say that a command is missing.
Status check_first(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words[0].starts_with("-")) {
    if (app.get_option_no_throw(words[0])) return {};
    return make_error(ErrorCode::invalid_argument, "unknown option '{}' (reprise --help tells more)", words[0]);
  }
  std::vector<std::string_view> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), words[0]) != known.end()) return {};
  return make_error(ErrorCode::invalid_argument, "unknown command '{}'{} (reprise --help lists them)", words[0],
                    suggest(words[0], known));
}

// Where a standard descriptor is closed, the next file opened would take its number, and get what is printed.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The wrong way round, so that using it is still an error.
    static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Compiles tensor programs once and replays them fast."};
  app.name("reprise");
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return fmt::format("reprise: {} (reprise --help tells more)\n", on_one_line(e.what()));
  });
  app.footer("Exit codes: 0 good, 1 a run failed, 2 bad arguments or a bad file.");
  Action action;
  add_generate(app, action);
  add_run(app, action);
  add_bench(app, action);
  add_check(app, action);
  add_show(app, action);
  add_plan(app, action);
  add_ops(app, action);
  add_passes(app, action);
  std::vector<std::string> words = split_empty_values(argc, argv);
  if (const Status known = check_first(app, words); !known.ok()) return fail(known.error());
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    if (!std::cout.flush()) return fail(cannot_print());
    return code == 0 ? kGood : kUsage;
  }
  return action();
}

}  // namespace
}  // namespace reprise::cli

namespace {

// A mapped file that another process cuts short cannot be read on; there is nothing to return to.
void on_bus_error(int) {
  constexpr char kMessage[] = "reprise: a file became shorter while it was read\n";
  const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(written > 0 ? reprise::cli::kUsage : reprise::cli::kRunFailed);
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that has gone, or a file that may not grow, makes writes fail, which is reported, instead of ending the
  // process silently.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, on_bus_error);
  reprise::cli::occupy_standard_descriptors();
  try {
    return reprise::cli::run(argc, argv);
  } catch (const std::exception& e) {
    return reprise::cli::fail(reprise::Error(reprise::ErrorCode::internal, e.what()));
  }
}
