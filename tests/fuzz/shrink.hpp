// Makes a failing program small.
//
//   FuzzCase small = shrink(one, [](const FuzzCase& candidate) { return check(candidate).has_value(); });
//
// Every candidate that `fails` is asked about is valid. It may run the candidate in another process, so that a crash is
// an answer.
#pragma once

#include <functional>

#include "fuzz/runner.hpp"

namespace reprise::fuzz {

using Fails = std::function<bool(const FuzzCase& candidate)>;

struct ShrinkOptions {
  int max_tries = 2000;              ///< questions asked at most
  const Runner* evaluate = nullptr;  ///< computes the values that stand for what was cut off; null: ones stand there
};

/// The smallest program found that still fails; `one` must fail.
FuzzCase shrink(const FuzzCase& one, const Fails& fails, const ShrinkOptions& options = {});

}  // namespace reprise::fuzz
