// A Llama-family model as a Program.
//
//   REPRISE_ASSIGN(Program decode, llama_program(config, weights, {.logits = Logits::last, .capacity = 512}));
//
// Inputs: tokens s32[1, T]; positions s32[1, T], consecutive; last s32[], the token whose logits are wanted; then for
// each layer the key and value cache, f32[1, capacity, kv_heads, head_width], which are meant to be donated. Outputs:
// logits f32[1, vocabulary] (or f32[T, vocabulary] for Logits::all), then the caches in the same order. T is not fixed:
// one program serves any number of tokens, one specialisation each. With tokens that only fill up a chunk after `last`,
// the caches hold rows that the next call overwrites before any query sees them.
#pragma once

#include "models/llama/config.hpp"
#include "models/llama/weights.hpp"
#include "reprise/program.hpp"
#include "reprise/status.hpp"

namespace reprise {

enum class Logits : std::uint8_t {
  last,  ///< of the token `last`
  all,   ///< of every token; there is no input `last`
};

struct LlamaProgramOptions {
  Logits logits = Logits::last;
  std::int64_t capacity = 0;  ///< rows of each cache
};

Result<Program> llama_program(const LlamaConfig& config, const LlamaWeights& weights,
                              const LlamaProgramOptions& options);

/// Inputs that the program takes before the caches.
std::size_t leading_inputs(Logits logits);

}  // namespace reprise
