#include "models/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/format.hpp"
#include "models/tokenizer/bpe.hpp"
#include "models/tokenizer/byte_alphabet.hpp"
#include "models/tokenizer/pre_tokenizer.hpp"
#include "models/tokenizer/special_matcher.hpp"

namespace reprise {
namespace {

/// Finding special tokens costs up to the text times the longest of them.
constexpr std::size_t kMaxSpecialBytes = 1024;

constexpr std::int32_t kNoToken = -1;
constexpr std::size_t kMaxTokens = std::size_t{1} << 24;  // far above any vocabulary; ids and ranks stay small

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using TextIndex = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

bool is_special(TokenType type) {
  return type == TokenType::control || type == TokenType::unknown || type == TokenType::user_defined;
}

bool is_hidden(TokenType type) {
  return type == TokenType::control || type == TokenType::unknown || type == TokenType::unused;
}

// <0x0A>
std::optional<std::uint8_t> byte_token_value(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'A' && c <= 'F') && !(c >= 'a' && c <= 'f')) return std::nullopt;
    value = value * 16 + (digit ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return static_cast<std::uint8_t>(value);
}

Status check_id(std::string_view what, std::optional<std::int32_t> id, std::size_t count) {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < count)) return {};
  return make_error(ErrorCode::invalid_argument, "tokenizer: {} id is {}, the vocabulary has ids 0 to {}", what, *id,
                    count - 1);
}

Status check_counts(const TokenizerSpec& spec) {
  if (spec.tokens.empty()) {
    return Error(ErrorCode::invalid_argument, "tokenizer: the vocabulary is empty, at least one token is wanted");
  }
  if (spec.tokens.size() > kMaxTokens || spec.merges.size() > kMaxTokens) {
    return make_error(ErrorCode::limit, "tokenizer: {} tokens and {} merges, at most {} of each are taken",
                      spec.tokens.size(), spec.merges.size(), kMaxTokens);
  }
  if (spec.types.size() != spec.tokens.size()) {
    return make_error(ErrorCode::invalid_argument, "tokenizer: {} token types for {} tokens, one for each is wanted",
                      spec.types.size(), spec.tokens.size());
  }
  for (std::size_t i = 0; i < spec.types.size(); ++i) {
    const auto type = static_cast<std::int32_t>(spec.types[i]);
    if (type < 1 || type > 6) {
      return make_error(ErrorCode::invalid_argument, "tokenizer: token {} has type {}, 1 to 6 are known", i, type);
    }
  }
  return {};
}

Status check_ids(const TokenizerSpec& spec) {
  const std::size_t count = spec.tokens.size();
  REPRISE_RETURN_IF_ERROR(check_id("bos", spec.bos, count));
  REPRISE_RETURN_IF_ERROR(check_id("eos", spec.eos, count));
  REPRISE_RETURN_IF_ERROR(check_id("eot", spec.eot, count));
  REPRISE_RETURN_IF_ERROR(check_id("unk", spec.unk, count));
  REPRISE_RETURN_IF_ERROR(check_id("pad", spec.pad, count));
  for (const std::int32_t id : spec.extra_ends) REPRISE_RETURN_IF_ERROR(check_id("extra end", id, count));
  return {};
}

}  // namespace

struct Tokenizer::State {
  TokenizerSpec spec;  // its tokens and merges are given up once they are indexed
  PreTokenizer pre;
  std::vector<TokenType> types;
  std::vector<std::string> pieces;  // what each token prints, hidden or not
  std::array<std::int32_t, 256> byte_ids{};
  TextIndex words;  // bytes to id, only if the pre-tokenizer takes whole words
  TextIndex special_ids;
  SpecialMatcher specials;
  BpeMerges merges;
  std::vector<std::int32_t> ends;
  bool adds_bos = false;

  explicit State(PreTokenizer pre_tokenizer) : pre(pre_tokenizer) {}

  Status fill(TokenizerSpec given);
  Status add_piece(std::size_t id, TokenType type, const std::string& text);
  Status add_merges(const TextIndex& index);

  // Memory of one call.
  struct Run {
    std::vector<std::int32_t> ids;
    std::vector<std::string_view> words;
    std::vector<std::int32_t> symbols;
    BpeMerges::Workspace workspace;
    EncodeReport report;
  };
  void append_text(std::string_view text, Run& run) const;
  void append_word(std::string_view word, Run& run) const;
  // Fills in BOS and EOS around what `append` adds.
  template <typename Append>
  Result<std::vector<std::int32_t>> run_encode(EncodeOptions options, EncodeReport* report, Append append) const;
};

