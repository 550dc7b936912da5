// The weights of a Llama-family model, as captures for its programs. Quantised ones stay packed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/gguf/gguf.hpp"
#include "models/llama/config.hpp"
#include "reprise/program.hpp"
#include "reprise/status.hpp"
#include "reprise/text_model.hpp"

namespace reprise {

/// A matrix (out, in): packed with scales and biases, or dense float32.
struct LinearWeight {
  Capture codes;   ///< uint32 words, or float32 when dense
  Capture scales;  ///< float32 or float16; no array when dense
  Capture biases;
  std::int64_t bits = 0;  ///< 0: dense
  std::int64_t group_size = 0;
};

struct LlamaLayer {
  Capture attention_norm;
  LinearWeight q, k, v, o;
  Capture feed_forward_norm;
  LinearWeight gate, up, down;
};

struct LlamaWeights {
  LinearWeight embedding;  ///< (vocabulary, width)
  std::vector<LlamaLayer> layers;
  Capture output_norm;
  std::optional<LinearWeight> output;  ///< absent: the embedding serves
  std::optional<Capture> rope_freqs;   ///< (rope_dims / 2), what each pair's turn is divided by
};

/// Reads every tensor and checks its shape. GGUF stores the rows of q and k so that rotated pairs are neighbours; they
/// are put back so that the halves of a head pair up. `scales` is the dtype of scales and biases: float16 holds those
/// of a file exactly, or float32 is taken. Errors: a missing, misshapen, unsupported or unknown tensor.
Result<LlamaWeights> load_llama_weights(const gguf::File& file, const LlamaConfig& config,
                                        const LoadProgress& progress = {}, DType scales = DType::float32);

}  // namespace reprise
