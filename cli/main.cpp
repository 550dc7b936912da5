#include <csignal>
#include <cstdio>
#include <exception>

#include "base/format.hpp"
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

int fail(const Error& error) {
  std::string line = error.message();
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "reprise: {}\n", line);
  return exit_code(error);
}

Status print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Error(ErrorCode::io, "standard output cannot be written to");
}

Status flush() {
  if (std::fflush(stdout) == 0) return {};
  return Error(ErrorCode::io, "standard output cannot be written to");
}

void add_target_options(CLI::App& command, Target& target) {
  command.add_option("--backend", target.backend, "Who computes: mlx")->type_name("NAME")->capture_default_str();
  command.add_option("--device", target.device, "Where: cpu, cuda or cuda:N")->type_name("NAME")->capture_default_str();
  command.add_option("--threads", target.threads, "Most threads that work at once (default: the CPUs granted)")
      ->type_name("N");
}

Result<ResolvedTarget> resolve(const Target& target) {
  ResolvedTarget out;
  REPRISE_ASSIGN(out.backend, parse_backend(target.backend));
  if (target.threads != 0) REPRISE_RETURN_IF_ERROR(set_threads(target.threads));
  REPRISE_ASSIGN(out.device, parse_device(target.device));
  return out;
}

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Compiles tensor programs once and replays them fast."};
  app.name("reprise");
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return fmt::format("reprise: {} (reprise --help tells more)\n", e.what());
  });
  app.footer("Exit codes: 0 good, 1 a run failed, 2 bad arguments or a bad file.");
  Action action;
  add_generate(app, action);
  add_run(app, action);
  add_check(app, action);
  add_show(app, action);
  add_ops(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kGood : kUsage;
  }
  return action();
}

}  // namespace
}  // namespace reprise::cli

int main(int argc, char** argv) {
  // A reader that has gone makes writes fail, which is reported, instead of ending the process silently.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return reprise::cli::run(argc, argv);
  } catch (const std::exception& e) {
    return reprise::cli::fail(reprise::Error(reprise::ErrorCode::internal, e.what()));
  }
}
