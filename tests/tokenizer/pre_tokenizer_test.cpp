#include "models/tokenizer/pre_tokenizer.hpp"

#include <gtest/gtest.h>

namespace reprise {
namespace {

using Words = std::vector<std::string_view>;

Words split(std::string_view name, std::string_view text) {
  Words words;
  PreTokenizer::make(name).value().split(text, words);
  return words;
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(split("gpt-2", "Hello world's  1234 !?\n\nx "),
            (Words{"Hello", " world", "'s", " ", " 1234", " !?", "\n", "\n", "x", " "}));
  EXPECT_EQ(split("gpt-2", "I'LL we'll '"), (Words{"I", "'", "LL", " we", "'ll", " '"}));
  EXPECT_EQ(split("", "a 12"), split("gpt-2", "a 12"));
  EXPECT_EQ(split("default", "a 12"), (Words{"a", " 12"}));
  EXPECT_EQ(split("gpt-2", ""), Words{});
}

TEST(PreTokenizer, OneDigitAtATime) {
  for (const char* name : {"smollm", "starcoder", "refact", "command-r"}) {
    EXPECT_EQ(split(name, "a  42.5"), (Words{"a", "  ", "4", "2", ".", "5"})) << name;
  }
  EXPECT_EQ(split("smollm", "x\u0663\u00BD\u216B"), (Words{"x", "\u0663", "\u00BD", "\u216B"}));
}

TEST(PreTokenizer, Llama3) {
  for (const char* name : {"llama-bpe", "llama3"}) {
    EXPECT_EQ(split(name, "I'LL (see) 12345\n\n  x"),
              (Words{"I", "'LL", " (", "see", ")", " ", "123", "45", "\n\n", " ", " x"}))
        << name;
  }
  EXPECT_EQ(split("llama3", "end.\r\n next"), (Words{"end", ".\r\n", " next"}));
  EXPECT_EQ(split("llama3", " \n \n  "), (Words{" \n \n", "  "}));
}

TEST(PreTokenizer, Qwen2) { EXPECT_EQ(split("qwen2", "a 12"), (Words{"a", " ", "1", "2"})); }

TEST(PreTokenizer, UnicodeSpacesAndBrokenBytes) {
  EXPECT_EQ(split("gpt-2", "a\u00A0\u3000b"), (Words{"a", "\u00A0", "\u3000", "b"}));
  EXPECT_EQ(split("gpt-2", "a\xFF\xFE b"), (Words{"a", "\xFF\xFE", " b"}));
  EXPECT_EQ(split("gpt-2", "\uFEFF\u200B x"), (Words{"\uFEFF\u200B", " x"}));
}

TEST(PreTokenizer, UnknownNamesAreAnErrorThatListsTheKnown) {
  const auto made = PreTokenizer::make("tekken9");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::unsupported);
  EXPECT_NE(made.error().message().find("\"tekken9\""), std::string::npos);
  EXPECT_NE(made.error().message().find("qwen2, refact, smollm, starcoder"), std::string::npos);
}

}  // namespace
}  // namespace reprise
