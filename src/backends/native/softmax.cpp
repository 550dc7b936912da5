#include "backends/native/softmax.hpp"

#include "backends/native/kernels/norm.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

class SoftmaxStep final : public Step {
 public:
  SoftmaxStep(View from, View to) : from_(std::move(from)), to_(std::move(to)) {
    reads = {from_.slot};
    writes = {to_.slot};
  }

  Status run(const Frame& frame) const override {
    const std::int64_t width = to_.type.shape.back();
    softmax(frame.at<float>(from_), frame.at<float>(to_), to_.size() / width, width, frame.threads());
    return {};
  }
  std::string describe() const override { return fmt::format("softmax {}", to_string(to_.type)); }

 private:
  View from_, to_;
};

}  // namespace

std::unique_ptr<Step> make_softmax_step(View from, View to) {
  return std::make_unique<SoftmaxStep>(std::move(from), std::move(to));
}

}  // namespace reprise::native
