#include "backends/mlx/convert.hpp"

#include <cmath>
#include <limits>

namespace reprise::mlx_backend {
namespace {

template <typename T>
array float_to_integer(const array& x, mx::Dtype dtype, mx::Stream stream) {
  // 2^digits and the least value are exact in every float dtype that gets here; the greatest value need not be.
  const auto above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const auto least = static_cast<double>(std::numeric_limits<T>::min());
  const array too_high = mx::greater_equal(x, scalar(above, x.dtype()), stream);
  const array too_low = mx::less_equal(x, scalar(least, x.dtype()), stream);
  const array outside = mx::logical_or(mx::logical_or(too_high, too_low, stream), mx::not_equal(x, x, stream), stream);
  const array inside = mx::astype(mx::where(outside, scalar(0, x.dtype()), x, stream), dtype, stream);
  const array raised = mx::where(too_low, scalar(least, dtype), inside, stream);
  return mx::where(too_high, array(std::numeric_limits<T>::max(), dtype), raised, stream);
}

}  // namespace

array convert(const array& x, mx::Dtype dtype, mx::Stream stream) {
  const DType from = from_mlx(x.dtype());
  const DType to = from_mlx(dtype);
  if (from == to) return x;
  if (to == DType::bool_) return is_nonzero(x, stream);
  if (is_complex(from)) return convert(mx::real(x, stream), dtype, stream);
  if (!is_floating(from) || !is_integer(to)) return mx::astype(x, dtype, stream);
  // The bounds of 16-bit floats and of integers overlap only in float32.
  const array wide = size_of(from) == 2 ? mx::astype(x, mx::float32, stream) : x;
  switch (to) {
    case DType::uint8: return float_to_integer<std::uint8_t>(wide, dtype, stream);
    case DType::uint16: return float_to_integer<std::uint16_t>(wide, dtype, stream);
    case DType::uint32: return float_to_integer<std::uint32_t>(wide, dtype, stream);
    case DType::uint64: return float_to_integer<std::uint64_t>(wide, dtype, stream);
    case DType::int8: return float_to_integer<std::int8_t>(wide, dtype, stream);
    case DType::int16: return float_to_integer<std::int16_t>(wide, dtype, stream);
    case DType::int32: return float_to_integer<std::int32_t>(wide, dtype, stream);
    default: return float_to_integer<std::int64_t>(wide, dtype, stream);
  }
}

array is_nonzero(const array& x, mx::Stream stream) {
  return x.dtype() == mx::bool_ ? x : mx::not_equal(x, scalar(0, x.dtype()), stream);
}

array zeros_of(const LowerContext& context, std::size_t i) {
  return mx::full(context.shape(i), scalar(0, context.dtype(i)), context.dtype(i), context.stream);
}

}  // namespace reprise::mlx_backend
