// An MLX operation that is a plain C++ function on the CPU, for what MLX has no operation.
#pragma once

#include <mlx/mlx.h>

#include <functional>
#include <vector>

namespace reprise::mlx_backend {

namespace mx = mlx::core;
using mx::array;

/// Elements of one operand or result: row-major, without gaps.
struct HostBuffer {
  void* data = nullptr;
  std::size_t size = 0;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// Runs on the stream's own thread: it must not throw, and reports what it refuses in a result (LowerContext::check).
using HostFunction =
    std::function<void(const std::vector<HostBuffer>& operands, const std::vector<HostBuffer>& results)>;

/// Results of the given types. `stream` is one of the CPU's.
std::vector<array> host_operation(const char* name, HostFunction function, std::vector<array> operands,
                                  std::vector<mx::Shape> shapes, const std::vector<mx::Dtype>& dtypes,
                                  mx::Stream stream);

}  // namespace reprise::mlx_backend
