#include "models/llama/weights.hpp"

#include <mlx/mlx.h>

#include <cmath>
#include <unordered_set>

#include "base/format.hpp"
#include "io/gguf/affine.hpp"

namespace reprise {
namespace {

// Rows of one head, in a file: pair i is rows 2i and 2i + 1. Wanted: rows i and dims/2 + i. The rest stay.
std::vector<std::int64_t> unpair(std::int64_t heads, std::int64_t head_width, std::int64_t dims) {
  std::vector<std::int64_t> rows;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t r = 0; r < head_width; ++r) {
      const std::int64_t half = dims / 2;
      const std::int64_t from = r >= dims ? r : r < half ? 2 * r : 2 * (r - half) + 1;
      rows.push_back(h * head_width + from);
    }
  }
  return rows;
}

class Loader {
 public:
  Loader(const gguf::File& file, const LlamaConfig& config, const LoadProgress& progress, DType scales)
      : file_(file), config_(config), progress_(progress), scales_(scales) {}

  Result<LlamaWeights> load() {
    REPRISE_RETURN_IF_ERROR(file_.check_supported());
    LlamaWeights w;
    REPRISE_ASSIGN(w.embedding, linear("token_embd.weight", config_.vocabulary, config_.width));
    const std::int64_t q_width = config_.heads * config_.head_width;
    const std::int64_t kv_width = config_.kv_heads * config_.head_width;
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}.weight", i, part); };
      LlamaLayer layer;
      REPRISE_ASSIGN(layer.attention_norm, vector(name("attn_norm"), config_.width));
      REPRISE_ASSIGN(layer.q, linear(name("attn_q"), q_width, config_.width, config_.heads));
      REPRISE_ASSIGN(layer.k, linear(name("attn_k"), kv_width, config_.width, config_.kv_heads));
      REPRISE_ASSIGN(layer.v, linear(name("attn_v"), kv_width, config_.width));
      REPRISE_ASSIGN(layer.o, linear(name("attn_output"), config_.width, q_width));
      REPRISE_ASSIGN(layer.feed_forward_norm, vector(name("ffn_norm"), config_.width));
      REPRISE_ASSIGN(layer.gate, linear(name("ffn_gate"), config_.hidden, config_.width));
      REPRISE_ASSIGN(layer.up, linear(name("ffn_up"), config_.hidden, config_.width));
      REPRISE_ASSIGN(layer.down, linear(name("ffn_down"), config_.width, config_.hidden));
      w.layers.push_back(std::move(layer));
    }
    REPRISE_ASSIGN(w.output_norm, vector("output_norm.weight", config_.width));
    if (file_.find_tensor("output.weight")) {
      REPRISE_ASSIGN(w.output, linear("output.weight", config_.vocabulary, config_.width));
    }
    if (file_.find_tensor("rope_freqs.weight")) {
      REPRISE_ASSIGN(w.rope_freqs, rope_freqs());
    }
    REPRISE_RETURN_IF_ERROR(check_all_used());
    return w;
  }

 private:
  Result<const gguf::Tensor*> get(const std::string& name, const Shape& wanted) {
    REPRISE_ASSIGN(const gguf::Tensor* tensor, file_.get_tensor(name));
    if (tensor->shape != wanted) {
      return make_error(ErrorCode::bad_file, "{}: tensor '{}' is {}; wanted {}", file_.path(), name,
                        to_string(tensor->shape), to_string(wanted));
    }
    used_.insert(tensor->name);
    if (progress_) progress_(used_.size(), file_.tensors().size());
    return tensor;
  }

  // A plain tensor as float32.
  Result<Capture> dense(const gguf::Tensor& tensor, std::span<const std::int64_t> rows = {}) {
    REPRISE_ASSIGN(mlx::core::array value, gguf::to_array(file_, tensor, rows));
    if (value.dtype() != mlx::core::float32) {
      value = mlx::core::astype(value, mlx::core::float32, mlx::core::default_stream(mlx::core::Device::cpu));
    }
    return make_capture(std::move(value), std::string(tensor.name));
  }

  Result<Capture> vector(const std::string& name, std::int64_t size) {
    REPRISE_ASSIGN(const gguf::Tensor* tensor, get(name, {size}));
    return dense(*tensor);
  }

  // `rotated_heads`: of q and k, whose rows are put back in order.
  Result<LinearWeight> linear(const std::string& name, std::int64_t out, std::int64_t in,
                              std::int64_t rotated_heads = 0) {
    REPRISE_ASSIGN(const gguf::Tensor* tensor, get(name, {out, in}));
    // Only now that the file has shown as many rows is their number more than a claim.
    const std::vector<std::int64_t> rows = unpair(rotated_heads, config_.head_width, config_.rope_dims);
    LinearWeight w;
    if (!gguf::type_info(tensor->type)->affine) {
      REPRISE_ASSIGN(w.codes, dense(*tensor, rows));
      return w;
    }
    auto affine = gguf::to_affine(file_, *tensor, {.scales = scales_, .rows = rows});
    // A bias may be beyond float16.
    if (!affine && affine.error().code() == ErrorCode::limit && scales_ != DType::float32) {
      affine = gguf::to_affine(file_, *tensor, {.rows = rows});
    }
    if (!affine) return affine.error();
    gguf::AffineTensor packed = *std::move(affine);
    w.bits = packed.bits;
    w.group_size = packed.group_size;
    REPRISE_ASSIGN(w.codes, make_capture(std::move(packed.codes), name + ".codes"));
    REPRISE_ASSIGN(w.scales, make_capture(std::move(packed.scales), name + ".scales"));
    REPRISE_ASSIGN(w.biases, make_capture(std::move(packed.biases), name + ".biases"));
    return w;
  }

  // The file's factors stretch the wavelength of each pair.
  Result<Capture> rope_freqs() {
    const std::int64_t pairs = config_.rope_dims / 2;
    REPRISE_ASSIGN(const gguf::Tensor* tensor, get("rope_freqs.weight", {pairs}));
    REPRISE_ASSIGN(const Capture factors, dense(*tensor));
    std::vector<float> freqs;
    const auto* factor = factors.value->data<float>();
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config_.rope_dims);
      freqs.push_back(static_cast<float>(std::pow(config_.rope_base, exponent) * static_cast<double>(factor[i])));
    }
    return make_capture(mlx::core::array(freqs.begin(), {static_cast<int>(pairs)}), "rope_freqs");
  }

  // A tensor that is not read would change the result: better to say so than to answer wrongly.
  Status check_all_used() const {
    for (const gguf::Tensor& tensor : file_.tensors()) {
      if (used_.count(tensor.name) == 0) {
        return make_error(ErrorCode::unsupported, "{}: tensor {} is not part of a plain Llama model", file_.path(),
                          gguf::quote(tensor.name));
      }
    }
    return {};
  }

  const gguf::File& file_;
  const LlamaConfig& config_;
  const LoadProgress& progress_;
  DType scales_;
  std::unordered_set<std::string_view> used_;
};

}  // namespace

Result<LlamaWeights> load_llama_weights(const gguf::File& file, const LlamaConfig& config, const LoadProgress& progress,
                                        DType scales) {
  try {
    return Loader(file, config, progress, scales).load();
  } catch (const std::exception& e) {
    return make_error(ErrorCode::runtime, "{}: {}", file.path(), e.what());
  }
}

}  // namespace reprise
