#include "models/tokenizer/text_stream.hpp"

namespace reprise {

Result<std::string> StreamDecoder::feed(std::int32_t id) {
  REPRISE_ASSIGN(const std::string_view bytes, tokenizer_.piece(id, options_));
  return repair_.feed(bytes);
}

Result<TextStream> TextStream::make(Tokenizer tokenizer, TextStreamOptions options) {
  REPRISE_ASSIGN(StopMatcher stop, StopMatcher::make(std::move(options.stop)));
  return TextStream(std::move(tokenizer), std::move(stop), options.decode, options.ignore_end_tokens);
}

Result<std::string> TextStream::feed(std::int32_t id) {
  if (stopped()) return std::string();
  if (!ignore_end_tokens_ && tokenizer_.is_end(id)) {
    reason_ = StopReason::end_token;
    return std::string();
  }
  REPRISE_ASSIGN(const std::string text, decoder_.feed(id));
  std::string out = stop_.feed(text);
  if (stop_.stopped()) reason_ = StopReason::stop_string;
  return out;
}

std::string TextStream::finish() {
  if (stop_.stopped()) return {};
  // The mark for half a character is text as well and may complete a stop string.
  std::string out = stop_.feed(decoder_.finish());
  if (stop_.stopped()) {
    reason_ = StopReason::stop_string;
  } else {
    out += stop_.finish();
  }
  return out;
}

}  // namespace reprise
