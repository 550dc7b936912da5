// reprise generate: continues a prompt with a model.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/format.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "reprise/text_model.hpp"

namespace reprise::cli {
namespace {

/// Loading is worth a word when it takes longer than this.
constexpr double kQuietSeconds = 1.0;
/// More than any model's context holds.
constexpr std::size_t kMaxPromptBytes = std::size_t{1} << 26;

struct Options {
  std::string model;
  std::string prompt;
  std::string prompt_file;
  bool json = false;
  GenerateOptions generate;
  Target target;
};

// Says how far the loading is, once it has taken a while: in place on a terminal, else one line.
class Progress {
 public:
  void operator()(std::size_t done, std::size_t total) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    if (spent.count() < kQuietSeconds) return;
    if (terminal_) {
      say(fmt::format("\rloading: {}/{} tensors{}", done, total, done == total ? "\n" : ""));
    } else if (!said_) {
      say(fmt::format("loading: {}/{} tensors\n", done, total));
    }
    said_ = true;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool said_ = false;
};

double rate(std::int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

void print_report(const GenerateReport& report) {
  // The first token comes with the prompt, the others one by one.
  const std::int64_t decoded = std::max<std::int64_t>(report.generated_tokens - 1, 0);
  say(fmt::format("prefill: {} tokens, {:.1f} tok/s\n", report.prompt_tokens,
                  rate(report.prompt_tokens, report.prefill_seconds)));
  say(fmt::format("decode: {} tokens, {:.1f} tok/s\n", decoded, rate(decoded, report.decode_seconds)));
  say(fmt::format("first token: {:.1f} ms\n", report.first_token_seconds * 1e3));
  say(fmt::format("peak memory: {} MiB\n", peak_resident_bytes() >> 20));
}

std::string as_json(const std::string& text, const GenerateReport& report) {
  const std::int64_t decoded = std::max<std::int64_t>(report.generated_tokens - 1, 0);
  const nlohmann::ordered_json json{
      {"text", text},
      {"finish", to_string(report.finish)},
      {"prompt_tokens", report.prompt_tokens},
      {"generated_tokens", report.generated_tokens},
      {"prefill_tokens_per_second", rate(report.prompt_tokens, report.prefill_seconds)},
      {"decode_tokens_per_second", rate(decoded, report.decode_seconds)},
      {"first_token_ms", report.first_token_seconds * 1e3},
      {"peak_memory_mib", peak_resident_bytes() >> 20},
      {"warnings", report.warnings},
  };
  return json.dump() + "\n";
}

// Reads to the end, so that pipes work too.
Result<std::string> read_prompt(const std::string& path) {
  const bool standard = path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(standard ? stdin : std::fopen(path.c_str(), "rb"),
                                                             standard ? [](std::FILE*) { return 0; } : &std::fclose);
  const auto error = [&] {
    const int number = errno;
    return make_error(number == ENOENT ? ErrorCode::not_found : ErrorCode::io, "{}: cannot read the prompt: {}",
                      standard ? "standard input" : path, std::generic_category().message(number));
  };
  if (!file) return error();
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, got);
    if (text.size() > kMaxPromptBytes) {
      return make_error(ErrorCode::limit, "{}: the prompt has more than {} bytes", path, kMaxPromptBytes);
    }
  }
  if (std::ferror(file.get()) != 0) return error();
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

int run(const Options& options) {
  if (!options.generate.system.empty() && !options.generate.chat) {
    return fail(Error(ErrorCode::invalid_argument, "--system goes with --chat; without it there is no system message"));
  }
  auto target = resolve(options.target);
  if (!target) return fail(target.error());
  std::string prompt = options.prompt;
  if (!options.prompt_file.empty()) {
    auto read = read_prompt(options.prompt_file);
    if (!read) return fail_reading(read.error());
    prompt = *std::move(read);
  }
  auto model =
      TextModel::load(options.model, {.backend = target->backend, .device = target->device, .progress = Progress()});
  if (!model) return fail_reading(model.error());

  std::string text;
  Status written;
  const auto on_text = [&](std::string_view piece) {
    if (options.json) {
      text += piece;
      return true;
    }
    written = print(piece);
    if (written.ok()) written = flush();
    return written.ok();
  };
  auto report = model->generate(prompt, options.generate, on_text);
  if (!report) return fail(report.error());
  if (written.ok()) written = print(options.json ? as_json(text, *report) : "\n");
  if (written.ok()) written = flush();
  if (!written.ok()) return fail(written.error());
  for (const std::string& warning : report->warnings) say(fmt::format("reprise: warning: {}\n", warning));
  print_report(*report);
  return kGood;
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  GenerateOptions& g = options->generate;
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt with a model file");
  command->add_option("model", options->model, "A GGUF file of the Llama family")->required()->type_name("MODEL.gguf");
  CLI::Option* prompt =
      command->add_option("--prompt", options->prompt, "The text to continue, or with --chat to answer")
          ->type_name("TEXT");
  CLI::Option* prompt_file = command
                                 ->add_option("--prompt-file", options->prompt_file,
                                              "The same from a file, less one line end at its end; -: standard input")
                                 ->type_name("FILE");
  prompt->excludes(prompt_file);
  add_number(*command, "--max-tokens", g.max_tokens, "Stop after this many tokens")->type_name("N")->default_str("128");
  add_number(*command, "--temperature", g.temperature, "0 takes the likeliest token; higher is more random")
      ->type_name("T")
      ->default_str("0");
  add_number(*command, "--top-k", g.top_k, "Choose among the K likeliest tokens; 0: all")
      ->type_name("K")
      ->default_str("0");
  add_number(*command, "--top-p", g.top_p, "Choose among the likeliest tokens that share P; 1: all")
      ->type_name("P")
      ->default_str("1");
  add_number(*command, "--seed", g.seed, "Where the random numbers start")->type_name("S")->default_str("0");
  command->add_flag("--chat", g.chat, "Put the prompt into the model's chat template");
  command->add_option("--system", g.system, "With --chat: the system message")->type_name("TEXT");
  command->add_option("--stop", g.stop, "End before this text; may be given more than once")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command->add_flag("--ignore-end", g.ignore_end, "Go on when the model says that it has finished");
  add_number(*command, "--context", g.context, "Most tokens held, prompt included; 0: what the model can")
      ->type_name("N")
      ->default_str("0");
  command->add_flag("--json", options->json, "Print one JSON object instead of the text as it comes");
  add_target_options(*command, options->target);
  command->callback([options, prompt, prompt_file, &action] {
    if (prompt->count() + prompt_file->count() == 0) throw CLI::RequiredError("--prompt or --prompt-file");
    action = [options] { return run(*options); };
  });
}

}  // namespace reprise::cli
