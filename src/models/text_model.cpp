#include "reprise/text_model.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/format.hpp"
#include "io/gguf/gguf.hpp"
#include "models/llama/program.hpp"
#include "models/sampler.hpp"
#include "models/session.hpp"
#include "models/tokenizer/chat_template.hpp"
#include "models/tokenizer/text_stream.hpp"
#include "models/tokenizer_from_gguf.hpp"
#include "runtime/lru_cache.hpp"

namespace reprise {
namespace {

/// Caches are made in steps of this many rows, so that prompts of similar length share their programs.
constexpr std::int64_t kCapacityStep = 256;
/// Programs for this many cache sizes are kept.
constexpr std::size_t kCapacitiesKept = 4;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

class TextModel::Impl {
 public:
  Impl(std::string path, const LlamaConfig& config, LlamaWeights weights, Tokenizer tokenizer,
       const LoadOptions& options)
      : path_(std::move(path)),
        config_(config),
        weights_(std::move(weights)),
        tokenizer_(std::move(tokenizer)),
        options_(options) {}

  const LlamaConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  Result<Program> program(Logits logits, std::int64_t capacity) const {
    return llama_program(config_, weights_, {.logits = logits, .capacity = capacity});
  }

  Result<Executable> compile(const Program& made) const {
    return reprise::compile(made, {.backend = options_.backend, .device = options_.device});
  }

  Result<std::shared_ptr<const ModelExecutables>> executables(std::int64_t capacity) const {
    const std::lock_guard lock(mutex_);
    if (auto found = compiled_.find(capacity)) return *std::move(found);
    // One program serves both; each has an executable, so that prompts never push the decoder's specialisation out.
    REPRISE_ASSIGN(const Program shared, program(Logits::last, capacity));
    REPRISE_ASSIGN(Executable prefill, compile(shared));
    REPRISE_ASSIGN(Executable decode, compile(shared));
    auto made = std::make_shared<const ModelExecutables>(ModelExecutables{std::move(prefill), std::move(decode)});
    compiled_.insert(capacity, made);
    return made;
  }

  // Rows for `tokens` tokens, in steps, within the context.
  std::int64_t capacity_for(std::int64_t tokens) const {
    const std::int64_t steps = (tokens + kCapacityStep - 1) / kCapacityStep;
    return std::min(steps * kCapacityStep, config_.context);
  }

  Result<std::vector<std::int32_t>> prompt_tokens(std::string_view prompt, const GenerateOptions& options,
                                                  std::vector<std::string>& warnings) const {
    EncodeReport report;
    std::vector<std::int32_t> ids;
    if (options.chat) {
      REPRISE_ASSIGN(const ChatTemplate chat, ChatTemplate::make(tokenizer_.chat_template()));
      std::vector<ChatMessage> messages;
      if (!options.system.empty()) messages.push_back({ChatRole::system, options.system});
      messages.push_back({ChatRole::user, std::string(prompt)});
      REPRISE_ASSIGN(const std::vector<TextSegment> segments, chat.render(messages));
      REPRISE_ASSIGN(ids, tokenizer_.encode(segments, {.add_special = true}, &report));
    } else {
      REPRISE_ASSIGN(ids, tokenizer_.encode(prompt, {.add_special = true, .parse_special = true}, &report));
    }
    warnings = report.warnings();
    if (ids.empty()) return make_error(ErrorCode::invalid_argument, "the prompt is empty; wanted at least one token");
    return ids;
  }

  Result<GenerateReport> generate(std::string_view prompt, const GenerateOptions& options,
                                  const OnText& on_text) const {
    const Clock::time_point start = Clock::now();
    if (options.max_tokens < 0) {
      return make_error(ErrorCode::invalid_argument, "max_tokens is {}; wanted 0 or more", options.max_tokens);
    }
    if (options.context < 0 || options.context > config_.context) {
      return make_error(ErrorCode::invalid_argument, "context is {}; the model's is {}", options.context,
                        config_.context);
    }
    REPRISE_ASSIGN(Sampler sampler, Sampler::make({.temperature = options.temperature,
                                                   .top_k = options.top_k,
                                                   .top_p = options.top_p,
                                                   .seed = options.seed}));
    REPRISE_ASSIGN(TextStream stream,
                   TextStream::make(tokenizer_, {.stop = options.stop, .ignore_end_tokens = options.ignore_end}));
    GenerateReport report;
    REPRISE_ASSIGN(const std::vector<std::int32_t> tokens, prompt_tokens(prompt, options, report.warnings));
    report.prompt_tokens = static_cast<std::int64_t>(tokens.size());
    const std::int64_t context = options.context > 0 ? options.context : config_.context;
    if (report.prompt_tokens > context) {
      return make_error(ErrorCode::limit, "the prompt has {} tokens; the context holds {}", report.prompt_tokens,
                        context);
    }
    if (options.max_tokens == 0) return report;

    // The last token generated is not fed back, so it needs no row.
    const std::int64_t most = report.prompt_tokens + std::min(options.max_tokens - 1, context - report.prompt_tokens);
    REPRISE_ASSIGN(const auto compiled, executables(capacity_for(most)));
    REPRISE_ASSIGN(Session session, Session::begin(*compiled, config_, capacity_for(most)));
    const RunOptions run_options{.cancel = options.cancel};
    const Clock::time_point prefill_start = Clock::now();
    REPRISE_ASSIGN(std::span<const float> logits, session.feed(tokens, run_options));
    report.prefill_seconds = seconds_since(prefill_start);

    Clock::time_point decode_start = Clock::now();
    while (true) {
      REPRISE_ASSIGN(const std::int32_t next, sampler.sample(logits));
      ++report.generated_tokens;
      if (report.generated_tokens == 1) {
        report.first_token_seconds = seconds_since(start);
        decode_start = Clock::now();
      } else {
        report.decode_seconds = seconds_since(decode_start);
      }
      REPRISE_ASSIGN(const std::string text, stream.feed(next));
      if (!text.empty() && !on_text(text)) {
        report.finish = FinishReason::caller;
        return report;
      }
      if (stream.stopped()) {
        report.finish = stream.reason() == StopReason::end_token ? FinishReason::end_token : FinishReason::stop_text;
        break;
      }
      if (report.generated_tokens >= options.max_tokens) break;
      if (session.position() >= context) {
        report.finish = FinishReason::context;
        break;
      }
      REPRISE_ASSIGN(logits, session.feed({&next, 1}, run_options));
    }
    const std::string rest = stream.finish();
    if (stream.reason() == StopReason::stop_string) report.finish = FinishReason::stop_text;
    if (!rest.empty() && !on_text(rest)) report.finish = FinishReason::caller;
    return report;
  }

