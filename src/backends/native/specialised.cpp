#include "backends/native/specialised.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "backends/mlx/tape.hpp"
#include "backends/native/arrays.hpp"
#include "backends/native/isa.hpp"
#include "backends/native/planner.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

constexpr std::size_t kArenaAlignment = 64;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

/// What one replay needs besides arrays: its arena and the tables that a Frame shows.
struct Workspace {
  std::unique_ptr<std::byte, Free> arena;
  std::vector<std::byte*> addresses;
  std::vector<std::optional<mx::array>> arrays;
};

/// Workspaces that wait for the next replay. Taking and giving back need no lock.
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& place : places_) delete place.load();
  }

  std::unique_ptr<Workspace> take() {
    for (auto& place : places_) {
      if (Workspace* found = place.exchange(nullptr)) return std::unique_ptr<Workspace>(found);
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    for (auto& place : places_) {
      Workspace* none = nullptr;
      if (place.compare_exchange_strong(none, workspace.get())) {
        static_cast<void>(workspace.release());
        return;
      }
    }
  }

 private:
  std::array<std::atomic<Workspace*>, 16> places_{};
};

class NativeSpecialised final : public Specialised {
 public:
  explicit NativeSpecialised(std::unique_ptr<const Plan> plan) : plan_(std::move(plan)) {
    for (SlotId s = 0; s < plan_->slots.size(); ++s) {
      const Slot& slot = plan_->slots[s];
      if (slot.storage == Storage::input) inputs_.push_back(s);
      if (slot.storage == Storage::constant) constants_.push_back(s);
    }
  }

  Result<std::vector<mx::array>> run(std::vector<mx::array> inputs, const RunOptions& options) const override {
    auto workspace = pool_.take();
    if (!workspace) {
      auto made = make_workspace();
      if (!made) return made.error();
      workspace = *std::move(made);
    }
    Result<std::vector<mx::array>> outputs = guarded(*workspace, std::move(inputs), options);
    for (SlotId s = 0; s < plan_->slots.size(); ++s) {
      if (plan_->slots[s].storage != Storage::constant) workspace->arrays[s].reset();
    }
    pool_.give_back(std::move(workspace));
    return outputs;
  }

 private:
  Result<std::unique_ptr<Workspace>> make_workspace() const {
    auto out = std::make_unique<Workspace>();
    if (plan_->arena_bytes > 0) {
      out->arena.reset(static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, plan_->arena_bytes)));
      if (!out->arena) {
        return make_error(ErrorCode::limit, "run: {} bytes of working memory cannot be had", plan_->arena_bytes);
      }
    }
    out->addresses.assign(plan_->slots.size(), nullptr);
    out->arrays.assign(plan_->slots.size(), std::nullopt);
    for (SlotId s = 0; s < plan_->slots.size(); ++s) {
      const Slot& slot = plan_->slots[s];
      if (slot.storage == Storage::arena) out->addresses[s] = out->arena.get() + slot.offset;
      if (slot.storage == Storage::constant) {
        mx::array array = plan_->constants[slot.index];
        out->addresses[s] = reinterpret_cast<std::byte*>(array.data<char>());
        out->arrays[s] = std::move(array);
      }
    }
    return out;
  }

  Result<std::vector<mx::array>> guarded(Workspace& workspace, std::vector<mx::array> inputs,
                                         const RunOptions& options) const {
    try {
      return replay(workspace, std::move(inputs), options);
    } catch (const mlx_backend::MemoryError& e) {
      return make_error(ErrorCode::limit, "run: {}", e.what());
    } catch (const std::bad_alloc&) {
      return make_error(ErrorCode::limit, "run: out of memory");
    } catch (const std::exception& e) {
      return make_error(ErrorCode::runtime, "run: {}", e.what());
    }
  }

  Result<std::vector<mx::array>> replay(Workspace& workspace, std::vector<mx::array> inputs,
                                        const RunOptions& options) const {
    const ThreadLease lease(threads());
    const Frame frame(workspace.addresses, workspace.arrays, options, lease.threads());
    for (const SlotId s : inputs_) {
      mx::array& in = inputs[plan_->slots[s].index];
      frame.set_array(s, in.flags().row_contiguous ? std::move(in) : dense_copy(in, lease.threads()));
    }
    for (std::uint32_t i = 0; i < plan_->steps.size(); ++i) {
      if (options.cancel && options.cancel->cancelled()) {
        return make_error(ErrorCode::cancelled, "run: cancelled before step {} of {}", i, plan_->steps.size());
      }
      for (const SlotId s : plan_->allocate_before[i]) frame.set_array(s, new_array(plan_->slots[s].type));
      REPRISE_RETURN_IF_ERROR(plan_->steps[i]->run(frame));
      for (const SlotId s : plan_->release_after[i]) workspace.arrays[s].reset();
    }
    std::vector<mx::array> outputs;
    outputs.reserve(plan_->outputs.size());
    for (const View& view : plan_->outputs) outputs.push_back(array_of(frame, view));
    return outputs;
  }

  std::unique_ptr<const Plan> plan_;
  std::vector<SlotId> inputs_, constants_;
  mutable Pool pool_;
};

}  // namespace

Result<std::shared_ptr<const Specialised>> specialise(std::shared_ptr<const TypedProgram> typed) {
  REPRISE_RETURN_IF_ERROR(apply_isa_limit());
  auto plan = make_plan(typed);
  if (!plan) return plan.error();
  if (!*plan) return mlx_backend::specialise(std::move(typed), Device::cpu());
  return std::shared_ptr<const Specialised>(std::make_shared<const NativeSpecialised>(*std::move(plan)));
}

}  // namespace reprise::native
