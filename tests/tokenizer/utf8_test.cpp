#include "models/tokenizer/utf8.hpp"

#include <gtest/gtest.h>

#include "models/tokenizer/byte_alphabet.hpp"

namespace reprise {
namespace {

constexpr const char* kMark = "\xEF\xBF\xBD";

std::string repair(std::string_view text) {
  Utf8Repair r;
  std::string out = r.feed(text);
  return out + r.finish();
}

TEST(Utf8, ReadsCharactersOfEachLength) {
  const std::string text = "a\u00E9\u20AC\U0001F999";
  std::size_t pos = 0;
  for (const char32_t wanted : {U'a', U'\u00E9', U'\u20AC', U'\U0001F999'}) {
    const Utf8Char c = read_utf8(text, pos);
    EXPECT_EQ(c.status, Utf8Status::valid);
    EXPECT_EQ(c.code_point, wanted);
    pos += c.length;
  }
  EXPECT_EQ(pos, text.size());
}

TEST(Utf8, RefusesWhatIsNotACharacter) {
  for (const char* text : {"\x80", "\xC0\xAF", "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(read_utf8(text, 0).status, Utf8Status::invalid) << text;
    EXPECT_FALSE(is_valid_utf8(text));
  }
  EXPECT_TRUE(is_valid_utf8("\u00E9\uD7FF\uE000\U0010FFFF"));
}

TEST(Utf8, OneMarkForEachBrokenCharacter) {
  const std::string mark = kMark;
  EXPECT_EQ(repair("a\xF0\x9F\xA6z"), "a" + mark + "z");
  EXPECT_EQ(repair("\xE6\xAD"), mark);
  EXPECT_EQ(repair("\xC0\xAF"), mark + mark);
  EXPECT_EQ(repair("\xED\xA0\x80"), mark + mark + mark);
  EXPECT_EQ(repair("\xF0\x9F\xF0\x9F\xA6\x99"), mark + "\U0001F999");
}

TEST(Utf8, FaultsAreMarkedAsSoonAsTheyAreKnown) {
  Utf8Repair r;
  EXPECT_EQ(r.feed("\xE6\xAD"), "");
  EXPECT_EQ(r.feed("x"), std::string(kMark) + "x");
  EXPECT_EQ(r.feed("\x80"), kMark);
  EXPECT_EQ(r.finish(), "");
}

TEST(ByteAlphabet, EveryByteRoundTrips) {
  EXPECT_EQ(byte_to_symbol(' '), char32_t{0x120});
  EXPECT_EQ(byte_to_symbol('\n'), char32_t{0x10A});
  EXPECT_EQ(byte_to_symbol_text('!'), "!");
  for (int byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(bytes_of(byte_to_symbol_text(b)), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(bytes_of("a b"), std::nullopt);
  EXPECT_EQ(bytes_of("\xFF"), std::nullopt);
}

}  // namespace
}  // namespace reprise
