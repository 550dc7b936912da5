#include "ops/fill/fill.native.hpp"

#include <algorithm>

#include "backends/native/arrays.hpp"
#include "backends/native/kernels/count.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

/// Tables up to this size are kept for all replays; larger ones are written by each.
constexpr std::size_t kMaxTable = 1 << 20;

class CountStep final : public Step {
 public:
  explicit CountStep(View out) : out_(std::move(out)) {}

  Status run(const Frame& frame) const override {
    std::byte* out = frame.at(out_);
    const DType dtype = out_.type.dtype;
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    parallel_for(frame.threads(), out_.size(), kParallelGrain / bytes, [&](std::int64_t begin, std::int64_t end) {
      count_up(dtype, begin, end - begin, out + begin * bytes);
    });
    return {};
  }

  std::string describe() const override { return fmt::format("count {}", to_string(out_.type)); }

 private:
  View out_;
};

// 0, 1, ... of `n` elements, dense.
View counted(OpPlanner& op, DType dtype, std::int64_t n) {
  const TensorType type{dtype, {n}};
  if (static_cast<std::size_t>(n) * size_of(dtype) <= kMaxTable) {
    mx::array table = new_array(type);
    count_up(dtype, 0, n, reinterpret_cast<std::byte*>(table.data<char>()));
    return op.constant(std::move(table));
  }
  const View out = op.scratch(type);
  op.add(std::make_unique<CountStep>(out), {}, {out});
  return out;
}

}  // namespace

Decision plan_iota(OpPlanner& op, const ops::IotaAttrs& attrs) {
  const TensorType& type = op.result_type();
  const bool whole = attrs.axis < 0 || type.shape.empty();
  const std::size_t axis = whole ? 0 : axis_of(attrs.axis, type.shape.size());
  const std::int64_t n = whole ? element_count(type.shape).value_or(0) : type.shape[axis];
  const View line = counted(op, type.dtype, n);
  View out = dense_view(line.slot, type);
  if (!whole) {
    std::fill(out.strides.begin(), out.strides.end(), 0);
    out.strides[axis] = 1;
  }
  op.set_view(std::move(out));
  return {};
}

// Element (i, j) is number columns - 1 + i - j of a line of zeros with a one among them.
Decision plan_eye(OpPlanner& op, const ops::EyeAttrs& attrs) {
  const std::int64_t n = attrs.rows + attrs.columns - 1;
  const DType dtype = op.result_type().dtype;
  if (static_cast<std::size_t>(n) * size_of(dtype) > kMaxTable) return decline("too large for a table");
  mx::array line = new_array({dtype, {n}});
  auto* data = reinterpret_cast<std::byte*>(line.data<char>());
  const std::size_t bytes = size_of(dtype);
  std::fill_n(data, static_cast<std::size_t>(n) * bytes, std::byte{0});
  std::byte zero_and_one[16] = {};
  count_up(dtype, 0, 2, zero_and_one);
  std::copy_n(zero_and_one + bytes, bytes, data + static_cast<std::size_t>(attrs.columns - 1) * bytes);
  View out = op.constant(std::move(line));
  out.type = op.result_type();
  out.strides = {1, -1};
  out.offset = attrs.columns - 1;
  op.set_view(std::move(out));
  return {};
}

}  // namespace reprise::native
