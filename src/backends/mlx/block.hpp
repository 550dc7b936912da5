// A typed instruction list prepared for one worker: recorded MLX graphs, and between them the loops that the driver
// turns itself.
#pragma once

#include <mlx/mlx.h>

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "backends/mlx/graph_function.hpp"
#include "backends/mlx/worker.hpp"
#include "program/infer.hpp"

namespace reprise::mlx_backend {

/// A list of instructions as a function of its inputs (top level) or carries (loops). Thread-bound.
class Block {
 public:
  /// Records the list on the worker's thread. Throws what MLX throws, and std::logic_error when a lowering's result
  /// does not have the inferred type.
  static Block build(const TypedProgram& typed, const VerifiedList& list, const TypedList& types,
                     std::span<const Ref> outputs, const WorkerContext& worker, const Device& device);

  /// Consumes the inputs. Outputs may be lazy, on the worker's stream. Throws what MLX throws.
  Result<std::vector<array>> run(std::vector<array> inputs, const RunOptions& options, mx::Stream stream) const;

 private:
  friend class BlockBuilder;

  struct Graph {
    std::shared_ptr<const GraphFunction> function;
    std::vector<std::uint32_t> inputs;   // slots
    std::vector<std::uint32_t> outputs;  // slots
  };
  struct Loop {
    std::shared_ptr<const Block> cond;
    std::shared_ptr<const Block> body;
    std::vector<std::uint32_t> inputs;
    std::uint32_t first_output = 0;  // as many as inputs
  };
  using Step = std::variant<Graph, Loop>;

  static Result<std::vector<array>> turn(const Loop& loop, std::vector<array> carry, const RunOptions& options,
                                         mx::Stream stream);

  std::size_t num_slots_ = 0;  // inputs, results, then fixed values
  std::size_t first_fixed_ = 0;
  std::vector<array> fixed_;  // captures and constants that steps or outputs name directly
  std::vector<Step> steps_;
  std::vector<std::vector<std::uint32_t>> last_uses_;  // by step: slots whose last reader it is
  std::vector<std::uint32_t> outputs_;
};

}  // namespace reprise::mlx_backend
