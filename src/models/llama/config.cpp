#include "models/llama/config.hpp"

#include <cmath>
#include <string>

#include "base/format.hpp"

namespace reprise {
namespace {

/// Far above any model; keeps products of two of them within 64 bits.
constexpr std::uint64_t kMaxSize = 1u << 30;

class Reader {
 public:
  explicit Reader(const gguf::File& file) : file_(file) {}

  template <typename... Args>
  Error error(fmt::format_string<Args...> text, Args&&... args) const {
    return Error(ErrorCode::bad_file,
                 fmt::format("{}: ", file_.path()) + fmt::format(text, std::forward<Args>(args)...));
  }

  Result<std::int64_t> size(const std::string& key, std::uint64_t max = kMaxSize) const {
    REPRISE_ASSIGN(const std::uint64_t value, file_.get_uint(key));
    return checked(key, value, max);
  }

  Result<std::int64_t> size_or(const std::string& key, std::int64_t fallback) const {
    REPRISE_ASSIGN(const std::uint64_t value, file_.get_uint_or(key, static_cast<std::uint64_t>(fallback)));
    return checked(key, value, kMaxSize);
  }

  Result<double> positive_or(const std::string& key, double fallback) const {
    REPRISE_ASSIGN(const double value, file_.get_float_or(key, fallback));
    if (!std::isfinite(value) || value <= 0) return error("'{}' is {}; wanted a positive number", key, value);
    return value;
  }

 private:
  Result<std::int64_t> checked(const std::string& key, std::uint64_t value, std::uint64_t max) const {
    if (value < 1 || value > max) return error("'{}' is {}; wanted 1 to {}", key, value, max);
    return static_cast<std::int64_t>(value);
  }

  const gguf::File& file_;
};

// Only the scalings that a constant factor on positions expresses.
Result<double> rope_scale(const gguf::File& file, const Reader& reader) {
  const std::string key = "llama.rope.scaling.type";
  std::string_view type = "none";
  if (file.has(key)) {
    REPRISE_ASSIGN(type, file.get_string(key));
  }
  if (type == "none") return 1.0;
  if (type == "linear") {
    REPRISE_ASSIGN(const double factor, reader.positive_or("llama.rope.scaling.factor", 1.0));
    return 1.0 / factor;
  }
  return make_error(ErrorCode::unsupported, "{}: '{}' is '{}'; none and linear are supported", file.path(), key, type);
}

}  // namespace

Result<LlamaConfig> llama_config(const gguf::File& file) {
  const Reader reader(file);
  REPRISE_ASSIGN(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture != "llama") {
    return make_error(ErrorCode::unsupported, "{}: architecture '{}' is not supported; wanted llama", file.path(),
                      architecture);
  }
  LlamaConfig c;
  REPRISE_ASSIGN(c.layers, reader.size("llama.block_count", 1024));
  REPRISE_ASSIGN(c.context, reader.size("llama.context_length"));
  REPRISE_ASSIGN(c.width, reader.size("llama.embedding_length"));
  REPRISE_ASSIGN(c.hidden, reader.size("llama.feed_forward_length"));
  REPRISE_ASSIGN(c.heads, reader.size("llama.attention.head_count"));
  REPRISE_ASSIGN(c.kv_heads, reader.size_or("llama.attention.head_count_kv", c.heads));
  if (c.heads % c.kv_heads != 0) {
    return reader.error("{} query heads are not a multiple of {} key/value heads", c.heads, c.kv_heads);
  }
  if (!file.has("llama.attention.key_length") && c.width % c.heads != 0) {
    return reader.error("'llama.embedding_length' is {}, not a multiple of {} heads", c.width, c.heads);
  }
  REPRISE_ASSIGN(c.head_width, reader.size_or("llama.attention.key_length", c.width / c.heads));
  REPRISE_ASSIGN(const std::int64_t value_width, reader.size_or("llama.attention.value_length", c.head_width));
  if (value_width != c.head_width) {
    return make_error(ErrorCode::unsupported, "{}: keys have {} features a head and values {}; wanted the same",
                      file.path(), c.head_width, value_width);
  }
  REPRISE_ASSIGN(c.rope_dims, reader.size_or("llama.rope.dimension_count", c.head_width));
  if (c.rope_dims % 2 != 0 || c.rope_dims > c.head_width) {
    return reader.error("'llama.rope.dimension_count' is {}; wanted an even number up to {}", c.rope_dims,
                        c.head_width);
  }
  REPRISE_ASSIGN(c.rope_base, reader.positive_or("llama.rope.freq_base", 10000));
  REPRISE_ASSIGN(c.rope_scale, rope_scale(file, reader));
  REPRISE_ASSIGN(c.norm_eps, reader.positive_or("llama.attention.layer_norm_rms_epsilon", 1e-5));
  if (file.has("llama.expert_count")) {
    REPRISE_ASSIGN(const std::uint64_t experts, file.get_uint("llama.expert_count"));
    if (experts > 0) {
      return make_error(ErrorCode::unsupported, "{}: a mixture of {} experts is not supported", file.path(), experts);
    }
  }
  REPRISE_ASSIGN(const gguf::Tensor* embedding, file.get_tensor("token_embd.weight"));
  if (embedding->shape.size() != 2 || embedding->shape[1] != c.width) {
    return reader.error("tensor 'token_embd.weight' is {}; wanted [vocabulary, {}]", to_string(embedding->shape),
                        c.width);
  }
  c.vocabulary = embedding->shape[0];
  return c;
}

}  // namespace reprise
