// Prompts in chunks and tokens one by one must give what one run over everything gives.
#include "models/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/compare_session.hpp"
#include "models/loaded.hpp"
#include "models/tiny_llama.hpp"

namespace reprise {
namespace {

using testing::check_session;
using testing::greatest_difference;
using testing::kTolerance;
using testing::Loaded;
using testing::some_tokens;
using testing::TempFolder;
using testing::TinyLlama;

TEST(Chunks, CoverThePromptAndFitTheCache) {
  for (std::int64_t tokens = 1; tokens <= 300; ++tokens) {
    for (std::int64_t spare : {0, 1, 2, 3, 7, 8, 31, 32, 63, 127, 128, 1000}) {
      std::int64_t done = 0;
      for (const Chunk& chunk : split_into_chunks(tokens, tokens + spare)) {
        ASSERT_TRUE(chunk.size == 1 || chunk.size == 8 || chunk.size == 32 || chunk.size == 128);
        ASSERT_GE(chunk.used, 1);
        ASSERT_LE(chunk.used, chunk.size);
        // Beyond the last row the cache would move the start, and with it every row of the chunk.
        ASSERT_LE(done + chunk.size, tokens + spare) << tokens << " tokens, room " << tokens + spare;
        done += chunk.used;
      }
      ASSERT_EQ(done, tokens);
    }
  }
}

TEST(Chunks, AreFew) {
  EXPECT_EQ(split_into_chunks(1, 100), (std::vector<Chunk>{{1, 1}}));
  EXPECT_EQ(split_into_chunks(7, 100), (std::vector<Chunk>{{8, 7}}));
  EXPECT_EQ(split_into_chunks(7, 7).size(), 7U);
  EXPECT_EQ(split_into_chunks(8, 8), (std::vector<Chunk>{{8, 8}}));
  EXPECT_EQ(split_into_chunks(129, 256), (std::vector<Chunk>{{128, 128}, {1, 1}}));
  EXPECT_EQ(split_into_chunks(0, 5), std::vector<Chunk>());
}

TEST(Session, EqualsOneRunForEveryPromptLength) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  constexpr std::int64_t kCapacity = 140;
  const auto tokens = some_tokens(kCapacity, model.config.vocabulary);
  const auto reference = model.all_at_once(tokens);
  const ModelExecutables executables = model.executables(kCapacity);
  for (const std::int64_t prompt : {1, 2, 5, 7, 8, 9, 16, 31, 32, 33, 100, 127, 128, 129, 133, 139, 140}) {
    // To the last row of the cache.
    check_session(model, executables, kCapacity, tokens, reference, prompt, kCapacity);
  }
}

TEST(Session, FillsCachesOfAnySize) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  const auto tokens = some_tokens(40, model.config.vocabulary);
  const auto reference = model.all_at_once(tokens);
  for (const std::int64_t capacity : {1, 2, 7, 8, 9, 31, 33, 40}) {
    const ModelExecutables executables = model.executables(capacity);
    const auto fitting = std::span(tokens).first(static_cast<std::size_t>(capacity));
    for (std::int64_t prompt = std::max<std::int64_t>(1, capacity - 9); prompt <= capacity; ++prompt) {
      check_session(model, executables, capacity, fitting, reference, prompt, capacity);
    }
  }
}

TEST(Session, TakesPromptsInParts) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  const auto tokens = some_tokens(50, model.config.vocabulary);
  const auto reference = model.all_at_once(tokens);
  const ModelExecutables executables = model.executables(50);
  Session session = Session::begin(executables, model.config, 50).value();
  std::size_t fed = 0;
  for (const std::size_t part : {7, 6, 1, 31, 5}) {
    const auto logits = session.feed(std::span(tokens).subspan(fed, part)).value();
    fed += part;
    EXPECT_LT(greatest_difference(logits, reference.data() + (fed - 1) * TinyLlama::kVocabulary), kTolerance) << fed;
  }
  EXPECT_EQ(session.room(), 0);
}

TEST(Session, RefusesMoreThanItsRoom) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  const auto tokens = some_tokens(10, model.config.vocabulary);
  const ModelExecutables executables = model.executables(9);
  Session session = Session::begin(executables, model.config, 9).value();
  EXPECT_EQ(session.feed(tokens).error().code(), ErrorCode::limit);
  EXPECT_EQ(session.feed({}).error().code(), ErrorCode::limit);
  ASSERT_TRUE(session.feed(std::span(tokens).first(9)));  // neither did harm
  EXPECT_EQ(session.feed(std::span(tokens).first(1)).error().message(), "1 tokens given; the cache has room for 0");
}

TEST(Session, ACancelledOneSaysSo) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  const auto tokens = some_tokens(3, model.config.vocabulary);
  const ModelExecutables executables = model.executables(16);
  Session session = Session::begin(executables, model.config, 16).value();
  CancelToken cancel;
  cancel.cancel();
  EXPECT_EQ(session.feed(tokens, {.cancel = &cancel}).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(session.feed(tokens).error().message(), "the session ended with an error; begin a new one");
}

TEST(Session, ScoreEqualsOneRun) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  for (const std::int64_t count : {1, 7, 33, 129, 200}) {
    const auto tokens = some_tokens(count, model.config.vocabulary);
    const auto scored = score(model.compile(Logits::all, 200), model.config, 200, tokens).value();
    const auto reference = model.all_at_once(tokens);
    ASSERT_EQ(scored.size(), reference.size());
    EXPECT_LT(greatest_difference(scored, reference.data()), kTolerance) << count;
  }
}

}  // namespace
}  // namespace reprise
