#include "models/tokenizer/tokenizer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tokenizer/small_vocabulary.hpp"

namespace reprise {
namespace {

using test::small_spec;
using test::small_tokenizer;
using Ids = std::vector<std::int32_t>;

Ids encode(const Tokenizer& t, std::string_view text, EncodeOptions options = {}) {
  return t.encode(text, options).value();
}

std::string error_of(TokenizerSpec spec) {
  const auto made = Tokenizer::make(std::move(spec));
  return made.ok() ? "no error" : made.error().message();
}

TEST(Tokenizer, MergesByRankThenFromTheLeft) {
  const Tokenizer t = small_tokenizer();
  EXPECT_EQ(encode(t, ""), Ids{});
  EXPECT_EQ(encode(t, "abc"), Ids{test::kAbc});
  EXPECT_EQ(encode(t, "aab"), (Ids{'a', test::kAb}));
  EXPECT_EQ(encode(t, "aaaaa"), (Ids{test::kAa, test::kAa, 'a'}));
  EXPECT_EQ(encode(t, "ab1c"), (Ids{test::kAb, '1', 'c'}));
}

TEST(Tokenizer, SpecialTokensOnlyWhereAskedFor) {
  const Tokenizer t = small_tokenizer();
  EXPECT_EQ(encode(t, "x<s>"), (Ids{'x', '<', 's', '>'}));
  EXPECT_EQ(encode(t, "[tool]").size(), 6u);
  EXPECT_EQ(encode(t, "x<s>[tool]<|im_end|>", {.parse_special = true}),
            (Ids{'x', test::kBos, test::kUserDefined, test::kEnd}));
  EXPECT_EQ(encode(t, "<|im_end|>>", {.parse_special = true}), Ids{test::kEndLong});
  EXPECT_EQ(encode(t, "<|im_end|<|im_end|>", {.parse_special = true}).back(), test::kEnd);
  EXPECT_EQ(encode(t, "[pad0]", {.parse_special = true}).size(), 6u);
}

TEST(Tokenizer, B149OneBosAndAWarning) {
  TokenizerSpec spec = small_spec();
  spec.add_bos = true;
  const Tokenizer t = Tokenizer::make(spec).value();
  EncodeReport report;
  const EncodeOptions options{.add_special = true, .parse_special = true};
  EXPECT_EQ(t.encode("ab", options, &report).value(), (Ids{test::kBos, test::kAb}));
  EXPECT_TRUE(report.warnings().empty());
  EXPECT_EQ(t.encode("<s>ab", options, &report).value(), (Ids{test::kBos, test::kAb}));
  EXPECT_TRUE(report.had_bos);
  ASSERT_EQ(report.warnings().size(), 1u);
  EXPECT_NE(report.warnings()[0].find("BOS"), std::string::npos);
  EXPECT_EQ(t.encode("<s>", options, &report).value(), Ids{test::kBos});
  EXPECT_EQ(t.encode("", options, &report).value(), Ids{test::kBos});
  EXPECT_FALSE(report.had_bos);
  const std::vector<TextSegment> segments = {{"<s>", true}, {"ab", false}};
  EXPECT_EQ(t.encode(segments, {.add_special = true}, &report).value(), (Ids{test::kBos, test::kAb}));
  EXPECT_TRUE(report.had_bos);
}

TEST(Tokenizer, B149NoBosWithoutABosId) {
  for (const auto add : {std::optional(true), std::optional<bool>()}) {
    TokenizerSpec spec = small_spec();
    spec.pre_tokenizer = "llama-bpe";
    spec.bos = std::nullopt;
    spec.add_bos = add;
    const Tokenizer t = Tokenizer::make(spec).value();
    EXPECT_FALSE(t.adds_bos());
    EXPECT_EQ(encode(t, "ab", {.add_special = true}), Ids{test::kAb});
  }
}

TEST(Tokenizer, BosAndEosAsTheVocabularyAsks) {
  TokenizerSpec spec = small_spec();
  EXPECT_EQ(encode(Tokenizer::make(spec).value(), "ab", {.add_special = true}), Ids{test::kAb});
  spec.pre_tokenizer = "llama-bpe";
  EXPECT_EQ(encode(Tokenizer::make(spec).value(), "ab", {.add_special = true}), (Ids{test::kBos, test::kAb}));
  spec.add_bos = false;
  spec.add_eos = true;
  const Tokenizer t = Tokenizer::make(spec).value();
  EXPECT_EQ(encode(t, "ab", {.add_special = true}), (Ids{test::kAb, test::kEos}));
  EXPECT_EQ(encode(t, "ab"), Ids{test::kAb});
  EncodeReport report;
  EXPECT_EQ(t.encode("ab</s>", {.add_special = true, .parse_special = true}, &report).value(),
            (Ids{test::kAb, test::kEos}));
  EXPECT_TRUE(report.had_eos);
}

TEST(Tokenizer, MissingBytesAreDroppedAndCounted) {
  TokenizerSpec spec = small_spec();
  spec.tokens[4] = "[no byte 4]";
  const Tokenizer t = Tokenizer::make(spec).value();
  EncodeReport report;
  EXPECT_EQ(t.encode("!\x04!\x04", {}, &report).value(), (Ids{'!', '!'}));
  EXPECT_EQ(report.dropped_bytes, 2);
  EXPECT_EQ(report.warnings().size(), 1u);
}

TEST(Tokenizer, ByteTokensStandInForMissingBytes) {
  TokenizerSpec spec = small_spec();
  spec.tokens[4] = "<0x04>";
  spec.types[4] = TokenType::byte;
  const Tokenizer t = Tokenizer::make(spec).value();
  EXPECT_EQ(encode(t, "!\x04"), (Ids{'!', 4}));
  EXPECT_EQ(t.decode(Ids{'!', 4}).value(), "!\x04");
  spec.tokens[4] = "<0x4>";
  EXPECT_NE(error_of(spec).find("byte token 4 is \"<0x4>\""), std::string::npos);
}

TEST(Tokenizer, DecodePrintsControlTokensOnlyWhenAsked) {
  const Tokenizer t = small_tokenizer();
  const Ids ids = {test::kBos, test::kAbc, test::kUserDefined, test::kUnused, test::kSpaces};
  EXPECT_EQ(t.decode(ids).value(), "abc[tool]  ");
  EXPECT_EQ(t.decode(ids, {.print_special = true}).value(), "<s>abc[tool][pad0]  ");
  EXPECT_EQ(t.decode(Ids{267}).error().message(), "tokenizer: token id is 267, the vocabulary has ids 0 to 266");
  EXPECT_FALSE(t.decode(Ids{-1}).ok());
}

TEST(Tokenizer, WholeWordsBeforeMergesForLlama3) {
  TokenizerSpec spec = small_spec();
  spec.tokens.emplace_back("zab");  // no merge makes it
  spec.types.push_back(TokenType::normal);
  EXPECT_EQ(encode(Tokenizer::make(spec).value(), "zab"), (Ids{'z', test::kAb}));
  spec.pre_tokenizer = "llama-bpe";
  EXPECT_EQ(encode(Tokenizer::make(spec).value(), "zab"), Ids{267});
}

TEST(Tokenizer, PlainTextNeverBecomesAControlToken) {
  TokenizerSpec spec = small_spec();
  spec.tokens.emplace_back("bos");
  spec.types.push_back(TokenType::control);
  spec.tokens.emplace_back("bo");
  spec.types.push_back(TokenType::normal);
  spec.merges.emplace_back("b o");
  spec.merges.emplace_back("bo s");
  for (const char* pre : {"smollm", "llama-bpe"}) {
    spec.pre_tokenizer = pre;
    const Tokenizer t = Tokenizer::make(spec).value();
    EXPECT_EQ(encode(t, "bos"), (Ids{268, 's'}));
    EXPECT_EQ(encode(t, "bos", {.parse_special = true}), Ids{267});
  }
}

TEST(Tokenizer, SegmentsKeepPlainTextPlain) {
  const Tokenizer t = small_tokenizer();
  const std::vector<TextSegment> segments = {
      {"<|im_start|>", true}, {"a", false}, {"b<s>", false}, {"<|im_end|>", true}};
  EXPECT_EQ(t.encode(segments).value(), (Ids{test::kStart, test::kAb, '<', 's', '>', test::kEnd}));
  const std::vector<TextSegment> unknown = {{"<|nope|>", true}};
  EXPECT_EQ(t.encode(unknown).error().code(), ErrorCode::unsupported);
}

TEST(Tokenizer, RefusesBrokenVocabularies) {
  EXPECT_EQ(error_of({}), "tokenizer: the vocabulary is empty, at least one token is wanted");
  TokenizerSpec spec = small_spec();
  spec.types.pop_back();
  EXPECT_EQ(error_of(spec), "tokenizer: 266 token types for 267 tokens, one for each is wanted");
  spec = small_spec();
  spec.types[3] = static_cast<TokenType>(7);
  EXPECT_EQ(error_of(spec), "tokenizer: token 3 has type 7, 1 to 6 are known");
  spec = small_spec();
  spec.tokens[257] = "ab";
  EXPECT_EQ(error_of(spec), "tokenizer: tokens 256 and 257 are both \"ab\"");
  spec = small_spec();
  spec.tokens[266] = std::string(1025, 'a');
  spec.types[266] = TokenType::user_defined;
  EXPECT_EQ(error_of(spec), "tokenizer: special token 266 has 1025 bytes, at most 1024 are wanted");
  spec = small_spec();
  spec.bos = 267;
  EXPECT_EQ(error_of(spec), "tokenizer: bos id is 267, the vocabulary has ids 0 to 266");
  spec = small_spec();
  spec.extra_ends = {-1};
  EXPECT_EQ(error_of(spec), "tokenizer: extra end id is -1, the vocabulary has ids 0 to 266");
  for (const char* merge : {"", " ", "ab", "a ", " b", "a b c", "a  b"}) {
    spec = small_spec();
    spec.merges[1] = merge;
    EXPECT_EQ(error_of(spec), std::string("tokenizer: merge 1 is \"") + merge +
                                  "\", two tokens with one space between them are wanted");
  }
  spec = small_spec();
  spec.merges[1] = "ab d";
  EXPECT_EQ(error_of(spec), "tokenizer: merge 1 is \"ab d\", but \"abd\" is not in the vocabulary");
  spec.merges[1] = "xyz d";
  EXPECT_EQ(error_of(spec), "tokenizer: merge 1 is \"xyz d\", but \"xyz\" is not in the vocabulary");
  spec.merges[1] = "a b";
  EXPECT_EQ(error_of(spec), "tokenizer: merge 1 is \"a b\", which stands there twice");
  spec = small_spec();
  spec.pre_tokenizer = "nope";
  EXPECT_NE(error_of(spec).find("pre-tokenizer \"nope\" is not known"), std::string::npos);
}

TEST(Tokenizer, TextHasALimit) {
  const Tokenizer t = small_tokenizer();
  const auto got = t.encode(std::string(Tokenizer::kMaxTextBytes + 1, ' '));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code(), ErrorCode::limit);
}

TEST(Tokenizer, LongWordsTakeNearLinearTime) {
  const Tokenizer t = small_tokenizer();
  std::string specials;
  while (specials.size() < 1'000'000) specials += "<|im_end|";
  for (const std::string& text :
       {std::string(1'000'000, 'a'), std::string(1'000'000, ' '), std::string(1'000'000, '\n'),
        std::string(1'000'000, '1'), std::string(1'000'000, '\''), specials}) {
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = encode(t, text, {.parse_special = true});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(t.decode(ids).value(), text);
    EXPECT_LT(took.count(), 10.0) << text.substr(0, 9);  // quadratic would be hours; sanitizers are slow
    RecordProperty("seconds_" + std::to_string(static_cast<int>(text[1])), std::to_string(took.count()));
  }
}

TEST(Tokenizer, RandomBytesRoundTrip) {
  const std::uint64_t seed = 20260831;
  std::mt19937_64 random(seed);
  for (const char* pre : {"smollm", "gpt-2", "llama-bpe", "qwen2"}) {
    TokenizerSpec spec = small_spec();
    spec.pre_tokenizer = pre;
    const Tokenizer t = Tokenizer::make(spec).value();
    for (int round = 0; round < 3000; ++round) {
      std::string text(random() % 60, '\0');
      // Half of the rounds use few different bytes, so that merges, leads and continuations meet often.
      const std::string_view few = "ab c\n'\xE6\xAD\xF0\x9F\x80\xC2";
      for (char& c : text) c = round % 2 == 0 ? static_cast<char>(random()) : few[random() % few.size()];
      const EncodeOptions options{.parse_special = round % 3 == 0};
      EncodeReport report;
      const Ids ids = t.encode(text, options, &report).value();
      EXPECT_EQ(t.decode(ids, {.print_special = true}).value(), text) << "seed " << seed << " round " << round;
      EXPECT_EQ(report.dropped_bytes, 0);
    }
  }
}

}  // namespace
}  // namespace reprise
