#include "ops/index/index.hpp"

#include <algorithm>

namespace reprise::ops {
namespace {

// The axes that the columns of `indices` count along.
Result<std::vector<std::size_t>> indexed_axes(const InferContext& context, const Ints& axes) {
  const TensorType& indices = context[1];
  REPRISE_RETURN_IF_ERROR(context.require_dtype(1, kIntegers));
  REPRISE_RETURN_IF_ERROR(context.require_min_rank(1, 1));
  if (axes.empty()) return context.error("attribute 'axes' is empty; wanted at least one axis of x");
  if (indices.shape.back() != static_cast<std::int64_t>(axes.size())) {
    return context.error("indices is {}: its last axis has {}; attribute 'axes' names {}", to_string(indices),
                         indices.shape.back(), axes.size());
  }
  return context.axes("axes", axes, context[0].rank());
}

bool contains(const std::vector<std::size_t>& list, std::size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Result<Types> infer_gather(const InferContext& context, const GatherAttrs& attrs) {
  const TensorType& x = context[0];
  const TensorType& indices = context[1];
  REPRISE_ASSIGN(const auto axes, indexed_axes(context, attrs.axes));
  if (attrs.slice_sizes.size() != x.shape.size()) {
    return context.error("attribute 'slice_sizes' has {} entries; x is {}, which has {} axes", attrs.slice_sizes.size(),
                         to_string(x), x.rank());
  }
  Shape raw(indices.shape.begin(), indices.shape.end() - 1);
  const auto places = element_count(raw);
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const std::int64_t size = attrs.slice_sizes[i];
    if (contains(axes, i) && size != 1) {
      return context.error("attribute 'slice_sizes' has {} for axis {}, which is indexed; wanted 1", size, i);
    }
    if (contains(axes, i) && x.shape[i] == 0 && places != 0) {
      return context.error("x is {}: axis {} is empty; wanted elements to take", to_string(x), i);
    }
    if (!contains(axes, i) && size > x.shape[i]) {
      return context.error("attribute 'slice_sizes' asks {} of axis {}; x is {}", size, i, to_string(x));
    }
    raw.push_back(size);
  }
  if (element_count(raw) != element_count(attrs.shape)) {
    return context.error("the blocks are {}; they do not fill attribute 'shape', {}", to_string(raw),
                         to_string(attrs.shape));
  }
  return Types{{x.dtype, attrs.shape}};
}

Result<Types> infer_scatter(const InferContext& context, const ScatterAttrs& attrs) {
  const TensorType& x = context[0];
  const TensorType& indices = context[1];
  const TensorType& updates = context[2];
  REPRISE_ASSIGN(const auto axes, indexed_axes(context, attrs.axes));
  const std::size_t batch = indices.shape.size() - 1;
  const Shape& u = attrs.updates_shape;
  if (u.size() != batch + x.shape.size()) {
    return context.error("attribute 'updates_shape' is {}; wanted {} batch axes and {} of x", to_string(u), batch,
                         x.rank());
  }
  if (element_count(u) != element_count(updates.shape)) {
    return context.error("updates is {}; its elements do not fill attribute 'updates_shape', {}", to_string(updates),
                         to_string(u));
  }
  for (std::size_t i = 0; i < batch; ++i) {
    // No update at all is fine: there is nothing to write.
    if (u[i] != indices.shape[i] && element_count(u) != 0) {
      return context.error("attribute 'updates_shape' is {}; indices is {}, so wanted {} at axis {}", to_string(u),
                           to_string(indices), indices.shape[i], i);
    }
  }
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const std::int64_t size = u[batch + i];
    if (contains(axes, i) ? size != 1 && element_count(u) != 0 : size > x.shape[i]) {
      return context.error("attribute 'updates_shape' is {}: axis {} of x, which is {}, takes {}", to_string(u), i,
                           to_string(x),
                           contains(axes, i) ? "1, since it is indexed" : fmt::format("up to {}", x.shape[i]));
    }
  }
  return Types{x};
}

}  // namespace reprise::ops
