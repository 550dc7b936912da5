#include "backends/native/replay.hpp"

#include "backends/native/arrays.hpp"
#include "base/format.hpp"

namespace reprise::native {

namespace mx = mlx::core;

void Ticker::look() {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return;
  last_ = now;
  options_.while_waiting();
}

Replayer::Replayer(std::unique_ptr<const Plan> plan) : plan_(std::move(plan)) {
  for (SlotId s = 0; s < plan_->slots.size(); ++s) {
    const Slot& slot = plan_->slots[s];
    if (slot.storage == Storage::input) inputs_.push_back(s);
    if (slot.storage == Storage::input || slot.storage == Storage::array) temporary_.push_back(s);
  }
}

Result<std::vector<mx::array>> Replayer::run(std::vector<mx::array> inputs, const RunOptions& options,
                                             int threads) const {
  auto workspace = pool_.take();
  if (!workspace) {
    auto made = make_workspace();
    if (!made) return made.error();
    workspace = *std::move(made);
  }
  // Also when a step throws: the arrays must not stay behind.
  struct GiveBack {
    const Replayer& self;
    std::unique_ptr<Workspace>& workspace;
    ~GiveBack() {
      self.let_go(*workspace);
      self.pool_.give_back(std::move(workspace));
    }
  } give_back{*this, workspace};
  return replay(Frame(workspace->addresses, workspace->arrays, options, threads), std::move(inputs));
}

void Replayer::let_go(Workspace& workspace) const {
  for (const SlotId s : temporary_) workspace.arrays[s].reset();
}

Result<std::unique_ptr<Replayer::Workspace>> Replayer::make_workspace() const {
  auto out = std::make_unique<Workspace>();
  if (plan_->arena_bytes > 0) {
    require_memory(plan_->arena_bytes);
    out->arena.reset(static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, plan_->arena_bytes)));
    if (!out->arena) {
      return make_error(ErrorCode::limit, "run: {} bytes of working memory cannot be had", plan_->arena_bytes);
    }
  }
  out->addresses.assign(plan_->slots.size(), nullptr);
  out->arrays.assign(plan_->slots.size(), std::nullopt);
  place_arena(*plan_, out->arena.get(), out->addresses);
  place_constants(*plan_, out->addresses);
  for (SlotId s = 0; s < plan_->slots.size(); ++s) {
    const Slot& slot = plan_->slots[s];
    if (slot.storage == Storage::constant) out->arrays[s] = plan_->constants[slot.index];
  }
  return out;
}

Result<std::vector<mx::array>> Replayer::replay(const Frame& frame, std::vector<mx::array> inputs) const {
  const RunOptions& options = frame.options();
  Ticker ticker(options);
  for (const SlotId s : inputs_) {
    frame.set_array(s, as_dense(std::move(inputs[plan_->slots[s].index]), frame.threads()));
  }
  for (std::uint32_t i = 0; i < plan_->steps.size(); ++i) {
    if (options.cancel && options.cancel->cancelled()) {
      return make_error(ErrorCode::cancelled, "run: cancelled before step {} of {}", i, plan_->steps.size());
    }
    for (const SlotId s : plan_->allocate_before[i]) frame.set_array(s, new_array(plan_->slots[s].type));
    REPRISE_RETURN_IF_ERROR(plan_->steps[i]->run(frame));
    for (const SlotId s : plan_->release_after[i]) frame.array(s).reset();
    ticker.tick();
  }
  std::vector<mx::array> outputs;
  outputs.reserve(plan_->outputs.size());
  for (const View& view : plan_->outputs) outputs.push_back(array_of(frame, view));
  return outputs;
}

}  // namespace reprise::native
