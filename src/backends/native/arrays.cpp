#include "backends/native/arrays.hpp"

#include "backends/mlx/tape.hpp"
#include "backends/native/copy.hpp"
#include "program/mlx_convert.hpp"

namespace reprise::native {

namespace mx = mlx::core;

mx::array new_array(const TensorType& type) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(type.shape).value_or(0)) * size_of(type.dtype);
  constexpr std::size_t kSmall = 1 << 20;  // the question costs more than so little is worth
  if (bytes > kSmall) mlx_backend::require_memory(bytes);
  return mx::array(mx::allocator::malloc(bytes), to_mlx(type.shape), to_mlx(type.dtype));
}

mx::array dense_copy(const mx::array& x, int threads) {
  const TensorType type{from_mlx(x.dtype()), Shape(x.shape().begin(), x.shape().end())};
  mx::array out = new_array(type);
  const std::vector<std::int64_t> strides(x.strides().begin(), x.strides().end());
  if (x.size() > 0) {
    copy_strided(reinterpret_cast<const std::byte*>(x.data<char>()), strides,
                 reinterpret_cast<std::byte*>(out.data<char>()), dense_strides(type.shape), type.shape, x.itemsize(),
                 threads);
  }
  return out;
}

mx::array array_of(const Frame& frame, const View& view) {
  const mx::array& whole = *frame.array(view.slot);
  const mx::Shape shape = to_mlx(view.type.shape);
  const mx::Dtype dtype = to_mlx(view.type.dtype);
  if (view.offset == 0 && whole.shape() == shape && whole.dtype() == dtype) return whole;
  mx::array out(shape, dtype, nullptr, {});
  const std::vector<std::int64_t> strides = dense_strides(view.type.shape);
  mx::array::Flags flags{};
  flags.contiguous = true;
  flags.row_contiguous = true;
  flags.col_contiguous = view.type.shape.size() <= 1;
  out.copy_shared_buffer(whole, mx::Strides(strides.begin(), strides.end()), flags,
                         static_cast<std::size_t>(view.size()), view.offset);
  out.set_status(mx::array::Status::available);
  return out;
}

}  // namespace reprise::native
