#include "models/llama/program.hpp"

#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/format.hpp"
#include "reprise/builder.hpp"

namespace reprise {
namespace {

class LlamaBuilder {
 public:
  LlamaBuilder(const LlamaConfig& config, const LlamaWeights& weights, const LlamaProgramOptions& options)
      : c_(config), w_(weights), options_(options) {}

  Result<Program> build() {
    const Value tokens = b_.input();
    positions_ = b_.input();
    const Value last = options_.logits == Logits::last ? b_.input() : Value();
    std::vector<Value> caches;
    for (std::int64_t i = 0; i < 2 * c_.layers; ++i) caches.push_back(b_.input());

    start_ = b_.op("take", {reshape(positions_, {-1}), b_.constant(std::int32_t{0})}, {{"axis", 0}});
    key_mask_ =
        b_.op("broadcast", {b_.constant(true)}, {{"shape", {1, options_.capacity}}, {"axes", AttrValue::Integers{}}});
    if (w_.rope_freqs) freqs_ = capture(*w_.rope_freqs);

    Value x = embed(tokens);
    std::vector<Value> new_caches;
    for (std::size_t i = 0; i < w_.layers.size(); ++i) {
      const LlamaLayer& layer = w_.layers[i];
      x = x + attention(layer, norm(x, layer.attention_norm), caches[2 * i], caches[2 * i + 1], new_caches);
      x = x + feed_forward(layer, norm(x, layer.feed_forward_norm));
    }
    // The vocabulary's matrix is the largest: only the wanted rows meet it.
    if (options_.logits == Logits::last) {
      x = b_.op("take", {x, reshape(last, {1})}, {{"axis", 1}});
    }
    x = norm(reshape(x, {-1, c_.width}), w_.output_norm);
    std::vector<Value> outputs{linear(x, w_.output ? *w_.output : w_.embedding, 1)};
    outputs.insert(outputs.end(), new_caches.begin(), new_caches.end());
    return b_.build(outputs);
  }

 private:
  Value capture(const Capture& c) { return b_.capture(*c.value, c.name); }

  Value reshape(const Value& x, const AttrValue::Integers& shape) { return b_.op("reshape", {x}, {{"shape", shape}}); }

  Value norm(const Value& x, const Capture& weight) {
    return b_.op("fast_rms_norm", {x, capture(weight)}, {{"eps", c_.norm_eps}});
  }

  // A tied embedding is looked up and multiplied with: its arrays are captured once.
  struct Packed {
    Value codes, scales, biases;
  };
  const Packed& packed(const LinearWeight& w) {
    auto& found = packed_[w.codes.value.get()];
    if (!found) {
      found = Packed{capture(w.codes), {}, {}};
      if (w.bits != 0) {
        found->scales = capture(w.scales);
        found->biases = capture(w.biases);
      }
    }
    return *found;
  }

  // x times the transposed weight, over the last axis of x, which is `axis`.
  Value linear(const Value& x, const LinearWeight& w, std::int64_t axis = 2) {
    const Packed& p = packed(w);
    if (w.bits == 0) {
      return b_.op("dot", {x, p.codes},
                   {{"contract_a", {axis}},
                    {"contract_b", {1}},
                    {"batch_a", AttrValue::Integers{}},
                    {"batch_b", AttrValue::Integers{}}});
    }
    return b_.op("quantized_matmul", {x, p.codes, p.scales, p.biases},
                 {{"group_size", w.group_size},
                  {"bits", w.bits},
                  {"transpose", true},
                  {"mode", "affine"},
                  {"has_biases", true}});
  }

  // Rows of the embedding, gathered packed and expanded: scale * code + bias for each group.
  Value embed(const Value& tokens) {
    const LinearWeight& w = w_.embedding;
    const Packed& p = packed(w);
    const auto take = [&](const Value& table) { return b_.op("take", {table, tokens}, {{"axis", 0}}); };
    if (w.bits == 0) return take(p.codes);
    Value codes = b_.op("bitcast", {take(p.codes)}, {{"dtype", DType::uint8}});
    if (w.bits == 4) {  // two codes a byte, the lower bits first
      const Value low = b_.op("bitwise_and", {codes, b_.constant(std::uint8_t{15})});
      const Value high = b_.op("right_shift", {codes, b_.constant(std::uint8_t{4})});
      codes = b_.op("stack", {low, high}, {{"axis", 3}});
    }
    codes = b_.op("astype", {codes}, {{"dtype", DType::float32}});
    const std::int64_t groups = c_.width / w.group_size;
    codes = reshape(codes, {1, -1, groups, w.group_size});
    const auto per_group = [&](const Value& table) { return reshape(take(table), {1, -1, groups, 1}); };
    return reshape(codes * per_group(p.scales) + per_group(p.biases), {1, -1, c_.width});
  }

  Value rotate(const Value& x) {
    if (freqs_) {
      return b_.op("fast_rope_with_freqs_positions", {x, positions_, *freqs_},
                   {{"dims", c_.rope_dims}, {"traditional", false}, {"scale", c_.rope_scale}});
    }
    return b_.op("fast_rope_positions", {x, positions_},
                 {{"dims", c_.rope_dims}, {"traditional", false}, {"base", c_.rope_base}, {"scale", c_.rope_scale}});
  }

  Value attention(const LlamaLayer& layer, const Value& x, const Value& k_cache, const Value& v_cache,
                  std::vector<Value>& new_caches) {
    const auto heads = [&](const LinearWeight& w, std::int64_t n) {
      return reshape(linear(x, w), {1, -1, n, c_.head_width});
    };
    const Value q = rotate(heads(layer.q, c_.heads));
    const Value k = rotate(heads(layer.k, c_.kv_heads));
    const Value v = heads(layer.v, c_.kv_heads);
    const double scale = 1.0 / std::sqrt(static_cast<double>(c_.head_width));
    const std::vector<Value> out = b_.ops("kv_cache_sdpa_update", {q, k, v, k_cache, v_cache, start_, key_mask_},
                                          {{"scale", scale}, {"kv_offset", -1}});
    new_caches.push_back(out[1]);
    new_caches.push_back(out[2]);
    const Value merged = b_.op("transpose", {out[0]}, {{"axes", {0, 2, 1, 3}}});
    return linear(reshape(merged, {1, -1, c_.heads * c_.head_width}), layer.o);
  }

  Value feed_forward(const LlamaLayer& layer, const Value& x) {
    return linear(b_.op("fast_swiglu", {linear(x, layer.gate), linear(x, layer.up)}), layer.down);
  }

  const LlamaConfig& c_;
  const LlamaWeights& w_;
  const LlamaProgramOptions& options_;
  Builder b_;
  Value positions_;
  Value start_;
  Value key_mask_;
  std::optional<Value> freqs_;
  std::unordered_map<const void*, std::optional<Packed>> packed_;
};

}  // namespace

Result<Program> llama_program(const LlamaConfig& config, const LlamaWeights& weights,
                              const LlamaProgramOptions& options) {
  if (options.capacity < 1 || options.capacity > config.context) {
    return make_error(ErrorCode::invalid_argument, "capacity is {}; wanted 1 to {}, the model's context",
                      options.capacity, config.context);
  }
  return LlamaBuilder(config, weights, options).build();
}

std::size_t leading_inputs(Logits logits) { return logits == Logits::last ? 3 : 2; }

}  // namespace reprise
