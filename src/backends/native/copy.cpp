#include "backends/native/copy.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "backends/native/threads.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

struct Axis {
  std::int64_t size, from, to;  // strides in elements
};

// Joins axes that lie one behind the other in both, and drops those of one element. Outermost first.
std::vector<Axis> joined(std::span<const std::int64_t> from, std::span<const std::int64_t> to, const Shape& shape) {
  std::vector<Axis> out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const Axis axis{shape[i], from[i], to[i]};
    if (!out.empty() && out.back().from == axis.from * axis.size && out.back().to == axis.to * axis.size) {
      out.back() = {out.back().size * axis.size, axis.from, axis.to};
    } else {
      out.push_back(axis);
    }
  }
  return out;
}

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
void copy_axes(const T* from, T* to, std::span<const Axis> axes) {
  if (axes.empty()) {
    *to = *from;
  } else if (axes.size() == 1) {
    copy_row(from, axes[0].from, to, axes[0].to, axes[0].size);
  } else if (axes.size() == 2 && axes[1].from != 1 && axes[1].to == 1 && axes[0].from == 1) {
    transpose_plane(from, to, axes[0], axes[1]);
  } else {
    for (std::int64_t i = 0; i < axes[0].size; ++i) {
      copy_axes(from + i * axes[0].from, to + i * axes[0].to, axes.subspan(1));
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
                 std::vector<Axis> mine(axes.begin(), axes.end());
                 mine[0].size = end - begin;
                 copy_axes(source + begin * mine[0].from, target + begin * mine[0].to, mine);
               });
}

struct alignas(4) Wide8 {
  std::uint32_t half[2];
};

void copy_joined(const std::byte* from, std::byte* to, std::span<const Axis> axes, std::size_t element_bytes,
                 int threads) {
  switch (element_bytes) {
    case 1: return copy_typed<std::uint8_t>(from, to, axes, threads);
    case 2: return copy_typed<std::uint16_t>(from, to, axes, threads);
    case 4: return copy_typed<std::uint32_t>(from, to, axes, threads);
    default: return copy_typed<Wide8>(from, to, axes, threads);
  }
}

class CopyStep final : public Step {
 public:
  CopyStep(View from, View to) : from_(std::move(from)), to_(std::move(to)) {
    axes_ = joined(from_.strides, to_.strides, from_.type.shape);
    reads = {from_.slot};
    writes = {to_.slot};
  }

  Status run(const Frame& frame) const override {
    copy_joined(frame.at(from_), frame.at(to_), axes_, size_of(to_.type.dtype), frame.threads());
    return {};
  }

  std::string describe() const override { return fmt::format("copy {}", to_string(to_.type)); }

 private:
  View from_, to_;
  std::vector<Axis> axes_;
};

}  // namespace

std::unique_ptr<Step> make_copy_step(const View& from, const View& to) { return std::make_unique<CopyStep>(from, to); }

void copy_strided(const std::byte* from, std::span<const std::int64_t> from_strides, std::byte* to,
                  std::span<const std::int64_t> to_strides, const Shape& shape, std::size_t element_bytes,
                  int threads) {
  copy_joined(from, to, joined(from_strides, to_strides, shape), element_bytes, threads);
}

}  // namespace reprise::native
