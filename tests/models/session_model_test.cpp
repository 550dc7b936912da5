// The same as session_test.cpp on the main model.
#include <gtest/gtest.h>

#include "models/compare_session.hpp"

namespace reprise::testing {
namespace {

TEST(SmolLM2, SessionsEqualOneRun) {
  const Loaded model(REPRISE_SMOLLM2_GGUF);
  constexpr std::int64_t kCapacity = 136;
  const auto tokens = some_tokens(kCapacity, model.config.vocabulary);
  const auto reference = model.all_at_once(tokens);
  const ModelExecutables executables = model.executables(kCapacity);
  for (const std::int64_t prompt : {1, 7, 8, 9, 31, 33, 129}) {
    check_session(model, executables, kCapacity, tokens, reference, prompt, prompt == 129 ? 7 : 1);
  }
  // Caches that the prompt nearly fills, where a padded chunk would not fit.
  const ModelExecutables small = model.executables(33);
  const auto fitting = std::span(tokens).first(33);
  for (const std::int64_t prompt : {30, 31, 33}) check_session(model, small, 33, fitting, reference, prompt, 3);
}

}  // namespace
}  // namespace reprise::testing
