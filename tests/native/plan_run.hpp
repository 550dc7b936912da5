// Native plans of programs, replayed with a given number of threads.
#pragma once

#include <memory>
#include <vector>

#include "backends/native/planner.hpp"
#include "backends/native/replay.hpp"
#include "program/array_access.hpp"
#include "program/infer.hpp"
#include "program/verify.hpp"

namespace reprise::native {

inline Replayer replayer_of(const Program& program, const std::vector<mlx::core::array>& inputs) {
  std::vector<TensorType> types;
  for (const auto& in : inputs) types.push_back(type_of(in));
  auto verified = std::make_shared<const VerifiedProgram>(verify(program).value());
  auto typed = std::make_shared<const TypedProgram>(infer(std::move(verified), types).value());
  return Replayer(make_plan(std::move(typed)).value());
}

}  // namespace reprise::native