Status Tokenizer::State::add_piece(std::size_t id, TokenType type, const std::string& text) {
  const auto token = static_cast<std::int32_t>(id);
  if (is_special(type)) {
    if (text.size() > kMaxSpecialBytes) {
      return make_error(ErrorCode::invalid_argument, "tokenizer: special token {} has {} bytes, at most {} are wanted",
                        id, text.size(), kMaxSpecialBytes);
    }
    specials.add(text, token);
    special_ids.emplace(text, token);
  }
  if (type == TokenType::byte) {
    const auto value = byte_token_value(text);
    if (!value) {
      return make_error(ErrorCode::invalid_argument, "tokenizer: byte token {} is \"{}\", <0x00> to <0xFF> is wanted",
                        id, text);
    }
    pieces.emplace_back(1, static_cast<char>(*value));
  } else if (type == TokenType::normal) {
    // Some files hold added tokens as normal ones; what is not in the byte alphabet stands for itself.
    pieces.push_back(bytes_of(text).value_or(text));
    if (pre.takes_whole_words()) words.emplace(pieces.back(), token);
  } else {
    pieces.push_back(text);
  }
  return {};
}

Status Tokenizer::State::add_merges(const TextIndex& index) {
  merges.reserve(spec.merges.size());
  for (std::size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const std::string_view text = spec.merges[rank];
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string_view::npos) {
      return make_error(ErrorCode::invalid_argument,
                        "tokenizer: merge {} is \"{}\", two tokens with one space between them are wanted", rank, text);
    }
    const std::string_view left = text.substr(0, space);
    const std::string_view right = text.substr(space + 1);
    const auto find = [&index](std::string_view token) {
      const auto found = index.find(token);
      return found == index.end() ? kNoToken : found->second;
    };
    std::string joined(left);
    joined += right;
    const BpeMerges::Merge merge{find(left), find(right), find(joined)};
    for (const auto& [id, token] : {std::pair(merge.left, left), std::pair(merge.right, right),
                                    std::pair(merge.result, std::string_view(joined))}) {
      if (id == kNoToken) {
        return make_error(ErrorCode::invalid_argument,
                          "tokenizer: merge {} is \"{}\", but \"{}\" is not in the vocabulary", rank, text, token);
      }
    }
    if (types[static_cast<std::size_t>(merge.result)] == TokenType::control) continue;
    if (!merges.add(merge)) {
      return make_error(ErrorCode::invalid_argument, "tokenizer: merge {} is \"{}\", which stands there twice", rank,
                        text);
    }
  }
  return {};
}

Status Tokenizer::State::fill(TokenizerSpec given) {
  spec = std::move(given);
  REPRISE_RETURN_IF_ERROR(check_counts(spec));
  REPRISE_RETURN_IF_ERROR(check_ids(spec));
  types = std::move(spec.types);
  TextIndex index;
  index.reserve(spec.tokens.size());
  pieces.reserve(spec.tokens.size());
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const auto [found, is_new] = index.emplace(spec.tokens[id], static_cast<std::int32_t>(id));
    if (!is_new) {
      return make_error(ErrorCode::invalid_argument, "tokenizer: tokens {} and {} are both \"{}\"", found->second, id,
                        spec.tokens[id]);
    }
    REPRISE_RETURN_IF_ERROR(add_piece(id, types[id], spec.tokens[id]));
  }
  byte_ids.fill(kNoToken);
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    if (types[id] == TokenType::byte) byte_ids[static_cast<unsigned char>(pieces[id][0])] = static_cast<int>(id);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = index.find(byte_to_symbol_text(static_cast<std::uint8_t>(byte)));
    if (found == index.end() || types[static_cast<std::size_t>(found->second)] == TokenType::control) continue;
    byte_ids[static_cast<std::size_t>(byte)] = found->second;
  }
  REPRISE_RETURN_IF_ERROR(add_merges(index));
  spec.tokens = {};
  spec.merges = {};
  ends = spec.extra_ends;
  if (spec.eos) ends.push_back(*spec.eos);
  if (spec.eot) ends.push_back(*spec.eot);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  adds_bos = spec.bos && spec.add_bos.value_or(pre.usually_adds_bos());
  return {};
}

void Tokenizer::State::append_word(std::string_view word, Run& run) const {
  if (pre.takes_whole_words()) {
    if (const auto found = words.find(word); found != words.end()) {
      run.ids.push_back(found->second);
      return;
    }
  }
  run.symbols.clear();
  for (const char c : word) {
    const std::int32_t id = byte_ids[static_cast<unsigned char>(c)];
    if (id == kNoToken) {
      ++run.report.dropped_bytes;
    } else {
      run.symbols.push_back(id);
    }
  }
  merges.apply(run.symbols, run.workspace);
  run.ids.insert(run.ids.end(), run.symbols.begin(), run.symbols.end());
}

void Tokenizer::State::append_text(std::string_view text, Run& run) const {
  run.words.clear();
  pre.split(text, run.words);
  for (const std::string_view word : run.words) append_word(word, run);
}

