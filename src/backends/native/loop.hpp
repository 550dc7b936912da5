// `while` with a condition and a body that are plans of their own.
#pragma once

#include <memory>
#include <vector>

#include "backends/native/plan.hpp"

namespace reprise::native {

struct LoopParts {
  std::unique_ptr<const Plan> cond, body;  ///< their inputs are the carries
};

/// True when the plan's steps never hand over arrays: then a loop can run it on memory of its own.
bool runs_on_fixed_memory(const Plan& plan);

/// Memory that a loop on fixed memory needs beside its results.
struct LoopMemory {
  View cond_arena, body_arena;
  View predicate;            ///< where the condition makes the array that holds its value
  std::vector<View> spare;   ///< by carry: the body writes here while the carry is in the result, then the other way
  std::vector<View> staged;  ///< by body output: where it is made before it is copied; those made in place have none
};

/// Which body outputs need a place of their own before they are copied into the carry, and of which size.
std::vector<std::optional<TensorType>> staged_outputs(const LoopParts& parts);

/// `from` are dense; `results` are where the carries end.
std::unique_ptr<Step> make_fixed_loop(LoopParts parts, std::vector<View> from, std::vector<View> results,
                                      LoopMemory memory);

/// A loop whose body takes over arrays (caches that are updated in place, steps on MLX). `from` are backed by arrays;
/// the step makes the arrays of `results`.
std::unique_ptr<Step> make_array_loop(LoopParts parts, std::vector<View> from, std::vector<SlotId> results);

}  // namespace reprise::native
