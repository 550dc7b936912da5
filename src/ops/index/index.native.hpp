// Native planners of the index family, and the steps that `take` shares with it.
#pragma once

#include <array>

#include "backends/native/kernels/indices.hpp"
#include "backends/native/native.hpp"
#include "ops/index/index.hpp"

namespace reprise::native {

/// Blocks of a tensor at indexed places, for each of `outer` tensors that lie `outer_stride` elements apart.
struct GatherSource {
  View x;  ///< the first of them, in any layout
  std::int64_t outer = 1;
  std::int64_t outer_stride = 0;
  std::vector<IndexedAxis> axes;
  Shape block;  ///< the extent of a block along each axis that has a stride below
  std::vector<std::int64_t> block_strides;
};

/// Result 0, read as (outer, places, block...), takes the blocks; `indices` is dense, (places, axes).
void add_gather_step(OpPlanner& op, GatherSource source, const View& indices);

Decision plan_gather(OpPlanner& op, const ops::GatherAttrs& attrs);
Decision plan_scatter(OpPlanner& op, const ops::ScatterAttrs& attrs, bool add);

inline Decision plan_indexed_add(OpPlanner& op, const ops::ScatterAttrs& attrs) {
  return plan_scatter(op, attrs, true);
}
inline Decision plan_indexed_put(OpPlanner& op, const ops::ScatterAttrs& attrs) {
  return plan_scatter(op, attrs, false);
}

inline constexpr std::array kIndexNatives{native<ops::GatherAttrs, plan_gather>("gather"),
                                          native<ops::ScatterAttrs, plan_indexed_add>("indexed_add"),
                                          native<ops::ScatterAttrs, plan_indexed_put>("indexed_put")};

}  // namespace reprise::native
