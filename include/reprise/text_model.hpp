// Text generation with a model file.
//
//   Result<TextModel> model = TextModel::load("SmolLM2-135M-Instruct.Q4_1.gguf");
//   model->generate("The capital of France is", {.max_tokens = 8}, [](std::string_view text) {
//     std::cout << text << std::flush;
//     return true;
//   });
//
// The model is a Program (two: one for prompts, one for single tokens), compiled once and replayed for every token. A
// TextModel may be used from many threads at once; each generation has its own cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/executable.hpp"
#include "reprise/program.hpp"
#include "reprise/status.hpp"

namespace reprise {

/// Called while a model loads, with the tensors done and their total number.
using LoadProgress = std::function<void(std::size_t done, std::size_t total)>;

struct LoadOptions {
  Backend backend = Backend::automatic;
  Device device = Device::cpu();
  LoadProgress progress;
};

struct GenerateOptions {
  std::int64_t max_tokens = 128;  ///< at least 0
  float temperature = 0;          ///< 0 takes the most likely token
  std::int32_t top_k = 0;         ///< 0: off
  float top_p = 1;                ///< 1: off
  std::uint64_t seed = 0;
  bool chat = false;              ///< the prompt is a user's message, put into the model's chat template
  std::string system;             ///< with chat: the system message; empty takes the template's own
  std::vector<std::string> stop;  ///< texts that end the generation; they are not given out
  bool ignore_end = false;        ///< go on after end tokens
  std::int64_t context = 0;       ///< most tokens held, prompt included; 0: the model's context
  const CancelToken* cancel = nullptr;
};

enum class FinishReason : std::uint8_t { end_token, stop_text, length, context, caller };
std::string_view to_string(FinishReason reason);

/// What a generation did. Times in seconds.
struct GenerateReport {
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  double prefill_seconds = 0;      ///< from the prompt's tokens to the first logits
  double decode_seconds = 0;       ///< of the tokens after the first
  double first_token_seconds = 0;  ///< from the call to the first token
  FinishReason finish = FinishReason::length;
  std::vector<std::string> warnings;
};

/// Gets text as it comes, whole characters only; returns false to stop.
using OnText = std::function<bool(std::string_view text)>;

class TextModel {
 public:
  /// Errors: no such file; not a GGUF file; a model family, tensor type or tokenizer that is not supported.
  static Result<TextModel> load(const std::string& path, const LoadOptions& options = {});

  /// Continues the prompt. Errors: options out of range; a prompt that does not fit the context; a failed run. Text
  /// that was already given out stays given.
  Result<GenerateReport> generate(std::string_view prompt, const GenerateOptions& options, const OnText& on_text) const;

  /// Token ids of a text, with what the vocabulary adds in front; special tokens in the text are read as such.
  Result<std::vector<std::int32_t>> encode(std::string_view text) const;

  /// Logits after each token, row by row: (tokens, vocabulary). Errors: no tokens; more than the context; an id that is
  /// not in the vocabulary.
  Result<std::vector<float>> logits(const std::vector<std::int32_t>& tokens) const;

  std::int64_t context() const;
  std::int64_t vocabulary() const;

  /// The program that decodes one token, with caches of `capacity` rows.
  Result<Program> decode_program(std::int64_t capacity) const;
  /// The types of its inputs.
  std::vector<TensorType> decode_inputs(std::int64_t capacity) const;

 private:
  class Impl;
  explicit TextModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace reprise
