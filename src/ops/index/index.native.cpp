#include "ops/index/index.native.hpp"

#include <algorithm>
#include <array>

#include "backends/native/copy.hpp"
#include "backends/native/kernels/move.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

/// Indices that are turned into offsets together.
constexpr std::int64_t kTile = 256;

std::int64_t grain_of(std::int64_t bytes) { return std::max<std::int64_t>(1, kParallelGrain / bytes); }

class GatherStep final : public Step {
 public:
  GatherStep(GatherSource source, View indices, View out)
      : source_(std::move(source)), indices_(std::move(indices)), out_(std::move(out)) {
    bytes_ = size_of(out_.type.dtype);
    block_elements_ = element_count(source_.block).value_or(0);
    block_ = StridedCopy(source_.block, source_.block_strides, dense_strides(source_.block), bytes_);
    places_ = indices_.size() / static_cast<std::int64_t>(source_.axes.size());
  }

  Status run(const Frame& frame) const override {
    const auto bytes = static_cast<std::int64_t>(bytes_);
    const std::byte* x = frame.at(source_.x);
    const std::byte* indices = frame.at(indices_);
    std::byte* out = frame.at(out_);
    parallel_for(frame.threads(), source_.outer * places_, grain_of(block_elements_ * bytes),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::array<std::int64_t, kTile> offsets;
                   for (std::int64_t i = begin; i < end;) {
                     const std::int64_t outer = i / places_, place = i % places_;
                     const std::int64_t n = std::min({kTile, end - i, places_ - place});
                     read_offsets(indices, indices_.type.dtype, source_.axes, place, place + n, Outside::nearest,
                                  offsets.data());
                     gather_blocks(x + outer * source_.outer_stride * bytes, offsets.data(), n, block_, block_elements_,
                                   bytes_, out + i * block_elements_ * bytes);
                     i += n;
                   }
                 });
    return {};
  }

  std::string describe() const override {
    return fmt::format("gather {}, {} blocks of {}", to_string(out_.type), source_.outer * places_, block_elements_);
  }

 private:
  GatherSource source_;
  View indices_, out_;
  StridedCopy block_;
  std::size_t bytes_ = 1;
  std::int64_t block_elements_ = 1, places_ = 1;
};

/// Each thread writes a part of x and skips the blocks that begin elsewhere: blocks of different places do not overlap,
/// and those of one place stay in order.
class ScatterStep final : public Step {
 public:
  ScatterStep(View x, View indices, View updates, View offsets, std::vector<IndexedAxis> axes, const Shape& block,
              AddBlocks add)
      : x_(std::move(x)),
        indices_(std::move(indices)),
        updates_(std::move(updates)),
        offsets_(std::move(offsets)),
        axes_(std::move(axes)),
        block_(block, dense_strides(block), x_.strides, size_of(x_.type.dtype)),
        block_elements_(element_count(block).value_or(0)),
        add_(add) {}

  Status run(const Frame& frame) const override {
    const std::byte* indices = frame.at(indices_);
    const std::byte* updates = frame.at(updates_);
    std::byte* x = frame.at(x_);
    auto* offsets = frame.at<std::int64_t>(offsets_);
    const std::int64_t places = offsets_.size();
    parallel_for(frame.threads(), places, kParallelGrain / 8, [&](std::int64_t begin, std::int64_t end) {
      read_offsets(indices, indices_.type.dtype, axes_, begin, end, Outside::dropped, offsets + begin);
    });
    const std::size_t bytes = size_of(x_.type.dtype);
    // As many parts of x as the updates are worth: each goes through all offsets.
    const std::int64_t worth = updates_.size() * static_cast<std::int64_t>(bytes) / kParallelGrain;
    const std::int64_t parts = std::clamp<std::int64_t>(worth, 1, frame.threads());
    parallel_parts(frame.threads(), parts, [&](std::int64_t p) {
      const std::int64_t begin = x_.size() * p / parts, end = x_.size() * (p + 1) / parts;
      if (add_) {
        add_(updates, offsets, places, begin, end, block_, block_elements_, x);
      } else {
        put_blocks(updates, offsets, places, begin, end, block_, block_elements_, bytes, x);
      }
    });
    return {};
  }

  std::string describe() const override {
    return fmt::format("{} {}, {} blocks of {}", add_ ? "indexed_add" : "indexed_put", to_string(x_.type),
                       offsets_.size(), block_elements_);
  }

 private:
  View x_, indices_, updates_, offsets_;
  std::vector<IndexedAxis> axes_;
  StridedCopy block_;
  std::int64_t block_elements_;
  AddBlocks add_;
};

std::vector<IndexedAxis> indexed_axes(const View& x, const ops::Ints& axes) {
  std::vector<IndexedAxis> out;
  for (const auto axis : axes) {
    const std::size_t a = axis_of(axis, x.strides.size());
    out.push_back({x.type.shape[a], x.strides[a]});
  }
  return out;
}

}  // namespace

void add_gather_step(OpPlanner& op, GatherSource source, const View& indices) {
  const View x = source.x, out = op.result();
  op.add(std::make_unique<GatherStep>(std::move(source), indices, out), {x, indices}, {out});
}

Decision plan_gather(OpPlanner& op, const ops::GatherAttrs& attrs) {
  const View x = op[0];
  GatherSource source;
  source.x = x;
  source.axes = indexed_axes(x, attrs.axes);
  source.block.assign(attrs.slice_sizes.begin(), attrs.slice_sizes.end());
  source.block_strides = x.strides;
  add_gather_step(op, std::move(source), op.dense(1));
  return {};
}

Decision plan_scatter(OpPlanner& op, const ops::ScatterAttrs& attrs, bool add) {
  const TensorType type = op.result_type();
  const bool in_float = add && (type.dtype == DType::float16 || type.dtype == DType::bfloat16);
  View updates = op.dense(op.cast(op[2], type.dtype));
  const View indices = op.dense(1);
  View x;
  if (in_float) {
    updates = op.cast(updates, DType::float32);
    x = op.cast(op[0], DType::float32);
  } else {
    x = op.updated(0);
  }
  const Shape block(attrs.updates_shape.end() - static_cast<std::ptrdiff_t>(type.shape.size()),
                    attrs.updates_shape.end());
  const View offsets = op.scratch({DType::int64, {indices.size() / static_cast<std::int64_t>(attrs.axes.size())}});
  op.add(std::make_unique<ScatterStep>(x, indices, updates, offsets, indexed_axes(x, attrs.axes), block,
                                       add ? add_blocks(x.type.dtype) : nullptr),
         {indices, updates}, {x, offsets});
  if (in_float) op.set_view(op.cast(x, type.dtype));
  return {};
}

}  // namespace reprise::native
