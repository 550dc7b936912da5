// A typed instruction list prepared for one worker: recorded MLX graphs, and between them the loops that the driver
// turns itself.
#pragma once

#include <mlx/mlx.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backends/mlx/graph_function.hpp"
#include "backends/mlx/worker.hpp"
#include "program/infer.hpp"

namespace reprise::mlx_backend {

/// Who performs the MLX work of a run: the worker itself, the whole run being its job, or, for programs that call the
/// host, the caller's thread with a hop to the worker for each stretch of work, so that a callback keeps no worker
/// busy.
struct Driver {
  const RunOptions& options;
  mx::Stream stream;
  /// Runs its argument on the worker; empty when that is where the driver is.
  std::function<void(const std::function<void()>&)> hop;

  void perform(const std::function<void()>& work) const { hop ? hop(work) : work(); }
};

/// A list of instructions as a function of its inputs (top level) or carries (loops). Thread-bound.
class Block {
 public:
  /// Records the list on the worker's thread. Throws what MLX throws, and std::logic_error when a lowering's result
  /// does not have the inferred type.
  static Block build(const TypedProgram& typed, const VerifiedList& list, const TypedList& types,
                     std::span<const Ref> outputs, const WorkerContext& worker, const Device& device);

  /// Consumes the inputs. Outputs may be lazy, on the worker's stream, when the driver is the worker. Throws what MLX
  /// throws.
  Result<std::vector<array>> run(std::vector<array> inputs, const Driver& driver) const;

 private:
  friend class BlockBuilder;

  struct Graph {
    std::shared_ptr<const GraphFunction> function;
    std::vector<std::uint32_t> inputs;   // slots
    std::vector<std::uint32_t> outputs;  // slots
    std::vector<std::string> checks;     // what it means when the results after the outputs are true
  };
  struct Loop {
    std::shared_ptr<const Block> cond;
    std::shared_ptr<const Block> body;
    std::vector<std::uint32_t> inputs;
    std::uint32_t first_output = 0;  // as many as inputs
  };
  struct Call {
    std::int64_t callback = 0;
    std::vector<TensorType> results;
    std::vector<std::uint32_t> inputs;
    std::uint32_t first_output = 0;
    std::size_t instruction = 0;  // for messages
  };
  using Step = std::variant<Graph, Loop, Call>;

  bool calls_host() const;
  static Status passed(const Graph& graph, const std::vector<array>& results);
  static Result<std::vector<array>> turn(const Loop& loop, std::vector<array> carry, const Driver& driver);
  static Result<std::vector<array>> call_host(const Call& call, std::vector<array> operands, const Driver& driver);

  std::size_t num_slots_ = 0;  // inputs, results, then fixed values
  std::size_t first_fixed_ = 0;
  std::vector<array> fixed_;  // captures and constants that steps or outputs name directly
  std::vector<Step> steps_;
  std::vector<std::vector<std::uint32_t>> last_uses_;  // by step: slots whose last reader it is
  std::vector<std::uint32_t> outputs_;
};

}  // namespace reprise::mlx_backend