  Result<std::vector<float>> logits(const std::vector<std::int32_t>& tokens) const {
    const auto count = static_cast<std::int64_t>(tokens.size());
    if (count < 1 || count > config_.context) {
      return make_error(ErrorCode::invalid_argument, "{} tokens given; wanted 1 to {}, the model's context", count,
                        config_.context);
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] < 0 || tokens[i] >= config_.vocabulary) {
        return make_error(ErrorCode::invalid_argument, "token {} has id {}; the vocabulary has {}", i, tokens[i],
                          config_.vocabulary);
      }
    }
    const std::int64_t capacity = capacity_for(count);
    REPRISE_ASSIGN(const Program made, program(Logits::all, capacity));
    REPRISE_ASSIGN(const Executable scorer, compile(made));
    return score(scorer, config_, capacity, tokens);
  }

 private:
  std::string path_;
  LlamaConfig config_;
  LlamaWeights weights_;
  Tokenizer tokenizer_;
  LoadOptions options_;
  mutable std::mutex mutex_;
  mutable LruCache<std::int64_t, std::shared_ptr<const ModelExecutables>> compiled_{kCapacitiesKept};
};

Result<TextModel> TextModel::load(const std::string& path, const LoadOptions& options) {
  REPRISE_ASSIGN(const gguf::File file, gguf::File::open(path));
  REPRISE_ASSIGN(const LlamaConfig config, llama_config(file));
  REPRISE_ASSIGN(TokenizerSpec spec, tokenizer_spec(file));
  if (static_cast<std::int64_t>(spec.tokens.size()) != config.vocabulary) {
    return make_error(ErrorCode::bad_file, "{}: the tokenizer has {} tokens, the embedding {} rows", path,
                      spec.tokens.size(), config.vocabulary);
  }
  auto tokenizer = Tokenizer::make(std::move(spec));
  if (!tokenizer) {
    // What the tokenizer calls a bad argument came from the file.
    const Error error = tokenizer.error().with_context(path);
    return error.code() == ErrorCode::invalid_argument ? Error(ErrorCode::bad_file, error.message()) : error;
  }
  // MLX would make float32 of them, once for each program; the native kernels read a seventh less.
  const DType scales = resolve(options.backend, options.device) == Backend::native ? DType::float16 : DType::float32;
  REPRISE_ASSIGN(LlamaWeights weights, load_llama_weights(file, config, options.progress, scales));
  return TextModel(std::make_shared<const Impl>(path, config, std::move(weights), *std::move(tokenizer), options));
}

Result<GenerateReport> TextModel::generate(std::string_view prompt, const GenerateOptions& options,
                                           const OnText& on_text) const {
  return impl_->generate(prompt, options, on_text);
}

Result<std::vector<std::int32_t>> TextModel::encode(std::string_view text) const {
  return impl_->tokenizer().encode(text, {.add_special = true, .parse_special = true});
}

Result<std::vector<float>> TextModel::logits(const std::vector<std::int32_t>& tokens) const {
  return impl_->logits(tokens);
}

std::int64_t TextModel::context() const { return impl_->config().context; }
std::int64_t TextModel::vocabulary() const { return impl_->config().vocabulary; }

Result<Program> TextModel::decode_program(std::int64_t capacity) const {
  return impl_->program(Logits::last, capacity);
}

std::vector<TensorType> TextModel::decode_inputs(std::int64_t capacity) const {
  std::vector<TensorType> types{{DType::int32, {1, 1}}, {DType::int32, {1, 1}}, {DType::int32, {}}};
  types.insert(types.end(), static_cast<std::size_t>(2 * impl_->config().layers),
               cache_type(impl_->config(), capacity));
  return types;
}

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::end_token: return "end_token";
    case FinishReason::stop_text: return "stop_text";
    case FinishReason::length: return "length";
    case FinishReason::context: return "context";
    case FinishReason::caller: return "caller";
  }
  return "unknown";
}

}  // namespace reprise
