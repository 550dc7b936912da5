// Folding of sliding windows, one axis after the other and without a copy of each window: what the lowerings of the
// family share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/mlx/lowering.hpp"

namespace reprise::mlx_backend {

/// The windows along one axis of x: window o has the elements o * stride + k * dilation - low for k from 0 to size - 1.
struct WindowAxis {
  std::int64_t low = 0;
  std::int64_t stride = 1;
  std::int64_t size = 1;
  std::int64_t dilation = 1;
  std::int64_t count = 0;
};

/// What is known of an element or of a stretch of them: arrays of one shape, such as a value and its position.
using FoldState = std::vector<array>;

struct Fold {
  /// What is known of two stretches, from what is known of the `earlier` and of the `later`; associative.
  std::function<FoldState(const FoldState& earlier, const FoldState& later)> join;
  FoldState outside;     ///< of an element before or after x: scalars
  bool neutral = false;  ///< joining with `outside` changes nothing, and the order of joining does not matter
  /// All elements along an axis joined, the axis dropped; for neutral folds.
  std::function<FoldState(const FoldState& state, int axis)> reduce = {};
};

/// One element for each window. x has elements.
FoldState fold_windows(FoldState x, const Fold& fold, const std::vector<WindowAxis>& axes, mx::Stream stream);

}  // namespace reprise::mlx_backend
