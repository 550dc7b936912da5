#include "ops/slice/slice.native.hpp"

#include <algorithm>

#include "backends/native/copy.hpp"
#include "backends/native/kernels/indices.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

/// A start that a replay brings.
struct DynamicStart {
  View view;
  std::int64_t last = 0;  ///< the greatest that leaves room for the window
  std::int64_t stride = 0;
};

/// Moves `window`, a view of the whole array, to its known starts. Gives those that are not known yet.
std::vector<DynamicStart> place_window(OpPlanner& op, View& window, std::int64_t mask, const ops::Ints& lengths,
                                       const ops::Ints& starts, std::size_t first_operand) {
  std::vector<DynamicStart> dynamic;
  std::size_t operand = first_operand;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t last = window.type.shape[i] - lengths[i];
    if (i < 62 && ((mask >> i) & 1) != 0) {
      // Where the window is as large as the axis there is but one place for it.
      if (last > 0) dynamic.push_back({op[operand], last, window.strides[i]});
      ++operand;
    } else {
      window.offset += std::clamp<std::int64_t>(starts[i], 0, last) * window.strides[i];
    }
  }
  return dynamic;
}

/// Copies between a window, whose place is read at each replay, and a tensor of its shape.
class WindowStep final : public Step {
 public:
  WindowStep(View window, View other, std::vector<DynamicStart> starts, bool put)
      : window_(std::move(window)), other_(std::move(other)), starts_(std::move(starts)), put_(put) {
    const View& from = put ? other_ : window_;
    const View& to = put ? window_ : other_;
    copy_ = StridedCopy(other_.type.shape, from.strides, to.strides, size_of(other_.type.dtype));
    reads = {from.slot};
    for (const DynamicStart& s : starts_) reads.push_back(s.view.slot);
    writes = {to.slot};
  }

  Status run(const Frame& frame) const override {
    std::int64_t offset = 0;
    for (const DynamicStart& s : starts_) {
      offset += clamped_start(frame.at(s.view), s.view.type.dtype, s.last) * s.stride;
    }
    std::byte* window = frame.at(window_) + offset * static_cast<std::int64_t>(size_of(other_.type.dtype));
    std::byte* other = frame.at(other_);
    copy_.run(put_ ? other : window, put_ ? window : other, frame.threads());
    return {};
  }

  std::string describe() const override {
    return fmt::format("{} {}, {} dynamic starts", put_ ? "put_slice" : "slice", to_string(other_.type),
                       starts_.size());
  }

 private:
  View window_, other_;
  std::vector<DynamicStart> starts_;
  bool put_;
  StridedCopy copy_;
};

}  // namespace

Decision plan_slice(OpPlanner& op, const ops::SliceAttrs& attrs) {
  View window = op[0];
  std::vector<DynamicStart> starts = place_window(op, window, attrs.dynamic_mask, attrs.lengths, attrs.starts, 1);
  for (std::size_t i = 0; i < attrs.strides.size(); ++i) {
    // A step beyond the span is never taken.
    window.strides[i] *= std::min(attrs.strides[i], attrs.lengths[i]);
  }
  if (starts.empty()) {
    op.set_view(std::move(window));
    return {};
  }
  op.add(std::make_unique<WindowStep>(std::move(window), op.result(), std::move(starts), false), {}, {});
  return {};
}

Decision plan_put_slice(OpPlanner& op, const ops::PutSliceAttrs& attrs) {
  const View update = op.cast(op[1], op.result_type().dtype);
  if (attrs.lengths == op.result_type().shape) {
    op.set_view(update);
    return {};
  }
  View window = op.updated(0);
  std::vector<DynamicStart> starts = place_window(op, window, attrs.dynamic_mask, attrs.lengths, attrs.starts, 2);
  op.add(std::make_unique<WindowStep>(std::move(window), update, std::move(starts), true), {}, {});
  return {};
}

}  // namespace reprise::native
