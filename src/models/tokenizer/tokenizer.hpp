// Text to token ids and back: byte-level BPE, as in GPT-2 and its heirs.
//
//   REPRISE_ASSIGN(const Tokenizer tokenizer, Tokenizer::make(std::move(spec)));
//   REPRISE_ASSIGN(const std::vector<std::int32_t> ids, tokenizer.encode("Hello world", {.add_special = true}));
//   REPRISE_ASSIGN(const std::string text, tokenizer.decode(ids));
//
// The ids are those of the Hugging Face `tokenizers` package, with these rules where the two have a choice:
// - Any bytes are taken. Invalid UTF-8 counts as symbols and keeps its bytes, so that decode(encode(x)) == x for every
//   x, provided that the vocabulary has a token for each of the 256 bytes. Bytes without one are dropped before the
//   merges, and counted in the EncodeReport.
// - Text never turns into a control token unless parse_special is set, not even through the vocabulary's own merges.
//   User-defined tokens wait for parse_special as well; Hugging Face and llama.cpp read them in any text.
// - No Unicode normalisation: some models (Qwen2) compose characters (NFC) first, which the caller may do.
// A Tokenizer is a cheap, immutable handle: copy it freely, use it from many threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/status.hpp"

namespace reprise {

/// What a token is; the numbers are those of GGUF.
enum class TokenType : std::int32_t {
  normal = 1,        ///< stored in the byte alphabet of GPT-2
  unknown = 2,       ///< a stand-in for what cannot be encoded; stored as it is
  control = 3,       ///< a marker such as the end of a turn; stored as it is, printed only on request
  user_defined = 4,  ///< added text; stored as it is, printed
  unused = 5,        ///< padding of the vocabulary
  byte = 6,          ///< one byte, stored as <0x0A>
};

/// A vocabulary as files store it. Tokenizer::make checks all of it.
struct TokenizerSpec {
  std::vector<std::string> tokens;
  std::vector<TokenType> types;     ///< one for each token
  std::vector<std::string> merges;  ///< "left right", best first
  std::string pre_tokenizer;        ///< see PreTokenizer::known_names(); empty: GPT-2's pattern
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
  std::optional<std::int32_t> eot;
  std::optional<std::int32_t> unk;
  std::optional<std::int32_t> pad;
  std::optional<bool> add_bos;  ///< absent: what models with this pre-tokenizer usually do
  bool add_eos = false;
  std::vector<std::int32_t> extra_ends;  ///< further ids that end a generation
  std::string chat_template;             ///< Jinja text; empty if the model has none
};

struct EncodeOptions {
  bool add_special = false;    ///< add BOS and EOS as the vocabulary asks
  bool parse_special = false;  ///< read control and user-defined tokens that are spelled out in the text
};

/// What a caller may want to tell the user after an encode.
struct EncodeReport {
  bool had_bos = false;            ///< the text began with BOS already, so none was added
  bool had_eos = false;            ///< the text ended with EOS already, so none was added
  std::int64_t dropped_bytes = 0;  ///< bytes for which the vocabulary has no token

  /// One line each; empty if there is nothing to say.
  std::vector<std::string> warnings() const;
};

struct DecodeOptions {
  bool print_special = false;  ///< print control, unknown and unused tokens too
};

/// A stretch of text that is either plain or exactly one special token.
struct TextSegment {
  std::string text;
  bool special = false;

  bool operator==(const TextSegment&) const = default;
};

class Tokenizer {
 public:
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 26;  // bounds the working memory to some 2 GiB

  static Result<Tokenizer> make(TokenizerSpec spec);

  Result<std::vector<std::int32_t>> encode(std::string_view text, EncodeOptions options = {},
                                           EncodeReport* report = nullptr) const;

  /// Encodes a text of which only the special segments may become special tokens; parse_special has no effect. Adjacent
  /// plain segments count as one text.
  Result<std::vector<std::int32_t>> encode(std::span<const TextSegment> segments, EncodeOptions options = {},
                                           EncodeReport* report = nullptr) const;

  /// The bytes of the tokens, joined: perhaps not valid UTF-8. To print while generating, use StreamDecoder.
  Result<std::string> decode(std::span<const std::int32_t> ids, DecodeOptions options = {}) const;

  /// The bytes that one token prints, nothing for those that are not printed. Lives as long as the tokenizer.
  Result<std::string_view> piece(std::int32_t id, DecodeOptions options = {}) const;

  std::int32_t size() const;
  TokenType type(std::int32_t id) const;  ///< `id` must be in range
  std::optional<std::int32_t> bos() const;
  std::optional<std::int32_t> eos() const;
  std::optional<std::int32_t> pad() const;
  bool adds_bos() const;

  /// The id of a control, unknown or user-defined token by its text.
  std::optional<std::int32_t> find_special(std::string_view text) const;

  /// Whether a generation stops at `id`: EOS, end of turn, or one of the extra ends.
  bool is_end(std::int32_t id) const;
  const std::vector<std::int32_t>& ends() const;  ///< sorted

  const std::string& chat_template() const;

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace reprise
