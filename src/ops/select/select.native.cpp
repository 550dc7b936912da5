#include "ops/select/select.native.hpp"

#include <algorithm>
#include <cstring>

#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

// Negative indices count from the end; beyond the axis the nearest element is read.
template <typename T>
std::int64_t place_of(const std::byte* indices, std::int64_t i, std::int64_t size) {
  const T index = reinterpret_cast<const T*>(indices)[i];
  if constexpr (std::is_signed_v<T>) {
    const auto wide = static_cast<std::int64_t>(index);
    return std::clamp<std::int64_t>(wide < 0 ? wide + size : wide, 0, size - 1);
  } else {
    return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(size - 1)));
  }
}

using PlaceOf = std::int64_t (*)(const std::byte*, std::int64_t, std::int64_t);

PlaceOf place_function(DType type) {
  switch (type) {
    case DType::uint8: return place_of<std::uint8_t>;
    case DType::uint16: return place_of<std::uint16_t>;
    case DType::uint32: return place_of<std::uint32_t>;
    case DType::uint64: return place_of<std::uint64_t>;
    case DType::int8: return place_of<std::int8_t>;
    case DType::int16: return place_of<std::int16_t>;
    case DType::int32: return place_of<std::int32_t>;
    case DType::int64: return place_of<std::int64_t>;
    default: return nullptr;
  }
}

// x is (outer, axis, inner), the result (outer, indices, inner).
class TakeStep final : public Step {
 public:
  TakeStep(View x, View indices, View out, std::size_t axis)
      : x_(std::move(x)), indices_(std::move(indices)), out_(std::move(out)) {
    place_ = place_function(indices_.type.dtype);
    const Shape& shape = x_.type.shape;
    for (std::size_t a = 0; a < axis; ++a) outer_ *= shape[a];
    size_ = shape[axis];
    inner_ = static_cast<std::int64_t>(size_of(x_.type.dtype));
    for (std::size_t a = axis + 1; a < shape.size(); ++a) inner_ *= shape[a];
    count_ = indices_.size();
  }

  Status run(const Frame& frame) const override {
    const std::byte* from = frame.at(x_);
    const std::byte* indices = frame.at(indices_);
    std::byte* to = frame.at(out_);
    parallel_for(frame.threads(), outer_ * count_, std::max<std::int64_t>(1, kParallelGrain / inner_),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t at = i / count_ * size_ + place_(indices, i % count_, size_);
                     std::memcpy(to + i * inner_, from + at * inner_, static_cast<std::size_t>(inner_));
                   }
                 });
    return {};
  }

  std::string describe() const override { return fmt::format("take {}", to_string(out_.type)); }

 private:
  View x_, indices_, out_;
  PlaceOf place_ = nullptr;
  std::int64_t outer_ = 1, size_ = 1, inner_ = 1, count_ = 1;
};

}  // namespace

Decision plan_take(OpPlanner& op, const ops::AxisAttrs& attrs) {
  if (!place_function(op[1].type.dtype)) return decline(fmt::format("indices are {}", name(op[1].type.dtype)));
  const View x = op.dense(0), indices = op.dense(1), out = op.result();
  const std::size_t axis = axis_of(attrs.axis, x.type.shape.size());
  op.add(std::make_unique<TakeStep>(x, indices, out, axis), {x, indices}, {out});
  return {};
}

}  // namespace reprise::native
