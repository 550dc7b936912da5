// A recorded MLX graph that can be replayed on other arrays. MLX's own graph compiler does the same, but on the CPU it
// fuses by calling a C++ compiler at run time and its cache belongs to a thread; a tape needs neither.
#pragma once

#include <mlx/mlx.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace reprise::mlx_backend {

namespace mx = mlx::core;
using mx::array;

/// Thrown instead of letting MLX write through a null pointer, which is what it does when memory cannot be had.
class MemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws MemoryError when so many bytes cannot be had at once.
void require_memory(std::size_t bytes);

/// Bound to the stream that its operations were recorded on: replay it on that stream's thread, one at a time.
class Tape {
 public:
  /// `outputs` were computed lazily from the placeholders `inputs`. What does not depend on them is evaluated once,
  /// here, where it is small.
  static Tape record(const std::vector<array>& inputs, const std::vector<array>& outputs);

  /// A lazy graph over `inputs`, which it consumes: arrays that only the caller held can be donated.
  std::vector<array> replay(std::vector<array> inputs) const;

  std::size_t size() const { return nodes_.size(); }

  /// Bytes that the results of its operations take at most at one time, by the order of recording; results that only
  /// show their operand's memory count nothing. Who replays calls require_memory with it.
  std::size_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Node {
    std::shared_ptr<mx::Primitive> primitive;
    std::vector<std::uint32_t> inputs;  // slots
    std::vector<mx::Shape> shapes;      // of its results, which take the next slots
    std::vector<mx::Dtype> dtypes;
  };

  std::size_t num_inputs_ = 0;
  std::vector<array> constants_;  // slots after the inputs
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> outputs_;
  std::size_t num_slots_ = 0;
  std::size_t peak_bytes_ = 0;

  void find_peak();
};

/// True of operations whose result shows the operand's memory. (A reshape may copy, of a strided operand; let pass.)
bool is_view(const mx::Primitive& primitive);

/// An array without data that stands for an input while a tape is recorded.
array placeholder(const mx::Shape& shape, mx::Dtype dtype);

}  // namespace reprise::mlx_backend
