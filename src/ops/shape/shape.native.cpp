#include "ops/shape/shape.native.hpp"

#include <algorithm>

#include "backends/native/copy.hpp"

namespace reprise::native {
namespace {

// Copies each operand into its part of the result along an axis of the result.
Decision join(OpPlanner& op, std::size_t axis, bool new_axis) {
  const View whole = op.result();
  std::int64_t at = 0;
  for (std::size_t i = 0; i < op.size(); ++i) {
    View from = op.cast(op[i], whole.type.dtype);
    if (new_axis) {
      const auto place = static_cast<std::ptrdiff_t>(axis);
      from.type.shape.insert(from.type.shape.begin() + place, 1);
      from.strides.insert(from.strides.begin() + place, 0);
    }
    View part = whole;
    part.type.shape = from.type.shape;
    part.offset += at * whole.strides[axis];
    at += from.type.shape[axis];
    op.add(make_copy_step(from, part), {}, {});
  }
  return {};
}

}  // namespace

Decision plan_reshape(OpPlanner& op, const ops::ShapeAttrs&) {
  const View x = op.dense(0);
  View out = dense_view(x.slot, op.result_type());
  out.offset = x.offset;
  op.set_view(std::move(out));
  return {};
}

Decision plan_squeeze(OpPlanner& op, const ops::AxesAttrs& attrs) {
  View x = op[0];
  std::vector<bool> gone(x.strides.size());
  for (const auto axis : attrs.axes) gone[axis_of(axis, gone.size())] = true;
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) strides.push_back(x.strides[i]);
  }
  x.strides = std::move(strides);
  op.set_view(std::move(x));
  return {};
}

Decision plan_transpose(OpPlanner& op, const ops::AxesAttrs& attrs) {
  View x = op[0];
  const std::size_t rank = x.strides.size();
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < rank; ++i) {
    // Without axes nothing moves.
    strides.push_back(x.strides[attrs.axes.empty() ? i : axis_of(attrs.axes[i], rank)]);
  }
  x.strides = std::move(strides);
  op.set_view(std::move(x));
  return {};
}

Decision plan_broadcast(OpPlanner& op, const ops::BroadcastAttrs& attrs) {
  View x = op[0];
  const std::size_t rank = attrs.shape.size();
  Shape placed(rank, 1);
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
    axes.push_back(axis_of(attrs.axes[i], rank));
    placed[axes[i]] = x.type.shape[i];
  }
  std::vector<std::int64_t> strides(rank, 0);
  if (std::is_sorted(axes.begin(), axes.end())) {
    for (std::size_t i = 0; i < axes.size(); ++i) strides[axes[i]] = x.strides[i];
  } else {
    // Axes that do not increase reshape the operand, row-major.
    x = op.dense(0);
    strides = dense_strides(placed);
  }
  for (std::size_t a = 0; a < rank; ++a) {
    if (placed[a] == 1) strides[a] = 0;
  }
  x.strides = std::move(strides);
  op.set_view(std::move(x));
  return {};
}

// The borders are filled slab by slab, so that nothing is written twice, unless values go between neighbours too.
Decision plan_pad(OpPlanner& op, const ops::PadAttrs& attrs) {
  View kept = op[0];  // what of x the result has
  const View whole = op.result();
  View target = whole;  // where that goes
  bool some = true, interior = false;
  std::vector<std::int64_t> starts;  // of that, by axis; cutting off may leave a gap before the first
  for (std::size_t i = 0; i < attrs.low.size(); ++i) {
    const std::int64_t step = attrs.interior[i] + 1, low = attrs.low[i], size = kept.type.shape[i];
    const auto count_below = [step](std::int64_t limit) { return limit <= 0 ? 0 : (limit + step - 1) / step; };
    const std::int64_t first = std::min(count_below(-low), size);
    const std::int64_t last = std::clamp(count_below(whole.type.shape[i] - low), first, size);
    kept.offset += first * kept.strides[i];
    kept.type.shape[i] = last - first;
    starts.push_back(low + first * step);
    target.offset += starts[i] * whole.strides[i];
    target.strides[i] *= step;
    target.type.shape[i] = last - first;
    some = some && last > first;
    interior = interior || (attrs.interior[i] > 0 && last - first > 1);
  }
  View value = op.cast(op[1], whole.type.dtype);
  const auto fill = [&](const View& part) {
    value.type.shape = part.type.shape;
    value.strides.assign(part.strides.size(), 0);
    op.add(make_copy_step(value, part), {}, {});
  };
  if (!some || interior) {
    fill(whole);
  } else {
    View middle = whole;
    for (std::size_t i = 0; i < attrs.low.size(); ++i) {
      View low = middle, high = middle;
      low.type.shape[i] = starts[i];
      const std::int64_t end = low.type.shape[i] + kept.type.shape[i];
      high.type.shape[i] -= end;
      high.offset += end * whole.strides[i];
      if (low.type.shape[i] > 0) fill(low);
      if (high.type.shape[i] > 0) fill(high);
      middle.offset += low.type.shape[i] * whole.strides[i];
      middle.type.shape[i] = kept.type.shape[i];
    }
  }
  if (some) op.add(make_copy_step(kept, target), {}, {});
  return {};
}

Decision plan_reverse(OpPlanner& op, const ops::AxesAttrs& attrs) {
  View x = op[0];
  for (const auto given : attrs.axes) {
    const std::size_t axis = axis_of(given, x.strides.size());
    x.offset += (x.type.shape[axis] - 1) * x.strides[axis];
    x.strides[axis] = -x.strides[axis];
  }
  op.set_view(std::move(x));
  return {};
}

Decision plan_concatenate(OpPlanner& op, const ops::AxisAttrs& attrs) {
  return join(op, axis_of(attrs.axis, op.result_type().shape.size()), false);
}

Decision plan_stack(OpPlanner& op, const ops::AxisAttrs& attrs) {
  return join(op, axis_of(attrs.axis, op.result_type().shape.size()), true);
}

}  // namespace reprise::native
