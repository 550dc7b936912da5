// Compares a session's answers with those of one run over all tokens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "models/loaded.hpp"
#include "models/session.hpp"

namespace reprise::testing {

/// Of logits near 10: the order of sums differs between a matrix of one row and of many.
constexpr float kTolerance = 2e-3F;

inline std::vector<std::int32_t> some_tokens(std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens;
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    tokens.push_back(static_cast<std::int32_t>((state >> 8) % vocabulary));
  }
  return tokens;
}

inline float greatest_difference(std::span<const float> a, const float* b) {
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return std::isnan(worst) ? INFINITY : worst;
}

// Feeds `prompt` tokens at once and up to `decoded` more one by one, and compares each answer with the reference.
inline void check_session(const Loaded& model, const ModelExecutables& executables, std::int64_t capacity,
                          std::span<const std::int32_t> tokens, const std::vector<float>& reference,
                          std::int64_t prompt, std::int64_t decoded) {
  Session session = Session::begin(executables, model.config, capacity).value();
  const std::int64_t end = std::min<std::int64_t>(static_cast<std::int64_t>(tokens.size()), prompt + decoded);
  std::int64_t fed = 0;
  while (fed < end) {
    const std::int64_t step = fed == 0 ? prompt : 1;
    const auto logits =
        session.feed(tokens.subspan(static_cast<std::size_t>(fed), static_cast<std::size_t>(step))).value();
    fed += step;
    ASSERT_EQ(session.position(), fed);
    ASSERT_LT(greatest_difference(logits, reference.data() + (fed - 1) * model.config.vocabulary), kTolerance)
        << "after " << fed << " tokens, the first " << prompt << " at once, capacity " << capacity;
  }
}

}  // namespace reprise::testing
