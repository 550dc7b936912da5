#include "backends/native/fallback.hpp"

#include "backends/native/arrays.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

class FallbackStep final : public Step {
 public:
  explicit FallbackStep(FallbackParts parts) : parts_(std::move(parts)) {
    for (const View& in : parts_.inputs) reads.push_back(in.slot);
    writes = parts_.outputs;
  }

  Status run(const Frame& frame) const override {
    std::vector<mx::array> arguments = take_arrays(frame, parts_.inputs, last_use_);
    auto results = parts_.mlx->run(std::move(arguments), frame.options());
    if (!results) return results.error();
    for (std::size_t i = 0; i < parts_.outputs.size(); ++i) {
      frame.set_array(parts_.outputs[i], as_dense(std::move((*results)[i]), frame.threads()));
    }
    return {};
  }

  void finish(const Plan& plan, std::uint32_t index) override { last_use_ = last_uses(plan, index, parts_.inputs); }

  bool on_mlx() const override { return true; }
  std::string describe() const override { return fmt::format("mlx: {}", fmt::join(parts_.names, ", ")); }

 private:
  FallbackParts parts_;
  std::vector<bool> last_use_;
};

}  // namespace

std::unique_ptr<Step> make_fallback_step(FallbackParts parts) {
  return std::make_unique<FallbackStep>(std::move(parts));
}

}  // namespace reprise::native
