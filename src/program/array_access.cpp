#include "program/array_access.hpp"

#include <mlx/mlx.h>

#include <cstring>

#include "base/format.hpp"
#include "base/printable.hpp"
#include "program/mlx_convert.hpp"
#include "reprise/program.hpp"

namespace reprise {

TensorType type_of(const mlx::core::array& array) {
  return {from_mlx(array.dtype()), Shape(array.shape().begin(), array.shape().end())};
}

bool is_forced(const mlx::core::array& array) { return array.is_available(); }

bool same_content(const mlx::core::array& a, const mlx::core::array& b) {
  if (type_of(a) != type_of(b)) return false;
  if (a.size() == 0) return true;
  const auto dense = [](const mlx::core::array& x) {
    if (x.is_available() && x.flags().row_contiguous) return x;
    auto copy = mlx::core::contiguous(x, false, mlx::core::default_stream(mlx::core::Device::cpu));
    copy.eval();
    return copy;
  };
  const auto x = dense(a);
  const auto y = dense(b);
  return std::memcmp(x.data<char>(), y.data<char>(), x.nbytes()) == 0;
}

Result<Capture> make_capture(mlx::core::array value, std::string name) {
  try {
    if (!value.is_available()) value.eval();
    return Capture{std::move(name), std::make_shared<const mlx::core::array>(std::move(value))};
  } catch (const std::exception& e) {
    return make_error(ErrorCode::runtime, "capture '{}': {}", printable(name), e.what());
  }
}

}  // namespace reprise
