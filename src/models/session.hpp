// One sequence of tokens going through a model: its caches and its position.
//
//   REPRISE_ASSIGN(Session session, Session::begin(executables, config, capacity));
//   REPRISE_ASSIGN(auto logits, session.feed(prompt));   // after the last token
//   REPRISE_ASSIGN(logits, session.feed({&next, 1}));
#pragma once

#include <mlx/array.h>

#include <optional>
#include <span>
#include <vector>

#include "models/llama/config.hpp"
#include "models/llama/program.hpp"
#include "reprise/executable.hpp"

namespace reprise {

/// A model's programs for caches of one size.
struct ModelExecutables {
  Executable prefill;  ///< any number of tokens, logits of one
  Executable decode;   ///< one token
};

class Session {
 public:
  /// Errors: `limit` when the caches do not fit the memory.
  static Result<Session> begin(const ModelExecutables& executables, const LlamaConfig& config, std::int64_t capacity);

  /// Appends the tokens, at least one; they fit the capacity. Logits after the last, valid until the next call.
  Result<std::span<const float>> feed(std::span<const std::int32_t> tokens, const RunOptions& options = {});

  std::int64_t position() const { return position_; }
  std::int64_t room() const { return capacity_ - position_; }

 private:
  Session(const ModelExecutables& executables, std::int64_t capacity, std::vector<mlx::core::array> caches)
      : executables_(&executables), capacity_(capacity), caches_(std::move(caches)) {}

  const ModelExecutables* executables_;
  std::int64_t capacity_;
  std::int64_t position_ = 0;
  std::vector<mlx::core::array> caches_;
  std::optional<mlx::core::array> logits_;
};

/// Logits after each token of a fresh sequence, (tokens, vocabulary), by a program with Logits::all.
Result<std::vector<float>> score(const Executable& scorer, const LlamaConfig& config, std::int64_t capacity,
                                 std::span<const std::int32_t> tokens);

/// Splits a prompt into chunks of a few fixed sizes, so that few specialisations serve prompts of any length. `used`
/// tokens of a chunk are real, the rest fills it up and is overwritten later; `room` rows are left in the caches.
struct Chunk {
  std::int64_t size = 0;
  std::int64_t used = 0;
  bool operator==(const Chunk&) const = default;
};
std::vector<Chunk> split_into_chunks(std::int64_t tokens, std::int64_t room);

/// Types of a session's caches.
TensorType cache_type(const LlamaConfig& config, std::int64_t capacity);

}  // namespace reprise
