// The `mlx` backend: a typed program as blocks of recorded MLX graphs, one set for each worker.
#include "backends/specialised.hpp"

#include <mlx/mlx.h>

#include <system_error>

#include "backends/mlx/block.hpp"
#include "backends/mlx/gpu.hpp"
#include "backends/mlx/worker.hpp"
#include "base/format.hpp"

namespace reprise::mlx_backend {
namespace {

// Turns what MLX (or a lowering) throws into an error value.
template <typename Work>
Status guarded(std::string_view stage, const Work& work) {
  try {
    return work();
  } catch (const std::logic_error& e) {
    // std::invalid_argument is a logic_error too: MLX's refusal of something that inference let through.
    return make_error(ErrorCode::internal, "{}: {}", stage, e.what());
  } catch (const MemoryError& e) {
    return make_error(ErrorCode::limit, "{}: {}", stage, e.what());
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::limit, "{}: out of memory", stage);
  } catch (const std::system_error& e) {
    return make_error(ErrorCode::limit, "{}: no thread can be started: {}", stage, e.what());
  } catch (const std::exception& e) {
    return make_error(ErrorCode::runtime, "{}: {}", stage, e.what());
  }
}

class MlxSpecialised final : public Specialised {
 public:
  MlxSpecialised(std::shared_ptr<const TypedProgram> typed, const Device& device)
      : typed_(std::move(typed)), device_(device), blocks_(static_cast<std::size_t>(max_workers(device))) {}

  // Records on one worker now, so that a lowering's refusal shows at compile time.
  Status prepare() const {
    return on_worker("compile", {}, [&](const WorkerContext& worker) -> Status {
      static_cast<void>(block(worker));
      return {};
    });
  }

  Result<std::vector<mx::array>> run(std::vector<mx::array> inputs, const RunOptions& options) const override {
    auto outputs = typed_->verified().calls_host() ? run_with_host(std::move(inputs), options)
                                                   : run_on_one_worker(std::move(inputs), options);
    if (outputs) outputs->erase(outputs->begin() + typed_->program()->num_real_outputs, outputs->end());
    return outputs;
  }

 private:
  Result<std::vector<mx::array>> run_on_one_worker(std::vector<mx::array> inputs, const RunOptions& options) const {
    std::vector<mx::array> outputs;
    const Status status = on_worker("run", options.while_waiting, [&](const WorkerContext& worker) -> Status {
      auto out = block(worker).run(std::move(inputs), Driver{options, worker.stream, {}});
      if (!out) return out.error();
      mx::eval(*out);
      outputs = *std::move(out);
      return {};
    });
    if (!status) return status.error();
    return outputs;
  }

  // Driven from the caller's thread, which is where callbacks belong; only MLX's work hops to the worker.
  Result<std::vector<mx::array>> run_with_host(std::vector<mx::array> inputs, const RunOptions& options) const {
    std::vector<mx::array> outputs;
    const Status status = guarded("run", [&]() -> Status {
      const int index = pick_worker(device_);
      const Block* mine = nullptr;
      std::optional<mx::Stream> stream;
      run_on_worker(device_, index, [&](const WorkerContext& worker) {
        mine = &block(worker);
        stream = worker.stream;
      });
      const Driver driver{options, *stream, [&](const std::function<void()>& work) {
                            run_on_worker(
                                device_, index, [&](const WorkerContext&) { work(); }, options.while_waiting);
                          }};
      auto out = mine->run(std::move(inputs), driver);
      if (!out) return out.error();
      outputs = *std::move(out);
      return {};
    });
    if (!status) return status.error();
    return outputs;
  }

  template <typename Work>
  Status on_worker(std::string_view stage, const WhileWaiting& while_waiting, const Work& work) const {
    Status status;
    const Status started = guarded(stage, [&]() -> Status {
      run_on_worker(
          device_, [&](const WorkerContext& worker) { status = guarded(stage, [&] { return work(worker); }); },
          while_waiting);
      return {};
    });
    return started.ok() ? status : started;
  }

  // A worker only touches its own entry, so no lock is needed.
  const Block& block(const WorkerContext& worker) const {
    auto& mine = blocks_[static_cast<std::size_t>(worker.index)];
    if (!mine) {
      const VerifiedList& list = typed_->verified().list();
      const std::span<const Ref> outputs = typed_->verified().live_outputs();
      mine = std::make_unique<const Block>(Block::build(*typed_, list, typed_->types(), outputs, worker, device_));
    }
    return *mine;
  }

  std::shared_ptr<const TypedProgram> typed_;
  Device device_;
  mutable std::vector<std::unique_ptr<const Block>> blocks_;
};

}  // namespace

bool is_available(const Device& device) {
  if (device.kind == Device::Kind::cpu) return device.index == 0;
  try {
    return mx::is_available(mx::Device(mx::Device::gpu, device.index)) &&
           device.index < mx::device_count(mx::Device::gpu);
  } catch (const std::exception&) {
    return false;
  }
}

Result<std::shared_ptr<const Specialised>> specialise(std::shared_ptr<const TypedProgram> typed, const Device& device) {
  if (device.kind != Device::Kind::cpu) REPRISE_RETURN_IF_ERROR(check_dtypes(*typed, device));
  auto made = std::make_shared<const MlxSpecialised>(std::move(typed), device);
  REPRISE_RETURN_IF_ERROR(made->prepare());
  return std::shared_ptr<const Specialised>(std::move(made));
}

}  // namespace reprise::mlx_backend
