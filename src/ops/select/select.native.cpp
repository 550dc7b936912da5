#include "ops/select/select.native.hpp"

#include <algorithm>
#include <array>

#include "backends/native/kernels/move.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"
#include "ops/index/index.native.hpp"

namespace reprise::native {
namespace {

/// Indices that are turned into places together.
constexpr std::int64_t kTile = 256;

/// out[..., i, ...] = x[..., places[..., i, ...], ...], where x and indices are seen in the result's shape.
class TakeAlongStep final : public Step {
 public:
  /// x_view has stride 0 along the axis; there its elements lie `axis_stride` apart.
  TakeAlongStep(View x, View indices, View out, std::int64_t size, std::int64_t axis_stride)
      : x_(std::move(x)), indices_(std::move(indices)), out_(std::move(out)), size_(size), axis_stride_(axis_stride) {
    const std::span<const std::int64_t> strides[] = {x_.strides, indices_.strides, out_.strides};
    axes_ = join_axes(out_.type.shape, strides);
    if (axes_.empty()) axes_.push_back({1, {0, 0, 1}});
    for (std::size_t a = 0; a + 1 < axes_.size(); ++a) rows_ *= axes_[a].size;
  }

  Status run(const Frame& frame) const override {
    const std::int64_t columns = axes_.back().size;
    // A single row is split, else whole rows are shared out.
    const std::int64_t grain = kParallelGrain / static_cast<std::int64_t>(size_of(out_.type.dtype));
    if (rows_ == 1) {
      parallel_for(frame.threads(), columns, grain,
                   [&](std::int64_t begin, std::int64_t end) { take_row(frame, 0, begin, end); });
      return {};
    }
    parallel_for(frame.threads(), rows_, std::max<std::int64_t>(1, grain / columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) take_row(frame, row, 0, columns);
                 });
    return {};
  }

  std::string describe() const override { return fmt::format("take_along_axis {}", to_string(out_.type)); }

 private:
  void take_row(const Frame& frame, std::int64_t row, std::int64_t begin, std::int64_t end) const {
    const auto bytes = static_cast<std::int64_t>(size_of(out_.type.dtype));
    const auto index_bytes = static_cast<std::int64_t>(size_of(indices_.type.dtype));
    const SharedAxis& line = axes_.back();
    std::int64_t from = begin * line.strides[0], index = begin * line.strides[1];
    std::int64_t rest = row;
    for (std::size_t a = axes_.size() - 1; a-- > 0;) {
      const std::int64_t at = rest % axes_[a].size;
      rest /= axes_[a].size;
      from += at * axes_[a].strides[0];
      index += at * axes_[a].strides[1];
    }
    const std::byte* x = frame.at(x_) + from * bytes;
    const std::byte* indices = frame.at(indices_) + index * index_bytes;
    std::byte* out = frame.at(out_) + (row * line.size + begin) * bytes;
    std::array<std::int64_t, kTile> places;
    for (std::int64_t i = 0; i < end - begin; i += kTile) {
      const std::int64_t n = std::min(kTile, end - begin - i);
      read_places(indices + i * line.strides[1] * index_bytes, indices_.type.dtype, line.strides[1], n, size_,
                  Outside::nearest, places.data());
      take_elements(x + i * line.strides[0] * bytes, places.data(), n, axis_stride_, line.strides[0],
                    static_cast<std::size_t>(bytes), out + i * bytes);
    }
  }

  View x_, indices_, out_;
  std::int64_t size_, axis_stride_;
  std::vector<SharedAxis> axes_;
  std::int64_t rows_ = 1;
};

/// A view with other sizes where it has one element.
View repeated(View view, const Shape& shape) {
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (view.type.shape[a] == 1 && shape[a] != 1) view.strides[a] = 0;
  }
  view.type.shape = shape;
  return view;
}

}  // namespace

Decision plan_take(OpPlanner& op, const ops::AxisAttrs& attrs) {
  View x = op[0];
  const std::size_t axis = axis_of(attrs.axis, x.strides.size());
  const auto outer_axes = [&] {
    const std::span<const std::int64_t> strides[] = {std::span(x.strides).first(axis)};
    const auto middle = x.type.shape.begin() + static_cast<std::ptrdiff_t>(axis);
    return join_axes(Shape(x.type.shape.begin(), middle), strides);
  };
  auto outer = outer_axes();
  if (outer.size() > 1) {
    x = op.dense(0);
    outer = outer_axes();
  }
  GatherSource source;
  if (!outer.empty()) {
    source.outer = outer[0].size;
    source.outer_stride = outer[0].strides[0];
  }
  source.axes = {{x.type.shape[axis], x.strides[axis]}};
  const auto inner = static_cast<std::ptrdiff_t>(axis) + 1;
  source.block.assign(x.type.shape.begin() + inner, x.type.shape.end());
  source.block_strides.assign(x.strides.begin() + inner, x.strides.end());
  source.x = std::move(x);
  add_gather_step(op, std::move(source), op.dense(1));
  return {};
}

Decision plan_take_along_axis(OpPlanner& op, const ops::AxisAttrs& attrs) {
  const View out = op.result();
  const std::size_t axis = axis_of(attrs.axis, out.strides.size());
  View x = op[0];
  const std::int64_t size = x.type.shape[axis], axis_stride = x.strides[axis];
  x.type.shape[axis] = 1;
  x = repeated(std::move(x), out.type.shape);
  x.strides[axis] = 0;
  const View indices = repeated(op[1], out.type.shape);
  op.add(std::make_unique<TakeAlongStep>(x, indices, out, size, axis_stride), {x, indices}, {out});
  return {};
}

}  // namespace reprise::native
