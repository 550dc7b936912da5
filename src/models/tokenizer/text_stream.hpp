// Tokens to text while they are generated.
//
//   StreamDecoder decoder(tokenizer);
//   decoder.feed(id);     // the characters that this token completes: whole ones only
//   decoder.finish();     // what is left
//
//   REPRISE_ASSIGN(TextStream stream, TextStream::make(tokenizer, {.stop = {"\nUser:"}}));
//   while (!stream.stopped()) {
//     REPRISE_ASSIGN(const std::string text, stream.feed(next_token()));
//     print(text);
//   }
//   print(stream.finish());
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/tokenizer/stop_matcher.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "models/tokenizer/utf8.hpp"
#include "reprise/status.hpp"

namespace reprise {

/// Tokens to whole UTF-8 characters. Half a character is held back until it is complete; bytes that can no longer
/// become one are U+FFFD.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, DecodeOptions options = {})
      : tokenizer_(std::move(tokenizer)), options_(options) {}

  Result<std::string> feed(std::int32_t id);
  std::string finish() { return repair_.finish(); }

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  Utf8Repair repair_;
};

struct TextStreamOptions {
  std::vector<std::string> stop;  ///< end the text before the first of these
  DecodeOptions decode;
  bool ignore_end_tokens = false;  ///< go on after EOS and the like
};

enum class StopReason { none, end_token, stop_string };

/// A StreamDecoder that also notices where the text ends: at any end token of the vocabulary, or at a stop string.
class TextStream {
 public:
  static Result<TextStream> make(Tokenizer tokenizer, TextStreamOptions options = {});

  /// The text to print now. An end token is not printed; after a stop nothing is.
  Result<std::string> feed(std::int32_t id);

  /// The text that was held back; nothing after a stop string.
  std::string finish();

  bool stopped() const { return reason_ != StopReason::none; }
  StopReason reason() const { return reason_; }

 private:
  TextStream(Tokenizer tokenizer, StopMatcher stop, DecodeOptions decode, bool ignore_end_tokens)
      : tokenizer_(tokenizer),
        decoder_(std::move(tokenizer), decode),
        stop_(std::move(stop)),
        ignore_end_tokens_(ignore_end_tokens) {}

  Tokenizer tokenizer_;
  StreamDecoder decoder_;
  StopMatcher stop_;
  bool ignore_end_tokens_;
  StopReason reason_ = StopReason::none;
};

}  // namespace reprise
