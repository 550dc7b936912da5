#include "backends/native/specialised.hpp"

#include <new>

#include "backends/mlx/tape.hpp"
#include "backends/native/isa.hpp"
#include "backends/native/planner.hpp"
#include "backends/native/replay.hpp"
#include "backends/native/threads.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

class NativeSpecialised final : public Specialised {
 public:
  explicit NativeSpecialised(std::unique_ptr<const Plan> plan) : replayer_(std::move(plan)) {}

  Result<std::vector<mx::array>> run(std::vector<mx::array> inputs, const RunOptions& options) const override {
    try {
      const ThreadLease lease(threads());
      return replayer_.run(std::move(inputs), options, lease.threads());
    } catch (const mlx_backend::MemoryError& e) {
      return make_error(ErrorCode::limit, "run: {}", e.what());
    } catch (const std::bad_alloc&) {
      return make_error(ErrorCode::limit, "run: out of memory");
    } catch (const std::exception& e) {
      return make_error(ErrorCode::runtime, "run: {}", e.what());
    }
  }

  std::optional<PlanInfo> plan() const override { return describe(replayer_.plan()); }

 private:
  Replayer replayer_;
};

/// A program that MLX does as a whole.
class OnMlx final : public Specialised {
 public:
  OnMlx(std::shared_ptr<const Specialised> whole, PlanInfo plan) : whole_(std::move(whole)), plan_(std::move(plan)) {}

  Result<std::vector<mx::array>> run(std::vector<mx::array> inputs, const RunOptions& options) const override {
    return whole_->run(std::move(inputs), options);
  }
  std::optional<PlanInfo> plan() const override { return plan_; }

 private:
  std::shared_ptr<const Specialised> whole_;
  PlanInfo plan_;
};

}  // namespace

Result<std::shared_ptr<const Specialised>> specialise(std::shared_ptr<const TypedProgram> typed) {
  REPRISE_RETURN_IF_ERROR(apply_isa_limit());
  settle_threads();
  auto plan = make_plan(typed);
  if (!plan) return plan.error();
  if (!(*plan)->has_kernels) {
    PlanInfo info = describe(**plan);
    plan->reset();
    REPRISE_ASSIGN(auto whole, mlx_backend::specialise(std::move(typed), Device::cpu()));
    return std::shared_ptr<const Specialised>(std::make_shared<const OnMlx>(std::move(whole), std::move(info)));
  }
  return std::shared_ptr<const Specialised>(std::make_shared<const NativeSpecialised>(*std::move(plan)));
}

}  // namespace reprise::native
