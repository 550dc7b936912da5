#include "backends/native/kernels/count.hpp"

#include <complex>

#include "backends/native/kernels/half.hpp"

namespace reprise::native {
namespace {

template <typename T, typename Cast>
void count_as(std::int64_t first, std::int64_t n, std::byte* out, Cast cast) {
  T* to = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) to[i] = cast(first + i);
}

template <typename T>
void count_as(std::int64_t first, std::int64_t n, std::byte* out) {
  count_as<T>(first, n, out, [](std::int64_t i) { return static_cast<T>(i); });
}

}  // namespace

void count_up(DType dtype, std::int64_t first, std::int64_t n, std::byte* out) {
  switch (dtype) {
    case DType::bool_: return count_as<bool>(first, n, out, [](std::int64_t i) { return i != 0; });
    case DType::uint8:
    case DType::int8: return count_as<std::uint8_t>(first, n, out);
    case DType::uint16:
    case DType::int16: return count_as<std::uint16_t>(first, n, out);
    case DType::uint32:
    case DType::int32: return count_as<std::uint32_t>(first, n, out);
    case DType::uint64:
    case DType::int64: return count_as<std::uint64_t>(first, n, out);
    case DType::float16:
      return count_as<Float16>(first, n, out, [](std::int64_t i) { return to_float16(static_cast<float>(i)); });
    case DType::bfloat16:
      return count_as<BFloat16>(first, n, out, [](std::int64_t i) { return to_bfloat16(static_cast<float>(i)); });
    case DType::float32: return count_as<float>(first, n, out);
    case DType::float64: return count_as<double>(first, n, out);
    case DType::complex64:
      return count_as<std::complex<float>>(first, n, out, [](std::int64_t i) { return static_cast<float>(i); });
  }
}

}  // namespace reprise::native
