// A pure function of arrays, recorded once and replayed.
#pragma once

#include <mlx/mlx.h>

#include <memory>
#include <vector>

#include "backends/mlx/tape.hpp"
#include "reprise/executable.hpp"

namespace reprise::mlx_backend {

/// Thread-bound, as its tape is.
class GraphFunction {
 public:
  virtual ~GraphFunction() = default;
  /// A lazy graph over the inputs, which it consumes.
  virtual std::vector<array> call(std::vector<array> inputs) const = 0;
};

/// On the CPU the tape itself: MLX's graph compiler would fuse kernels there by calling a C++ compiler at run time. On
/// a GPU the tape goes through that compiler, under an id of its own.
std::unique_ptr<const GraphFunction> make_graph_function(Tape tape, const Device& device, mx::Stream stream);

/// Programs in MLX's compile cache of this process that are alive; for tests.
std::size_t live_compiled_graphs();

}  // namespace reprise::mlx_backend
