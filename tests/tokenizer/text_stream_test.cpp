#include "models/tokenizer/text_stream.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tokenizer/small_vocabulary.hpp"

namespace reprise {
namespace {

using test::small_spec;
using test::small_tokenizer;

constexpr const char* kMark = "\xEF\xBF\xBD";

TEST(StreamDecoder, B163HalfCharactersAreHeldBack) {
  TokenizerSpec spec = small_spec();
  for (const char* bytes : {"\xF0\x9F", "\xA6\x99"}) {
    std::string token;
    for (const char* b = bytes; *b != 0; ++b) token += byte_to_symbol_text(static_cast<std::uint8_t>(*b));
    spec.tokens.push_back(token);
    spec.types.push_back(TokenType::normal);
  }
  StreamDecoder decoder(Tokenizer::make(spec).value());
  EXPECT_EQ(decoder.feed(267).value(), "");
  EXPECT_EQ(decoder.feed(268).value(), "\U0001F999");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, B163APartialCharacterIsNoCrash) {
  const Tokenizer t = small_tokenizer();
  const auto ids = t.encode("\xE6\xAD").value();
  EXPECT_EQ(t.decode(ids).value(), "\xE6\xAD");
  StreamDecoder decoder(t);
  std::string text;
  for (const auto id : ids) text += decoder.feed(id).value();
  EXPECT_EQ(text, "");
  EXPECT_EQ(decoder.finish(), kMark);
  EXPECT_EQ(decoder.feed('a').value(), "a");
}

TEST(StreamDecoder, InvalidBytesAndControlTokens) {
  StreamDecoder decoder(small_tokenizer());
  EXPECT_EQ(decoder.feed(0xFF).value(), kMark);
  EXPECT_EQ(decoder.feed(0xE6).value(), "");
  EXPECT_EQ(decoder.feed(test::kEnd).value(), "");
  EXPECT_EQ(decoder.feed(test::kAb).value(), std::string(kMark) + "ab");
  EXPECT_FALSE(decoder.feed(9999).ok());
  StreamDecoder all(small_tokenizer(), {.print_special = true});
  EXPECT_EQ(all.feed(test::kEnd).value(), "<|im_end|>");
}

TEST(StopMatcher, HoldsBackWhatMayBecomeAStop) {
  StopMatcher stop = StopMatcher::make({"\nUser:"}).value();
  EXPECT_EQ(stop.feed("Yes.\nUs"), "Yes.");
  EXPECT_EQ(stop.feed("ed\n"), "\nUsed");
  EXPECT_EQ(stop.feed("\n"), "\n");
  EXPECT_EQ(stop.feed("User"), "");
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.feed(": more"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.feed("x"), "");
  EXPECT_EQ(stop.finish(), "");
}

TEST(StopMatcher, GivesBackWhatWasHeldAtTheEnd) {
  StopMatcher stop = StopMatcher::make({"abab"}).value();
  EXPECT_EQ(stop.feed("xaba"), "x");
  EXPECT_EQ(stop.finish(), "aba");
  EXPECT_EQ(stop.feed("babx"), "babx");
}

TEST(StopMatcher, TheFirstCompleteStopWins) {
  StopMatcher stop = StopMatcher::make({"abcd", "bc", "c"}).value();
  EXPECT_EQ(stop.feed("xabcd"), "xa");
  StopMatcher none = StopMatcher::make({}).value();
  EXPECT_EQ(none.feed("abc"), "abc");
}

TEST(StopMatcher, RefusesEmptyAndBrokenStops) {
  EXPECT_EQ(StopMatcher::make({"a", ""}).error().message(), "stop string 1 is empty, at least one character is wanted");
  EXPECT_FALSE(StopMatcher::make({"\xFF"}).ok());
}

TEST(StopMatcher, CutsMakeNoDifference) {
  const std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5000; ++round) {
    const auto word = [&](std::size_t most) {
      std::string text(1 + random() % most, 'a');
      for (char& c : text) c = static_cast<char>('a' + random() % 2);
      return text;
    };
    const std::string text = word(30);
    const std::vector<std::string> stops = {word(5), word(5), word(5)};
    // The plain meaning: the shortest prefix that ends in a stop, less the longest such stop.
    std::string wanted = text;
    bool ends = false;
    for (std::size_t end = 1; end <= text.size() && !ends; ++end) {
      std::size_t longest = 0;
      for (const std::string& s : stops) {
        if (std::string_view(text).substr(0, end).ends_with(s)) longest = std::max(longest, s.size());
      }
      ends = longest > 0;
      if (ends) wanted = text.substr(0, end - longest);
    }
    StopMatcher stop = StopMatcher::make(stops).value();
    std::string got;
    for (std::size_t pos = 0; pos < text.size();) {
      const std::size_t size = 1 + random() % 4;
      got += stop.feed(std::string_view(text).substr(pos, size));
      pos += size;
    }
    got += stop.finish();
    EXPECT_EQ(got, wanted) << "seed " << seed << " round " << round;
    EXPECT_EQ(stop.stopped(), ends);
  }
}

TEST(TextStream, B164StopsAtEitherEndToken) {
  TokenizerSpec spec = small_spec();
  spec.extra_ends = {test::kUserDefined, test::kEos};
  const Tokenizer t = Tokenizer::make(spec).value();
  EXPECT_EQ(t.ends(), (std::vector<std::int32_t>{test::kEos, test::kEnd, test::kUserDefined}));
  for (const std::int32_t end : {test::kEos, test::kEnd, test::kUserDefined}) {
    TextStream stream = TextStream::make(t, {.decode = {.print_special = true}}).value();
    EXPECT_EQ(stream.feed(test::kAbc).value(), "abc");
    EXPECT_FALSE(stream.stopped());
    EXPECT_EQ(stream.feed(end).value(), "");
    EXPECT_EQ(stream.reason(), StopReason::end_token);
    EXPECT_EQ(stream.feed(test::kAbc).value(), "");
    EXPECT_EQ(stream.finish(), "");
  }
}

TEST(TextStream, B164StopTextOverTwoTokensIsNotPrinted) {
  TextStream stream = TextStream::make(small_tokenizer(), {.stop = {"bca"}}).value();
  EXPECT_EQ(stream.feed(test::kAbc).value(), "a");
  EXPECT_EQ(stream.feed(test::kAb).value(), "");
  EXPECT_EQ(stream.reason(), StopReason::stop_string);
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, HeldTextComesAtTheEnd) {
  TextStream stream = TextStream::make(small_tokenizer(), {.stop = {"bcd"}}).value();
  EXPECT_EQ(stream.feed(test::kAbc).value(), "a");
  EXPECT_EQ(stream.feed(test::kEos).value(), "");
  EXPECT_EQ(stream.finish(), "bc");
  EXPECT_EQ(stream.reason(), StopReason::end_token);
  TextStream on = TextStream::make(small_tokenizer(), {.ignore_end_tokens = true}).value();
  EXPECT_EQ(on.feed(test::kEos).value(), "");
  EXPECT_EQ(on.feed(0xE6).value(), "");
  EXPECT_FALSE(on.stopped());
  EXPECT_EQ(on.finish(), kMark);
}

}  // namespace
}  // namespace reprise
