#include "models/tokenizer/pre_tokenizer.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "base/format.hpp"
#include "models/tokenizer/utf8.hpp"

namespace reprise {
namespace {

struct NamedPattern {
  std::string_view name;
  WordPattern pattern;
  bool whole_words = false;
  bool adds_bos = false;
};

constexpr NamedPattern kNamedPatterns[] = {
    {"codeshell", WordPattern::gpt2_one_digit},
    {"command-r", WordPattern::gpt2_one_digit},
    {"default", WordPattern::gpt2},
    {"exaone", WordPattern::gpt2_one_digit},
    {"gpt-2", WordPattern::gpt2},
    {"llama-bpe", WordPattern::llama3, true, true},
    {"llama-v3", WordPattern::llama3, true, true},
    {"llama3", WordPattern::llama3, true, true},
    {"qwen2", WordPattern::qwen2},
    {"refact", WordPattern::gpt2_one_digit},
    {"smollm", WordPattern::gpt2_one_digit},
    {"starcoder", WordPattern::gpt2_one_digit},
};

enum class CharClass : std::uint8_t { letter, number, space, newline, symbol };

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

CharClass classify(char32_t c) {
  if (c == '\n' || c == '\r') return CharClass::newline;
  if (is_white_space(c)) return CharClass::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return CharClass::number;
    default: return CharClass::symbol;
  }
}

// The text as characters: where each starts and what it is.
class Chars {
 public:
  explicit Chars(std::string_view text) : text_(text) {
    starts_.reserve(text.size() + 1);
    classes_.reserve(text.size());
    for (std::size_t pos = 0; pos < text.size();) {
      const Utf8Char c = read_utf8(text, pos);
      starts_.push_back(static_cast<std::uint32_t>(pos));
      classes_.push_back(c.status == Utf8Status::valid ? classify(c.code_point) : CharClass::symbol);
      pos += c.length;
    }
    starts_.push_back(static_cast<std::uint32_t>(text.size()));
  }

  std::size_t count() const { return classes_.size(); }
  CharClass kind(std::size_t i) const { return classes_[i]; }
  bool is_blank(std::size_t i) const { return classes_[i] == CharClass::space || classes_[i] == CharClass::newline; }
  std::string_view slice(std::size_t begin, std::size_t end) const {
    return text_.substr(starts_[begin], starts_[end] - starts_[begin]);
  }
  /// The first byte of character i: the character itself where it is ASCII.
  char byte(std::size_t i) const { return text_[starts_[i]]; }

  /// The end of the run of `wanted` characters that starts at `i` and goes no further than `end`.
  std::size_t run(std::size_t i, std::size_t end, CharClass wanted) const {
    while (i < end && classes_[i] == wanted) ++i;
    return i;
  }

 private:
  std::string_view text_;
  std::vector<std::uint32_t> starts_;
  std::vector<CharClass> classes_;
};

// The matchers below take the characters [begin, end), begin < end, as the whole text and return the end of the first
// word, which is never empty.

// 's 't 'm 'd 're 've 'll; returns `begin` if there is none.
std::size_t match_contraction(const Chars& chars, std::size_t begin, std::size_t end, bool any_case) {
  if (chars.byte(begin) != '\'' || begin + 1 >= end) return begin;
  const auto letter = [&](std::size_t i) {
    const char c = chars.byte(i);
    if (any_case && chars.slice(i, i + 1) == "\u017F") return 's';  // the long s folds to s
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(begin + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
  if (begin + 2 >= end) return begin;
  const char second = letter(begin + 2);
  const bool found =
      (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
  return found ? begin + 3 : begin;
}

// \s+(?!\S)|\s+ : a run of spaces leaves its last one to the word that follows.
std::size_t match_spaces(const Chars& chars, std::size_t begin, std::size_t end) {
  std::size_t i = begin;
  while (i < end && chars.is_blank(i)) ++i;
  return i == end || i == begin + 1 ? i : i - 1;
}

std::size_t match_gpt2(const Chars& chars, std::size_t begin, std::size_t end) {
  if (const std::size_t i = match_contraction(chars, begin, end, false); i > begin) return i;
  const std::size_t core = chars.byte(begin) == ' ' && begin + 1 < end ? begin + 1 : begin;
  if (chars.is_blank(core)) return match_spaces(chars, begin, end);
  return chars.run(core, end, chars.kind(core));
}

std::size_t match_lines(const Chars& chars, std::size_t begin, std::size_t end, std::size_t numerals) {
  if (const std::size_t i = match_contraction(chars, begin, end, true); i > begin) return i;
  const CharClass kind = chars.kind(begin);
  const auto class_at = [&](std::size_t i) { return i < end ? chars.kind(i) : CharClass::newline; };
  // [^\r\n\p{L}\p{N}]?\p{L}+
  if (kind == CharClass::letter) return chars.run(begin, end, CharClass::letter);
  if ((kind == CharClass::space || kind == CharClass::symbol) && class_at(begin + 1) == CharClass::letter) {
    return chars.run(begin + 1, end, CharClass::letter);
  }
  if (kind == CharClass::number) return chars.run(begin, std::min(end, begin + numerals), CharClass::number);
  //  ?[^\s\p{L}\p{N}]+[\r\n]*
  const std::size_t core = chars.byte(begin) == ' ' ? begin + 1 : begin;
  if (class_at(core) == CharClass::symbol) {
    return chars.run(chars.run(core, end, CharClass::symbol), end, CharClass::newline);
  }
  // \s*[\r\n]+ : up to the last line end among the spaces.
  std::size_t after_newline = begin;
  for (std::size_t i = begin; i < end && chars.is_blank(i); ++i) {
    if (chars.kind(i) == CharClass::newline) after_newline = i + 1;
  }
  return after_newline > begin ? after_newline : match_spaces(chars, begin, end);
}

template <typename Match>
void split_range(const Chars& chars, std::size_t begin, std::size_t end, std::vector<std::string_view>& words,
                 Match match) {
  while (begin < end) {
    const std::size_t next = match(chars, begin, end);
    words.push_back(chars.slice(begin, next));
    begin = next;
  }
}

}  // namespace

Result<PreTokenizer> PreTokenizer::make(std::string_view name) {
  if (name.empty()) name = "default";
  for (const NamedPattern& row : kNamedPatterns) {
    if (row.name == name) return PreTokenizer(row.pattern, row.whole_words, row.adds_bos);
  }
  return make_error(ErrorCode::unsupported, "tokenizer: pre-tokenizer \"{}\" is not known; known are {}", name,
                    known_names());
}

std::string PreTokenizer::known_names() {
  std::string names;
  for (const NamedPattern& row : kNamedPatterns) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& words) const {
  const Chars chars(text);
  const std::size_t count = chars.count();
  switch (pattern_) {
    case WordPattern::gpt2: return split_range(chars, 0, count, words, match_gpt2);
    case WordPattern::gpt2_one_digit:
      for (std::size_t begin = 0; begin < count;) {
        std::size_t end = begin;
        while (end < count && chars.kind(end) != CharClass::number) ++end;
        split_range(chars, begin, end, words, match_gpt2);
        if (end < count) words.push_back(chars.slice(end, end + 1));
        begin = end + 1;
      }
      return;
    case WordPattern::llama3:
    case WordPattern::qwen2: {
      const std::size_t numerals = pattern_ == WordPattern::llama3 ? 3 : 1;
      return split_range(chars, 0, count, words, [numerals](const Chars& c, std::size_t begin, std::size_t end) {
        return match_lines(c, begin, end, numerals);
      });
    }
  }
}

}  // namespace reprise
