#include "backends/mlx/lowering.hpp"

#include <cmath>
#include <limits>

namespace reprise::mlx_backend {
namespace {

// Truncates toward zero and saturates; NaN gives 0.
template <typename T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  // 2^bits is exact in a double, the greatest value need not be.
  if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <typename T, typename I>
T saturate_integer(I value) {
  if (std::cmp_greater(value, std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (std::cmp_less(value, std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <typename T>
array integer_scalar(const Constant& c, mx::Dtype dtype) {
  if (const auto* d = std::get_if<double>(&c.value)) return array(saturate<T>(*d), dtype);
  if (const auto* i = std::get_if<std::int64_t>(&c.value)) return array(saturate_integer<T>(*i), dtype);
  if (const auto* u = std::get_if<std::uint64_t>(&c.value)) return array(saturate_integer<T>(*u), dtype);
  return array(saturate<T>(std::get<std::complex<double>>(c.value).real()), dtype);
}

double as_double(const Constant& c) {
  if (const auto* d = std::get_if<double>(&c.value)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&c.value)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&c.value)) return static_cast<double>(*u);
  return std::get<std::complex<double>>(c.value).real();
}

bool is_nonzero(const Constant& c) {
  if (const auto* z = std::get_if<std::complex<double>>(&c.value)) return *z != 0.0;
  if (const auto* u = std::get_if<std::uint64_t>(&c.value)) return *u != 0;
  if (const auto* i = std::get_if<std::int64_t>(&c.value)) return *i != 0;
  return std::get<double>(c.value) != 0;
}

}  // namespace

array scalar_of(const Constant& c) {
  switch (c.dtype) {
    case DType::bool_: return array(is_nonzero(c), mx::bool_);
    case DType::uint8: return integer_scalar<std::uint8_t>(c, mx::uint8);
    case DType::uint16: return integer_scalar<std::uint16_t>(c, mx::uint16);
    case DType::uint32: return integer_scalar<std::uint32_t>(c, mx::uint32);
    case DType::uint64: return integer_scalar<std::uint64_t>(c, mx::uint64);
    case DType::int8: return integer_scalar<std::int8_t>(c, mx::int8);
    case DType::int16: return integer_scalar<std::int16_t>(c, mx::int16);
    case DType::int32: return integer_scalar<std::int32_t>(c, mx::int32);
    case DType::int64: return integer_scalar<std::int64_t>(c, mx::int64);
    case DType::float16: return array(mx::float16_t(static_cast<float>(as_double(c))), mx::float16);
    case DType::bfloat16: return array(mx::bfloat16_t(static_cast<float>(as_double(c))), mx::bfloat16);
    case DType::float32: return array(static_cast<float>(as_double(c)), mx::float32);
    case DType::float64: return array(as_double(c), mx::float64);
    case DType::complex64: break;
  }
  if (const auto* z = std::get_if<std::complex<double>>(&c.value)) {
    return array(mx::complex64_t(static_cast<float>(z->real()), static_cast<float>(z->imag())), mx::complex64);
  }
  return array(mx::complex64_t(static_cast<float>(as_double(c)), 0.0f), mx::complex64);
}

array scalar(double value, mx::Dtype dtype) { return scalar_of(Constant::of(value, from_mlx(dtype))); }

array make_complex(const array& real, const array& imag, mx::Stream stream) {
  const array pairs = mx::stack({real, imag}, -1, stream);
  return mx::reshape(mx::view(pairs, mx::complex64, stream), real.shape(), stream);
}

int to_axis(std::int64_t axis, std::size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::vector<int> to_axes(const ops::Ints& axes, std::size_t rank) {
  std::vector<int> out;
  for (const auto a : axes) out.push_back(to_axis(a, rank));
  return out;
}

std::vector<int> to_ints(const ops::Ints& values) { return std::vector<int>(values.begin(), values.end()); }

array clamp_indices(const array& indices, std::int64_t size, mx::Stream stream) {
  const auto last = static_cast<double>(size - 1);
  if (indices.dtype() == mx::uint64) {
    // Beyond 2^63 a signed count would wrap to a negative index.
    return mx::astype(mx::minimum(indices, scalar(last, mx::uint64), stream), mx::int32, stream);
  }
  const array i = mx::astype(indices, mx::int64, stream);
  const array zero = scalar(0, mx::int64);
  const array turned =
      mx::where(mx::less(i, zero, stream), mx::add(i, scalar(static_cast<double>(size), mx::int64), stream), i, stream);
  const array held = mx::minimum(mx::maximum(turned, zero, stream), scalar(last, mx::int64), stream);
  return mx::astype(held, mx::int32, stream);
}

}  // namespace reprise::mlx_backend
