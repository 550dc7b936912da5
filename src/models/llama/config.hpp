// The facts of a Llama-family model, from a GGUF file's metadata.
//
//   REPRISE_ASSIGN(const LlamaConfig config, llama_config(file));
#pragma once

#include <cstdint>

#include "io/gguf/gguf.hpp"
#include "reprise/status.hpp"

namespace reprise {

struct LlamaConfig {
  std::int64_t layers = 0;
  std::int64_t context = 0;     ///< tokens that the model was trained on
  std::int64_t width = 0;       ///< of the residual stream
  std::int64_t hidden = 0;      ///< of the feed-forward block
  std::int64_t heads = 0;       ///< of queries
  std::int64_t kv_heads = 0;    ///< of keys and values
  std::int64_t head_width = 0;  ///< features a head
  std::int64_t rope_dims = 0;   ///< leading features that are rotated
  std::int64_t vocabulary = 0;
  double rope_base = 10000;
  double rope_scale = 1;  ///< multiplies positions
  double norm_eps = 1e-5;
};

/// Errors: another architecture; a missing, malformed or implausible value, named with what was seen and wanted.
Result<LlamaConfig> llama_config(const gguf::File& file);

}  // namespace reprise
