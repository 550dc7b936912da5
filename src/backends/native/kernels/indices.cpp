#include "backends/native/kernels/indices.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "backends/native/kernels/half.hpp"

namespace reprise::native {
namespace {

template <typename T>
void places_of(const std::byte* indices, std::int64_t stride, std::int64_t n, std::int64_t size, Outside outside,
               std::int64_t* places) {
  const T* from = reinterpret_cast<const T*>(indices);
  const auto place = [&](std::int64_t i) -> std::int64_t {
    if constexpr (std::is_signed_v<T>) {
      const auto index = static_cast<std::int64_t>(from[i * stride]);
      return index < 0 ? index + size : index;  // cannot overflow: the sum lies between its terms
    } else {
      return static_cast<std::int64_t>(
          std::min(static_cast<std::uint64_t>(from[i * stride]), static_cast<std::uint64_t>(size)));
    }
  };
  if (outside == Outside::nearest) {
    for (std::int64_t i = 0; i < n; ++i) places[i] = std::clamp<std::int64_t>(place(i), 0, size - 1);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = place(i);
      places[i] = at < 0 || at >= size ? -1 : at;
    }
  }
}

template <typename T>
std::int64_t start_of(const std::byte* start, std::int64_t last) {
  const T value = *reinterpret_cast<const T*>(start);
  if constexpr (std::is_signed_v<T>) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(value), 0, last);
  } else {
    return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(last)));
  }
}

std::int64_t truncated(double value, std::int64_t last) {
  if (!(value > 0)) return 0;
  return value >= static_cast<double>(last) ? last : static_cast<std::int64_t>(value);
}

template <typename T>
T load(const std::byte* from) {
  return *reinterpret_cast<const T*>(from);
}

}  // namespace

void read_places(const std::byte* indices, DType dtype, std::int64_t stride, std::int64_t n, std::int64_t size,
                 Outside outside, std::int64_t* places) {
  switch (dtype) {
    case DType::uint8: return places_of<std::uint8_t>(indices, stride, n, size, outside, places);
    case DType::uint16: return places_of<std::uint16_t>(indices, stride, n, size, outside, places);
    case DType::uint32: return places_of<std::uint32_t>(indices, stride, n, size, outside, places);
    case DType::uint64: return places_of<std::uint64_t>(indices, stride, n, size, outside, places);
    case DType::int8: return places_of<std::int8_t>(indices, stride, n, size, outside, places);
    case DType::int16: return places_of<std::int16_t>(indices, stride, n, size, outside, places);
    case DType::int32: return places_of<std::int32_t>(indices, stride, n, size, outside, places);
    default: return places_of<std::int64_t>(indices, stride, n, size, outside, places);
  }
}

void read_offsets(const std::byte* indices, DType dtype, std::span<const IndexedAxis> axes, std::int64_t begin,
                  std::int64_t end, Outside outside, std::int64_t* offsets) {
  constexpr std::int64_t kTile = 256;
  std::array<std::int64_t, kTile> places;
  const auto columns = static_cast<std::int64_t>(axes.size());
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t at = begin; at < end; at += kTile) {
    const std::int64_t n = std::min(kTile, end - at);
    std::int64_t* out = offsets + (at - begin);
    for (std::int64_t j = 0; j < columns; ++j) {
      const IndexedAxis axis = axes[static_cast<std::size_t>(j)];
      read_places(indices + (at * columns + j) * bytes, dtype, columns, n, axis.size, outside, places.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(i)];
        const std::int64_t before = j == 0 ? 0 : out[i];
        // -1 stays -1; strides are not negative where places can be.
        out[i] = outside == Outside::dropped && (place < 0 || before < 0) ? -1 : before + place * axis.stride;
      }
    }
  }
}

std::int64_t clamped_start(const std::byte* start, DType dtype, std::int64_t last) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8: return start_of<std::uint8_t>(start, last);
    case DType::uint16: return start_of<std::uint16_t>(start, last);
    case DType::uint32: return start_of<std::uint32_t>(start, last);
    case DType::uint64: return start_of<std::uint64_t>(start, last);
    case DType::int8: return start_of<std::int8_t>(start, last);
    case DType::int16: return start_of<std::int16_t>(start, last);
    case DType::int32: return start_of<std::int32_t>(start, last);
    case DType::int64: return start_of<std::int64_t>(start, last);
    case DType::float16: return truncated(widen(load<Float16>(start)), last);
    case DType::bfloat16: return truncated(widen(load<BFloat16>(start)), last);
    case DType::float32: return truncated(load<float>(start), last);
    default: return truncated(load<double>(start), last);
  }
}

}  // namespace reprise::native
