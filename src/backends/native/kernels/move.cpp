#include "backends/native/kernels/move.hpp"

#include <algorithm>
#include <cstring>

namespace reprise::native {
namespace {

using Axis = StridedCopy::Axis;

/// How far ahead the first lines of a block are asked for: blocks lie where no prefetcher expects them.
constexpr std::int64_t kAhead = 4;
constexpr std::int64_t kLine = 64;

// Calls f with a value of an unsigned type of that size. Eight bytes need be aligned to four only, as complex is.
struct alignas(4) Wide8 {
  std::uint32_t half[2];
};
template <typename F>
void with_element(std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(Wide8{});
  }
}

void prefetch(const std::byte* from, std::int64_t bytes) {
  for (std::int64_t at = 0; at < std::min(bytes, 4 * kLine); at += kLine) __builtin_prefetch(from + at);
}

// --- Adding

struct Complex {
  float real, imag;
  Complex& operator+=(const Complex& other) {
    real += other.real;
    imag += other.imag;
    return *this;
  }
};

struct Bool {
  std::uint8_t byte;
  Bool& operator+=(const Bool& other) {
    byte |= other.byte;
    return *this;
  }
};

template <typename T>
void add_axes(const T* from, T* to, std::span<const Axis> axes) {
  if (axes.empty()) {
    *to += *from;
  } else if (axes.size() == 1) {
    const Axis& a = axes[0];
    if (a.from == 1 && a.to == 1) {
      for (std::int64_t i = 0; i < a.size; ++i) to[i] += from[i];
    } else {
      for (std::int64_t i = 0; i < a.size; ++i) to[i * a.to] += from[i * a.from];
    }
  } else {
    for (std::int64_t i = 0; i < axes[0].size; ++i) {
      add_axes(from + i * axes[0].from, to + i * axes[0].to, axes.subspan(1));
    }
  }
}

// Signed integers are added as unsigned ones: they wrap.
template <typename T>
void add_as(const std::byte* blocks, const std::int64_t* offsets, std::int64_t n, std::int64_t begin, std::int64_t end,
            const StridedCopy& block, std::int64_t block_elements, std::byte* x) {
  const T* from = reinterpret_cast<const T*>(blocks);
  T* to = reinterpret_cast<T*>(x);
  const auto axes = block.axes();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = offsets[i];
    if (at < begin || at >= end) continue;
    add_axes(from + i * block_elements, to + at, axes);
  }
}

}  // namespace

void gather_blocks(const std::byte* x, const std::int64_t* offsets, std::int64_t n, const StridedCopy& block,
                   std::int64_t block_elements, std::size_t element_bytes, std::byte* out) {
  if (block_elements == 1) {
    with_element(element_bytes, [&](auto element) {
      using T = decltype(element);
      const T* from = reinterpret_cast<const T*>(x);
      T* to = reinterpret_cast<T*>(out);
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[offsets[i]];
    });
    return;
  }
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  const std::int64_t block_bytes = block_elements * bytes;
  if (!block.is_contiguous()) {
    for (std::int64_t i = 0; i < n; ++i) block.run(x + offsets[i] * bytes, out + i * block_bytes, 1);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) prefetch(x + offsets[i + kAhead] * bytes, block_bytes);
    std::memcpy(out + i * block_bytes, x + offsets[i] * bytes, static_cast<std::size_t>(block_bytes));
  }
}

void put_blocks(const std::byte* blocks, const std::int64_t* offsets, std::int64_t n, std::int64_t begin,
                std::int64_t end, const StridedCopy& block, std::int64_t block_elements, std::size_t element_bytes,
                std::byte* x) {
  if (block_elements == 1) {
    with_element(element_bytes, [&](auto element) {
      using T = decltype(element);
      const T* from = reinterpret_cast<const T*>(blocks);
      T* to = reinterpret_cast<T*>(x);
      for (std::int64_t i = 0; i < n; ++i) {
        if (offsets[i] >= begin && offsets[i] < end) to[offsets[i]] = from[i];
      }
    });
    return;
  }
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  for (std::int64_t i = 0; i < n; ++i) {
    if (offsets[i] < begin || offsets[i] >= end) continue;
    block.run(blocks + i * block_elements * bytes, x + offsets[i] * bytes, 1);
  }
}

AddBlocks add_blocks(DType dtype) {
  switch (dtype) {
    case DType::bool_: return add_as<Bool>;
    case DType::uint8:
    case DType::int8: return add_as<std::uint8_t>;
    case DType::uint16:
    case DType::int16: return add_as<std::uint16_t>;
    case DType::uint32:
    case DType::int32: return add_as<std::uint32_t>;
    case DType::uint64:
    case DType::int64: return add_as<std::uint64_t>;
    case DType::float32: return add_as<float>;
    case DType::float64: return add_as<double>;
    case DType::complex64: return add_as<Complex>;
    default: return nullptr;
  }
}

void take_elements(const std::byte* x, const std::int64_t* places, std::int64_t n, std::int64_t axis_stride,
                   std::int64_t stride, std::size_t element_bytes, std::byte* out) {
  with_element(element_bytes, [&](auto element) {
    using T = decltype(element);
    const T* from = reinterpret_cast<const T*>(x);
    T* to = reinterpret_cast<T*>(out);
    if (stride == 0 && axis_stride == 1) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[places[i]];
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[places[i] * axis_stride + i * stride];
    }
  });
}

}  // namespace reprise::native
