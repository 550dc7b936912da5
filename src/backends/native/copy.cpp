#include "backends/native/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>

#include "backends/native/arrays.hpp"
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

// Two axes of which one is contiguous on each side, by squares whose sides are cache lines: each line is read once, and
// written once, which matters where lines lie a power of two apart and so share the same few places of the cache.
template <typename T>
void transpose_plane(const T* from, T* to, const Axis& rows, const Axis& columns) {
  constexpr std::int64_t kSide = 64 / static_cast<std::int64_t>(sizeof(T));
  T square[kSide * kSide];  // one line of the source after the other
  for (std::int64_t r0 = 0; r0 < rows.size; r0 += kSide) {
    const std::int64_t nr = std::min(kSide, rows.size - r0);
    for (std::int64_t c0 = 0; c0 < columns.size; c0 += kSide) {
      const std::int64_t nc = std::min(kSide, columns.size - c0);
      for (std::int64_t c = 0; c < nc; ++c) {
        const T* line = from + r0 + (c0 + c) * columns.from;
        if (nr == kSide) {
          std::memcpy(square + c * kSide, line, 64);  // of a size known here: a few moves
        } else {
          for (std::int64_t r = 0; r < nr; ++r) square[c * kSide + r] = line[r];
        }
      }
      for (std::int64_t r = 0; r < nr; ++r) {
        T* line = to + (r0 + r) * rows.to + c0;
        if (nc == kSide) {
          for (std::int64_t c = 0; c < kSide; ++c) line[c] = square[c * kSide + r];
        } else {
          for (std::int64_t c = 0; c < nc; ++c) line[c] = square[c * kSide + r];
        }
      }
    }
  }
}

// The same with axes between the two.
template <typename T>
void transpose_planes(const T* from, T* to, const Axis& rows, std::span<const Axis> between, const Axis& columns) {
  if (between.empty()) {
    transpose_plane(from, to, rows, columns);
    return;
  }
  for (std::int64_t i = 0; i < between[0].size; ++i) {
    transpose_planes(from + i * between[0].from, to + i * between[0].to, rows, between.subspan(1), columns);
  }
}

template <typename T>
void copy_axes(const T* from, T* to, const Axis& outer, std::span<const Axis> inner) {
  if (inner.empty()) {
    copy_row(from, outer.from, to, outer.to, outer.size);
  } else if (outer.from == 1 && inner.back().to == 1 && inner.back().from != 1 && inner.back().from != 0) {
    transpose_planes(from, to, outer, inner.first(inner.size() - 1), inner.back());
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

class TakeOverStep final : public Step {
 public:
  TakeOverStep(View from, View to, bool copied) : from_(std::move(from)), to_(std::move(to)), copied_(copied) {
    reads = {from_.slot};
    writes = {to_.slot};
  }

  Status run(const Frame& frame) const override {
    // The address of `from` stays, for steps that read it while they write `to`.
    if (frame.array(from_.slot)->is_donatable()) {
      frame.set_array(to_.slot, frame.take_array(from_.slot));
    } else {
      frame.set_array(to_.slot, copied_ ? dense_copy(*frame.array(from_.slot), frame.threads()) : new_array(to_.type));
    }
    return {};
  }

  std::string describe() const override {
    return fmt::format("take over {}{}", to_string(to_.type),
                       copied_ ? " (a copy, unless it is donated)" : " if donated");
  }

 private:
  View from_, to_;
  bool copied_;
};

}  // namespace

StridedCopy::StridedCopy(const Shape& shape, std::span<const std::int64_t> from_strides,
                         std::span<const std::int64_t> to_strides, std::size_t element_bytes)
    : element_bytes_(element_bytes) {
  // In the target's order, so that it is written from front to back.
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(to_strides[a]) > std::abs(to_strides[b]); });
  Shape sizes;
  std::vector<std::int64_t> from, to;
  for (const std::size_t a : order) {
    sizes.push_back(shape[a]);
    from.push_back(from_strides[a]);
    to.push_back(to_strides[a]);
  }
  const std::span<const std::int64_t> both[] = {from, to};
  for (const SharedAxis& axis : join_axes(sizes, both)) axes_.push_back({axis.size, axis.strides[0], axis.strides[1]});
}

void StridedCopy::run(const std::byte* from, std::byte* to, int threads) const {
  switch (element_bytes_) {
    case 1: return copy_typed<std::uint8_t>(from, to, axes_, threads);
    case 2: return copy_typed<std::uint16_t>(from, to, axes_, threads);
    case 4: return copy_typed<std::uint32_t>(from, to, axes_, threads);
    default: return copy_typed<Wide8>(from, to, axes_, threads);
  }
}

std::unique_ptr<Step> make_take_over_step(View from, View to, bool copied) {
  return std::make_unique<TakeOverStep>(std::move(from), std::move(to), copied);
}

std::unique_ptr<Step> make_copy_step(const View& from, const View& to) { return std::make_unique<CopyStep>(from, to); }

}  // namespace reprise::native
