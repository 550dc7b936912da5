#include "backends/native/fallback.hpp"

#include <algorithm>
#include <charconv>

#include "backends/native/arrays.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

// Numbers an error's instruction as the whole program does.
Error renumbered(const Error& error, const std::vector<std::size_t>& numbers) {
  constexpr std::string_view kWord = "instruction ";
  const std::string& text = error.message();
  const std::size_t at = text.find(kWord);
  if (at == std::string::npos) return error;
  const char* begin = text.data() + at + kWord.size();
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(begin, text.data() + text.size(), index);
  if (code != std::errc{} || index >= numbers.size()) return error;
  return Error(error.code(), fmt::format("{}{}{}", text.substr(0, at + kWord.size()), numbers[index], end));
}

class FallbackStep final : public Step {
 public:
  explicit FallbackStep(FallbackParts parts) : parts_(std::move(parts)) {
    for (const View& in : parts_.inputs) reads.push_back(in.slot);
    writes = parts_.outputs;
  }

  Status run(const Frame& frame) const override {
    std::vector<mx::array> arguments;
    arguments.reserve(parts_.inputs.size());
    for (std::size_t i = 0; i < parts_.inputs.size(); ++i) {
      arguments.push_back(array_of(frame, parts_.inputs[i]));
      // What nobody reads afterwards is handed over, so that MLX may write into it.
      if (last_use_[i]) frame.array(parts_.inputs[i].slot).reset();
    }
    auto results = parts_.mlx->run(std::move(arguments), frame.options());
    if (!results) return renumbered(results.error(), parts_.numbers);
    for (std::size_t i = 0; i < parts_.outputs.size(); ++i) {
      mx::array& result = (*results)[i];
      frame.set_array(parts_.outputs[i],
                      result.flags().row_contiguous ? std::move(result) : dense_copy(result, frame.threads()));
    }
    return {};
  }

  void finish(const Plan& plan, std::uint32_t index) override {
    last_use_.assign(parts_.inputs.size(), false);
    for (std::size_t i = 0; i < parts_.inputs.size(); ++i) {
      const SlotId s = parts_.inputs[i].slot;
      const Slot& slot = plan.slots[s];
      const auto same = [s](const View& v) { return v.slot == s; };
      const bool again =
          std::any_of(parts_.inputs.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts_.inputs.end(), same);
      const bool leaves = std::any_of(plan.outputs.begin(), plan.outputs.end(), same);
      last_use_[i] = slot.storage != Storage::constant && slot.last_step == index && !again && !leaves;
    }
  }

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
