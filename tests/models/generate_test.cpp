// Generation with a small random model: limits, stops, seeds, what is reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "models/tiny_llama.hpp"
#include "models/tokenizer/utf8.hpp"
#include "reprise/text_model.hpp"

namespace reprise {
namespace {

using testing::TempFolder;
using testing::TinyLlama;

struct Answer {
  std::string text;
  GenerateReport report;
};

class Generate : public ::testing::Test {
 protected:
  Result<Answer> run(std::string_view prompt, const GenerateOptions& options) const {
    Answer answer;
    auto report = model_.generate(prompt, options, [&](std::string_view text) {
      EXPECT_TRUE(is_valid_utf8(text));
      EXPECT_FALSE(text.empty());
      answer.text += text;
      return true;
    });
    if (!report) return report.error();
    answer.report = *report;
    return answer;
  }

  // One token for each character: letters without "ab".
  static std::string letters(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('c' + i * 7 % 20);
    return text;
  }

  const TempFolder folder_;
  const TextModel model_ = TextModel::load(TinyLlama().write(folder_, "tiny.gguf")).value();
};

TEST_F(Generate, APromptThatFillsTheContextGivesOneToken) {
  const GenerateOptions options{.max_tokens = 8, .ignore_end = true, .context = 16};
  const Answer full = run(letters(16), options).value();
  EXPECT_EQ(full.report.prompt_tokens, 16);
  EXPECT_EQ(full.report.generated_tokens, 1);
  EXPECT_EQ(full.report.finish, FinishReason::context);
  const Answer room = run(letters(15), options).value();
  EXPECT_EQ(room.report.generated_tokens, 2);
  EXPECT_EQ(room.report.finish, FinishReason::context);
  const Answer exact = run(letters(9), options).value();
  EXPECT_EQ(exact.report.generated_tokens, 8);
  EXPECT_EQ(exact.report.finish, FinishReason::length);
  const auto error = run(letters(17), options).error();
  EXPECT_EQ(error.code(), ErrorCode::limit);
  EXPECT_EQ(error.message(), "the prompt has 17 tokens; the context holds 16");
}

TEST_F(Generate, FillsTheModelsOwnContext) {
  const Answer full = run(letters(1020), {.max_tokens = 100, .ignore_end = true}).value();
  EXPECT_EQ(full.report.generated_tokens, 5);
  EXPECT_EQ(full.report.finish, FinishReason::context);
  EXPECT_EQ(run(letters(1025), {}).error().code(), ErrorCode::limit);
  EXPECT_EQ(run("x", {.context = 1025}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(run("x", {.context = -1}).error().code(), ErrorCode::invalid_argument);
}

TEST_F(Generate, AnyNumberOfTokensMayBeAskedFor) {
  const auto most = std::numeric_limits<std::int64_t>::max();
  const Answer answer = run("x", {.max_tokens = most, .ignore_end = true, .context = 12}).value();
  EXPECT_EQ(answer.report.generated_tokens, 12);
  EXPECT_EQ(run("x", {.max_tokens = -1}).error().code(), ErrorCode::invalid_argument);
  const Answer none = run("x", {.max_tokens = 0}).value();
  EXPECT_EQ(none.text, "");
  EXPECT_EQ(none.report.prompt_tokens, 1);
  EXPECT_EQ(none.report.generated_tokens, 0);
}

// Greedy text is the best token of logits() again and again.
TEST_F(Generate, FollowsTheLogits) {
  const std::string prompt = "Once upon";
  std::vector<std::int32_t> tokens = model_.encode(prompt).value();
  const std::size_t given = tokens.size();
  for (int i = 0; i < 40; ++i) {
    const std::vector<float> rows = model_.logits(tokens).value();
    const auto last = rows.end() - model_.vocabulary();
    tokens.push_back(static_cast<std::int32_t>(std::max_element(last, rows.end()) - last));
  }
  Answer answer = run(prompt, {.max_tokens = 40, .ignore_end = true}).value();
  // Single bytes may be no text; compare what is.
  Utf8Repair repair;
  std::string wanted;
  for (std::size_t i = given; i < tokens.size(); ++i) {
    const std::string piece = tokens[i] < 256    ? std::string(1, static_cast<char>(tokens[i]))
                              : tokens[i] == 256 ? "ab"
                                                 : "";
    wanted += repair.feed(piece);
  }
  wanted += repair.finish();
  EXPECT_EQ(answer.text, wanted);
}

TEST_F(Generate, SeedsDecide) {
  const auto draw = [&](std::uint64_t seed) {
    return run("Hello", {.max_tokens = 30, .temperature = 1.5F, .seed = seed, .ignore_end = true}).value().text;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
  const auto greedy = [&] { return run("Hello", {.max_tokens = 30, .ignore_end = true}).value().text; };
  EXPECT_EQ(greedy(), greedy());
  const GenerateOptions only_best{.max_tokens = 30, .temperature = 3, .top_k = 1, .seed = 5, .ignore_end = true};
  EXPECT_EQ(run("Hello", only_best).value().text, greedy());
}

TEST_F(Generate, StopsBeforeStopTexts) {
  const GenerateOptions options{.max_tokens = 60, .temperature = 1, .seed = 3, .ignore_end = true};
  const std::string whole = run("Hello", options).value().text;
  std::size_t at = whole.size() / 2;
  while (at > 0 && (static_cast<unsigned char>(whole[at]) & 0xC0) == 0x80) --at;
  std::size_t end = std::min(at + 6, whole.size());
  while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) ++end;
  const std::string stop = whole.substr(at, end - at);
  GenerateOptions stopping = options;
  stopping.stop = {"never", stop};
  const Answer answer = run("Hello", stopping).value();
  EXPECT_EQ(answer.text, whole.substr(0, whole.find(stop)));
  EXPECT_EQ(answer.report.finish, FinishReason::stop_text);
  stopping.stop = {""};
  EXPECT_EQ(run("Hello", stopping).error().code(), ErrorCode::invalid_argument);
}

TEST_F(Generate, TheCallerMayStop) {
  int calls = 0;
  const auto report =
      model_.generate("Hello", {.max_tokens = 50, .ignore_end = true}, [&](std::string_view) { return ++calls < 3; });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(report.value().finish, FinishReason::caller);
}

TEST_F(Generate, CanBeCancelled) {
  CancelToken cancel;
  const GenerateOptions options{.max_tokens = 50, .ignore_end = true, .cancel = &cancel};
  int calls = 0;
  const auto report = model_.generate("Hello", options, [&](std::string_view) {
    if (++calls == 2) cancel.cancel();
    return true;
  });
  EXPECT_EQ(report.error().code(), ErrorCode::cancelled);
}

TEST_F(Generate, BadOptionsAreErrors) {
  for (const GenerateOptions& options : {GenerateOptions{.temperature = -1}, GenerateOptions{.temperature = NAN},
                                         GenerateOptions{.temperature = INFINITY}, GenerateOptions{.top_k = -1},
                                         GenerateOptions{.top_p = 2}, GenerateOptions{.top_p = -0.5F}}) {
    EXPECT_EQ(run("x", options).error().code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(run("", {}).error().message(), "the prompt is empty; wanted at least one token");
  EXPECT_FALSE(run("x", {.chat = true}));  // this model has no template
}

TEST_F(Generate, AnyBytesAreAPrompt) {
  EXPECT_TRUE(run("\xff\xfe\x80 \xe6\xad", {.max_tokens = 3}));
  EXPECT_TRUE(run(std::string_view("a\0b", 3), {.max_tokens = 3}));
}

TEST_F(Generate, ThreadsDoNotDisturbEachOther) {
  std::vector<std::string> alone(6);
  std::vector<std::string> together(6);
  const auto draw = [&](std::size_t i) {
    return run(letters(1 + 9 * i), {.max_tokens = 20, .temperature = 1, .seed = i, .ignore_end = true}).value().text;
  };
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i] = draw(i);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i) threads.emplace_back([&, i] { together[i] = draw(i); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST_F(Generate, LogitsRefuseWhatIsNoToken) {
  EXPECT_EQ(model_.logits({}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(model_.logits({259}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(model_.logits({-1}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(model_.logits(std::vector<std::int32_t>(1025)).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(model_.logits(std::vector<std::int32_t>(1024)).value().size(), 1024U * 259);
}

}  // namespace
}  // namespace reprise
