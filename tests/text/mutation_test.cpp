#include <gtest/gtest.h>

#include "program/verify.hpp"
#include "random_program.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

// Damaged texts give a program or an error, never a crash; what parses prints and parses again, and can be verified.
TEST(Mutation, NeverCrashes) {
  constexpr std::uint64_t kSeed = 20240901;
  RecordProperty("seed", std::to_string(kSeed));
  RandomProgram random(kSeed);
  static constexpr std::string_view kPieces[] = {
      "%",      "in-1",   "{",   "}",   "[",       "]",    "(",
      ")",      "\"",     "\\",  "=",   ",",       ":",    "\n",
      "attrs(", "return", "b\"", "0",   "-",       "1e9",  "while ",
      "sub {",  "\r\n",   "#",   "nan", "bits(0x", "f32[", "99999999999999999999",
      "inputs", "\x80"};
  int parsed = 0;
  for (int round = 0; round < 6000; ++round) {
    const Program program(random.next());
    std::string text = print_program(program);
    for (int edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
      switch (random.below(5)) {
        case 0: text.erase(at, static_cast<std::size_t>(1 + random.below(6))); break;
        case 1: text[at] = static_cast<char>(random.below(256)); break;
        case 2: text.insert(at, kPieces[static_cast<std::size_t>(random.below(std::size(kPieces)))]); break;
        case 3:
          text.insert(at, text.substr(static_cast<std::size_t>(random.below(static_cast<int>(text.size()))), 20));
          break;
        default: text.resize(at);
      }
    }
    std::vector<Capture> captures = program->captures;
    for (Capture& c : captures) c.name.clear();
    const auto back = parse_program(text, captures);
    if (!back) {
      EXPECT_LT(back.error().message().size(), 700u) << back.error().message();
      continue;
    }
    ++parsed;
    const auto again = parse_program(print_program(*back), captures);
    ASSERT_TRUE(again) << again.error().message() << "\n" << text;
    EXPECT_TRUE(*again == *back) << text;
    (void)verify(*back).ok();
  }
  EXPECT_GT(parsed, 100);
}

// Every prefix, and every byte replaced, of a text that uses the whole form.
TEST(Mutation, EveryPrefixAndByte) {
  const std::string text =
      "reprise 1\ninputs 2 : f32[], s32[2]\nconst0 = (1.0, -2.5e-3) : c64\nconst1 = bits(0x7ff8000000000001) : f32\n"
      "%0 = astype in0 {dtype = float16} : f16[]\n%1 = \"odd \\x00\" in-1 attrs(1, x, b\"\\xff\", \"y z\")\n"
      "%2, %3 = while in0, %1 {\n  cond {\n    %0 = less carry0, const1\n    return %0\n  }\n"
      "  body {\n    return carry1, carry0\n  }\n} : f16[]\nreturn %2\nkeep %3, %0\nnum_real_outputs -3\n";
  ASSERT_TRUE(parse_program(text)) << parse_program(text).error().message();
  for (std::size_t i = 0; i < text.size(); ++i) {
    (void)parse_program(std::string_view(text).substr(0, i)).ok();
    for (const int byte : std::initializer_list<int>{0, '\n', '"', '{', '}', '(', '0', 'z', '-', 0xff}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(byte);
      const auto program = parse_program(damaged);
      if (program) {
        EXPECT_TRUE(parse_program(print_program(*program)).ok()) << damaged;
      }
    }
  }
}

}  // namespace
}  // namespace reprise
