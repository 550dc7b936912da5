#include "backends/native/copy.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "backends/native/kernels/transpose.hpp"
#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

using Axis = StridedCopy::Axis;

template <typename T>
void copy_row(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else if (to_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Two axes of which one is contiguous on each side: in blocks that stay in the first-level cache.
template <typename T>
void transpose_plane(const T* from, T* to, const Axis& rows, const Axis& columns) {
  constexpr std::int64_t kBlock = 64 / static_cast<std::int64_t>(sizeof(T)) * 2;
  for (std::int64_t r0 = 0; r0 < rows.size; r0 += kBlock) {
    const std::int64_t r1 = std::min(r0 + kBlock, rows.size);
    for (std::int64_t c0 = 0; c0 < columns.size; c0 += kBlock) {
      const std::int64_t c1 = std::min(c0 + kBlock, columns.size);
      for (std::int64_t r = r0; r < r1; ++r) {
        for (std::int64_t c = c0; c < c1; ++c)
          to[r * rows.to + c * columns.to] = from[r * rows.from + c * columns.from];
      }
    }
  }
}

template <typename T>
void copy_axes(const T* from, T* to, const Axis& outer, std::span<const Axis> inner) {
  if (inner.empty()) {
    copy_row(from, outer.from, to, outer.to, outer.size);
  } else if (inner.size() == 1 && inner[0].from != 1 && inner[0].to == 1 && outer.from == 1) {
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      transpose_words(from, inner[0].from, to, outer.to, outer.size, inner[0].size);
    } else {
      transpose_plane(from, to, outer, inner[0]);
    }
  } else {
    for (std::int64_t i = 0; i < outer.size; ++i) {
      copy_axes(from + i * outer.from, to + i * outer.to, inner[0], inner.subspan(1));
    }
  }
}

template <typename T>
void copy_typed(const std::byte* from, std::byte* to, std::span<const Axis> axes, int threads) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  if (axes.empty()) {
    *target = *source;
    return;
  }
  std::int64_t inner = static_cast<std::int64_t>(sizeof(T));
  for (const Axis& axis : axes.subspan(1)) inner *= axis.size;
  parallel_for(threads, axes[0].size, std::max<std::int64_t>(1, kParallelGrain / inner),
               [&](std::int64_t begin, std::int64_t end) {
                 const Axis& rows = axes[0];
                 copy_axes(source + begin * rows.from, target + begin * rows.to, {end - begin, rows.from, rows.to},
                           axes.subspan(1));
               });
}

struct alignas(4) Wide8 {
  std::uint32_t half[2];
};

class CopyStep final : public Step {
 public:
  CopyStep(View from, View to)
      : from_(std::move(from)),
        to_(std::move(to)),
        copy_(from_.type.shape, from_.strides, to_.strides, size_of(to_.type.dtype)) {
    reads = {from_.slot};
    writes = {to_.slot};
  }

  Status run(const Frame& frame) const override {
    copy_.run(frame.at(from_), frame.at(to_), frame.threads());
    return {};
  }

  std::string describe() const override { return fmt::format("copy {}", to_string(to_.type)); }

 private:
  View from_, to_;
  StridedCopy copy_;
};

}  // namespace

StridedCopy::StridedCopy(const Shape& shape, std::span<const std::int64_t> from_strides,
                         std::span<const std::int64_t> to_strides, std::size_t element_bytes)
    : element_bytes_(element_bytes) {
  const std::span<const std::int64_t> both[] = {from_strides, to_strides};
  for (const SharedAxis& axis : join_axes(shape, both)) axes_.push_back({axis.size, axis.strides[0], axis.strides[1]});
}

void StridedCopy::run(const std::byte* from, std::byte* to, int threads) const {
  switch (element_bytes_) {
    case 1: return copy_typed<std::uint8_t>(from, to, axes_, threads);
    case 2: return copy_typed<std::uint16_t>(from, to, axes_, threads);
    case 4: return copy_typed<std::uint32_t>(from, to, axes_, threads);
    default: return copy_typed<Wide8>(from, to, axes_, threads);
  }
}

std::unique_ptr<Step> make_copy_step(const View& from, const View& to) { return std::make_unique<CopyStep>(from, to); }

}  // namespace reprise::native
