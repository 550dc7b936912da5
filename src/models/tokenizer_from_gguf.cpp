#include "models/tokenizer_from_gguf.hpp"

#include <limits>

#include "base/format.hpp"

namespace reprise {
namespace {

Result<std::vector<std::string>> strings(const gguf::File& file, std::string_view key) {
  REPRISE_ASSIGN(const auto views, file.get_string_array(key));
  return std::vector<std::string>(views.begin(), views.end());
}

Result<std::optional<std::int32_t>> token_id(const gguf::File& file, std::string_view key) {
  if (!file.has(key)) return std::optional<std::int32_t>();
  REPRISE_ASSIGN(const std::int64_t id, file.get_int(key));
  // Some writers store -1 (or the same as an unsigned number) for "none".
  if (id == -1 || id == std::numeric_limits<std::uint32_t>::max()) return std::optional<std::int32_t>();
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) {
    return make_error(ErrorCode::bad_file, "{}: '{}' is {}; wanted a token id", file.path(), key, id);
  }
  return std::optional<std::int32_t>(static_cast<std::int32_t>(id));
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec(const gguf::File& file) {
  REPRISE_ASSIGN(const std::string_view model, file.get_string("tokenizer.ggml.model"));
  if (model != "gpt2") {
    return make_error(ErrorCode::unsupported, "{}: tokenizer model '{}' is not supported; wanted gpt2 (byte-level BPE)",
                      file.path(), model);
  }
  TokenizerSpec spec;
  REPRISE_ASSIGN(spec.tokens, strings(file, "tokenizer.ggml.tokens"));
  REPRISE_ASSIGN(spec.merges, strings(file, "tokenizer.ggml.merges"));
  if (file.has("tokenizer.ggml.token_type")) {
    REPRISE_ASSIGN(const auto types, file.get_int_array("tokenizer.ggml.token_type"));
    for (const std::int64_t type : types) {
      if (type < 1 || type > 6) {
        return make_error(ErrorCode::bad_file, "{}: 'tokenizer.ggml.token_type' has a {}; wanted 1 to 6", file.path(),
                          type);
      }
      spec.types.push_back(static_cast<TokenType>(type));
    }
  } else {
    spec.types.assign(spec.tokens.size(), TokenType::normal);
  }
  if (file.has("tokenizer.ggml.pre")) {
    REPRISE_ASSIGN(const std::string_view pre, file.get_string("tokenizer.ggml.pre"));
    spec.pre_tokenizer = pre;
  }
  REPRISE_ASSIGN(spec.bos, token_id(file, "tokenizer.ggml.bos_token_id"));
  REPRISE_ASSIGN(spec.eos, token_id(file, "tokenizer.ggml.eos_token_id"));
  REPRISE_ASSIGN(spec.eot, token_id(file, "tokenizer.ggml.eot_token_id"));
  REPRISE_ASSIGN(spec.unk, token_id(file, "tokenizer.ggml.unknown_token_id"));
  REPRISE_ASSIGN(spec.pad, token_id(file, "tokenizer.ggml.padding_token_id"));
  if (file.has("tokenizer.ggml.add_bos_token")) {
    REPRISE_ASSIGN(spec.add_bos, file.get_bool("tokenizer.ggml.add_bos_token"));
  }
  REPRISE_ASSIGN(spec.add_eos, file.get_bool_or("tokenizer.ggml.add_eos_token", false));
  if (file.has("tokenizer.chat_template")) {
    REPRISE_ASSIGN(const std::string_view chat, file.get_string("tokenizer.chat_template"));
    spec.chat_template = chat;
  }
  return spec;
}

}  // namespace reprise
