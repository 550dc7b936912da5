#include "ops/control/control.native.hpp"

#include "backends/native/loop.hpp"

namespace reprise::native {

// Small carries and those that steps compute anew stay in fixed memory; where arrays are taken over (a cache that is
// updated in place, steps on MLX), carries are arrays.
Decision plan_while(OpPlanner& op) {
  if (op.calls_host()) return decline("it calls the host");
  LoopParts parts;
  for (std::size_t k = 0; k < 2; ++k) {
    auto plan = op.subplan(k);
    if (!plan) return decline(plan.error().message());
    if (!(*plan)->has_kernels) return decline(k == 0 ? "no kernel for its condition" : "no kernel for its body");
    (k == 0 ? parts.cond : parts.body) = *std::move(plan);
  }
  if (!runs_on_fixed_memory(*parts.cond) || !runs_on_fixed_memory(*parts.body)) {
    std::vector<View> from;
    std::vector<SlotId> results;
    for (std::size_t k = 0; k < op.size(); ++k) from.push_back(op.array(k));
    for (std::size_t k = 0; k < op.size(); ++k) results.push_back(op.array_result(k));
    std::vector<SlotId> reads;
    for (const View& view : from) reads.push_back(view.slot);
    auto step = make_array_loop(std::move(parts), std::move(from), results);
    step->reads = std::move(reads);
    step->writes = std::move(results);
    op.add(std::move(step), {}, {});
    return {};
  }
  std::vector<View> from, results, writes;
  LoopMemory memory;
  const auto bytes = [](std::size_t n) { return TensorType{DType::uint8, {static_cast<std::int64_t>(n)}}; };
  for (std::size_t k = 0; k < op.size(); ++k) {
    from.push_back(op.dense(k));
    results.push_back(op.result(k));
    memory.spare.push_back(op.scratch(op.result_type(k)));
  }
  memory.cond_arena = op.scratch(bytes(parts.cond->arena_bytes));
  memory.body_arena = op.scratch(bytes(parts.body->arena_bytes));
  // The value may be a part of what a step makes.
  memory.predicate = op.scratch(bytes(parts.cond->slots[parts.cond->outputs[0].slot].bytes));
  const auto staged = staged_outputs(parts);
  for (const auto& type : staged) memory.staged.push_back(type ? op.scratch(*type) : View{});
  writes = results;
  writes.insert(writes.end(), memory.spare.begin(), memory.spare.end());
  for (std::size_t k = 0; k < staged.size(); ++k) {
    if (staged[k]) writes.push_back(memory.staged[k]);
  }
  for (const View& view : {memory.cond_arena, memory.body_arena, memory.predicate}) writes.push_back(view);
  op.add(make_fixed_loop(std::move(parts), from, std::move(results), std::move(memory)), from, writes);
  return {};
}

}  // namespace reprise::native
