// Plans programs natively and replays them with a given number of threads.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backends/native/arrays.hpp"
#include "backends/native/planner.hpp"
#include "program/array_access.hpp"
#include "program/infer.hpp"
#include "program/mlx_convert.hpp"
#include "program/verify.hpp"
#include "reprise/executable.hpp"

namespace reprise::native {

inline std::unique_ptr<const Plan> plan_of(const Program& program, const std::vector<mlx::core::array>& inputs) {
  std::vector<TensorType> types;
  for (const auto& in : inputs) types.push_back(type_of(in));
  auto verified = std::make_shared<const VerifiedProgram>(verify(program).value());
  auto typed = std::make_shared<const TypedProgram>(infer(std::move(verified), types).value());
  return make_plan(std::move(typed)).value();
}

/// What a replay does, without pools and leases. The inputs are dense.
inline std::vector<mlx::core::array> replay(const Plan& plan, const std::vector<mlx::core::array>& inputs,
                                            int threads) {
  std::vector<std::byte> memory(plan.arena_bytes + 64, std::byte{0xA5});
  std::byte* arena = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  std::vector<std::byte*> addresses(plan.slots.size(), nullptr);
  std::vector<std::optional<mlx::core::array>> arrays(plan.slots.size());
  const RunOptions options;
  const Frame frame(addresses, arrays, options, threads);
  for (SlotId s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    if (slot.storage == Storage::arena) addresses[s] = arena + slot.offset;
    if (slot.storage == Storage::constant) frame.set_array(s, plan.constants[slot.index]);
    if (slot.storage == Storage::input) frame.set_array(s, inputs[slot.index]);
  }
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    for (const SlotId s : plan.allocate_before[i]) frame.set_array(s, new_array(plan.slots[s].type));
    const Status status = plan.steps[i]->run(frame);
    EXPECT_TRUE(status.ok()) << plan.steps[i]->describe();
    for (const SlotId s : plan.release_after[i]) arrays[s].reset();
  }
  std::vector<mlx::core::array> outputs;
  for (const View& view : plan.outputs) outputs.push_back(array_of(frame, view));
  return outputs;
}

}  // namespace reprise::native
