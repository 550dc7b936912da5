#include "io/wire/term.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace reprise::wire {
namespace {

std::string bytes(std::initializer_list<int> list) { return std::string(list.begin(), list.end()); }

// What Erlang's term_to_binary gives.
TEST(Term, ReadsTheExternalForm) {
  EXPECT_EQ(*decode_term(bytes({131, 97, 7})), Term::integer(7));
  EXPECT_EQ(*decode_term(bytes({131, 98, 255, 255, 255, 254})), Term::integer(-2));
  EXPECT_EQ(*decode_term(bytes({131, 110, 8, 0, 255, 255, 255, 255, 255, 255, 255, 255})), Term::natural(UINT64_MAX));
  EXPECT_EQ(*decode_term(bytes({131, 110, 8, 1, 0, 0, 0, 0, 0, 0, 0, 128})), Term::integer(INT64_MIN));
  EXPECT_EQ(*decode_term(bytes({131, 70, 63, 248, 0, 0, 0, 0, 0, 0})), Term::real(1.5));
  EXPECT_EQ(*decode_term(bytes({131, 119, 3, 'a', 'd', 'd'})), Term::atom("add"));
  EXPECT_EQ(*decode_term(bytes({131, 100, 0, 2, 'o', 'k'})), Term::atom("ok"));
  EXPECT_EQ(*decode_term(bytes({131, 109, 0, 0, 0, 2, 0, 255})), Term::binary(bytes({0, 255})));
  EXPECT_EQ(*decode_term(bytes({131, 106})), Term::list({}));
  // A list of small integers comes packed.
  EXPECT_EQ(*decode_term(bytes({131, 107, 0, 2, 1, 200})), Term::list({Term::integer(1), Term::integer(200)}));
  EXPECT_EQ(*decode_term(bytes({131, 108, 0, 0, 0, 1, 97, 1, 106})), Term::list({Term::integer(1)}));
  EXPECT_EQ(*decode_term(bytes({131, 104, 2, 97, 1, 106})), Term::tuple({Term::integer(1), Term::list({})}));
  EXPECT_EQ(*decode_term(bytes({131, 116, 0, 0, 0, 1, 119, 1, 'k', 97, 1})),
            Term::map({{Term::atom("k"), Term::integer(1)}}));
  const Term improper = *decode_term(bytes({131, 108, 0, 0, 0, 1, 97, 1, 97, 2}));
  EXPECT_FALSE(improper.as<List>()->proper);
  EXPECT_EQ(describe(improper), "an improper list");
  EXPECT_EQ(describe(*decode_term(bytes({131, 110, 9, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}))), "an integer of 9 bytes");
}

TEST(Term, RefusesWhatIsNoTerm) {
  const auto message = [](std::initializer_list<int> list) { return decode_term(bytes(list)).error().message(); };
  EXPECT_EQ(message({}), "term, byte 0: 1 bytes wanted, 0 are left");
  EXPECT_EQ(message({130, 97, 7}), "term, byte 1: version 130; wanted 131");
  EXPECT_EQ(message({131, 97, 7, 0}), "term, byte 3: 1 bytes follow the term");
  EXPECT_EQ(message({131, 200}), "term, byte 2: tag 200 is no kind of term that a program has");
  // Counts that the bytes cannot hold cost nothing.
  EXPECT_EQ(message({131, 108, 255, 255, 255, 255}),
            "term, byte 6: 4294967295 elements said to follow, 0 bytes are left");
  EXPECT_EQ(message({131, 116, 127, 255, 255, 255, 97}),
            "term, byte 6: 2147483647 elements said to follow, 1 bytes are left");
  EXPECT_EQ(message({131, 109, 255, 255, 255, 255}), "term, byte 6: 4294967295 bytes wanted, 0 are left");
  std::string deep = bytes({131});
  for (int i = 0; i < 100000; ++i) deep += bytes({104, 1});
  EXPECT_NE(decode_term(deep).error().message().find("terms nest deeper than 400"), std::string::npos);
}

TEST(Term, RandomTermsComeBack) {
  constexpr std::uint64_t kSeed = 20261130;
  std::mt19937_64 engine(kSeed);
  const std::function<Term(int)> random = [&](int depth) -> Term {
    switch (engine() % (depth > 3 ? 5 : 8)) {
      case 0: return Term::integer(static_cast<std::int64_t>(engine()) >> (engine() % 64));
      case 1: return Term::natural(engine() >> (engine() % 64));
      case 2: return Term::real(static_cast<double>(engine()) / 7);
      case 3: return Term::atom(std::string(engine() % 300, 'x'));
      case 4: return Term::binary(std::string(engine() % 5, '\0'));
      case 5: return Term::list({random(depth + 1), random(depth + 1)});
      case 6: return Term::tuple({random(depth + 1)});
      default: return Term::map({{random(depth + 1), random(depth + 1)}});
    }
  };
  for (int i = 0; i < 2000; ++i) {
    const Term term = random(0);
    const std::string form = encode_term(term).value();
    ASSERT_EQ(decode_term(form).value(), term) << "seed " << kSeed << ", term " << i;
    // Cut short it is never a term.
    ASSERT_FALSE(decode_term(std::string_view(form).substr(0, engine() % form.size())));
  }
}

TEST(Term, WhatHasNoExternalFormIsAnError) {
  EXPECT_FALSE(encode_term(Term{Opaque{"reference", 1}}));
  EXPECT_FALSE(encode_term(Term::list({Term{BigInteger{9, false}}})));
}

}  // namespace
}  // namespace reprise::wire
