// Cuts text into the words that byte-pair merges may not cross.
//
//   REPRISE_ASSIGN(const PreTokenizer pre, PreTokenizer::make("smollm"));
//   std::vector<std::string_view> words;
//   pre.split("Hello world 42", words);   // "Hello", " world", " ", "4", "2"
//
// Each pattern is a regular expression of the Hugging Face tokenizers, written out as a matcher that never backtracks.
// \p{L} and \p{N} are Unicode categories, \s is White_Space. Invalid UTF-8 counts as a symbol: neither letter, number
// nor space. Nothing is dropped: the words joined are the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reprise/status.hpp"

namespace reprise {

enum class WordPattern {
  gpt2,            ///< contractions in lower case, " letters", " numbers", " symbols", spaces
  gpt2_one_digit,  ///< each numeral alone, gpt2 between them
  llama3,  ///< contractions in any case, letters with one symbol or space in front, one to three numerals, lines
  qwen2,   ///< llama3 with each numeral alone
};

class PreTokenizer {
 public:
  /// By the name that GGUF files give in `tokenizer.ggml.pre`; empty counts as "default", which is GPT-2's pattern.
  static Result<PreTokenizer> make(std::string_view name);

  /// The known names, for messages: "command-r, default, ...".
  static std::string known_names();

  /// Appends the words of `text` (under 4 GiB) to `words`.
  void split(std::string_view text, std::vector<std::string_view>& words) const;

  /// A word that is itself a token is taken whole, without merges.
  bool takes_whole_words() const { return whole_words_; }

  /// Whether models of this kind begin texts with BOS when their file does not say.
  bool usually_adds_bos() const { return adds_bos_; }

 private:
  PreTokenizer(WordPattern pattern, bool whole_words, bool adds_bos)
      : pattern_(pattern), whole_words_(whole_words), adds_bos_(adds_bos) {}

  WordPattern pattern_;
  bool whole_words_;
  bool adds_bos_;
};

}  // namespace reprise