template <typename Append>
Result<std::vector<std::int32_t>> Tokenizer::State::run_encode(EncodeOptions options, EncodeReport* report,
                                                               Append append) const {
  Run run;
  REPRISE_RETURN_IF_ERROR(append(run));
  std::vector<std::int32_t>& ids = run.ids;
  if (options.add_special && adds_bos) {
    run.report.had_bos = !ids.empty() && ids.front() == *spec.bos;
    if (!run.report.had_bos) ids.insert(ids.begin(), *spec.bos);
  }
  if (options.add_special && spec.add_eos && spec.eos) {
    run.report.had_eos = !ids.empty() && ids.back() == *spec.eos;
    if (!run.report.had_eos) ids.push_back(*spec.eos);
  }
  if (report != nullptr) *report = run.report;
  return std::move(ids);
}

std::vector<std::string> EncodeReport::warnings() const {
  std::vector<std::string> lines;
  if (had_bos) lines.emplace_back("the text already begins with the BOS token; no second one was added");
  if (had_eos) lines.emplace_back("the text already ends with the EOS token; no second one was added");
  if (dropped_bytes > 0) {
    lines.push_back(
        fmt::format("{} bytes of the text were dropped, the vocabulary has no token for them", dropped_bytes));
  }
  return lines;
}

Result<Tokenizer> Tokenizer::make(TokenizerSpec spec) {
  REPRISE_ASSIGN(const PreTokenizer pre, PreTokenizer::make(spec.pre_tokenizer));
  auto state = std::make_shared<State>(pre);
  REPRISE_RETURN_IF_ERROR(state->fill(std::move(spec)));
  return Tokenizer(std::move(state));
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text, EncodeOptions options,
                                                    EncodeReport* report) const {
  if (text.size() > kMaxTextBytes) {
    return make_error(ErrorCode::limit, "tokenizer: the text has {} bytes, at most {} are taken", text.size(),
                      kMaxTextBytes);
  }
  return state_->run_encode(options, report, [&](State::Run& run) -> Status {
    std::size_t from = 0;
    if (options.parse_special) {
      while (const auto match = state_->specials.find(text, from)) {
        state_->append_text(text.substr(from, match->position - from), run);
        run.ids.push_back(match->id);
        from = match->position + match->length;
      }
    }
    state_->append_text(text.substr(from), run);
    return {};
  });
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::span<const TextSegment> segments, EncodeOptions options,
                                                    EncodeReport* report) const {
  return state_->run_encode(options, report, [&](State::Run& run) -> Status {
    std::string plain;
    for (const TextSegment& segment : segments) {
      if (!segment.special) {
        if (segment.text.size() > kMaxTextBytes - plain.size()) {
          return make_error(ErrorCode::limit, "tokenizer: the text has over {} bytes, no more are taken",
                            kMaxTextBytes);
        }
        plain += segment.text;
        continue;
      }
      const auto id = find_special(segment.text);
      if (!id) {
        return make_error(ErrorCode::unsupported, "tokenizer: \"{}\" is not a special token of this vocabulary",
                          segment.text);
      }
      state_->append_text(plain, run);
      plain.clear();
      run.ids.push_back(*id);
    }
    state_->append_text(plain, run);
    return {};
  });
}

Result<std::string_view> Tokenizer::piece(std::int32_t id, DecodeOptions options) const {
  REPRISE_RETURN_IF_ERROR(check_id("token", id, state_->pieces.size()));
  const auto index = static_cast<std::size_t>(id);
  if (!options.print_special && is_hidden(state_->types[index])) return std::string_view();
  return std::string_view(state_->pieces[index]);
}

Result<std::string> Tokenizer::decode(std::span<const std::int32_t> ids, DecodeOptions options) const {
  std::string text;
  for (const std::int32_t id : ids) {
    REPRISE_ASSIGN(const std::string_view bytes, piece(id, options));
    text += bytes;
  }
  return text;
}

std::int32_t Tokenizer::size() const { return static_cast<std::int32_t>(state_->pieces.size()); }
TokenType Tokenizer::type(std::int32_t id) const { return state_->types[static_cast<std::size_t>(id)]; }
std::optional<std::int32_t> Tokenizer::bos() const { return state_->spec.bos; }
std::optional<std::int32_t> Tokenizer::eos() const { return state_->spec.eos; }
std::optional<std::int32_t> Tokenizer::pad() const { return state_->spec.pad; }
bool Tokenizer::adds_bos() const { return state_->adds_bos; }

std::optional<std::int32_t> Tokenizer::find_special(std::string_view text) const {
  const auto found = state_->special_ids.find(text);
  return found == state_->special_ids.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::is_end(std::int32_t id) const {
  return std::binary_search(state_->ends.begin(), state_->ends.end(), id);
}
const std::vector<std::int32_t>& Tokenizer::ends() const { return state_->ends; }
const std::string& Tokenizer::chat_template() const { return state_->spec.chat_template; }

}  // namespace reprise
