// What a backend makes of a typed program, and the run-time facts it is given.
#pragma once

#include <mlx/array.h>

#include <memory>
#include <optional>
#include <vector>

#include "program/infer.hpp"
#include "reprise/executable.hpp"

namespace reprise {

/// A program prepared for one input signature. Thread-safe.
class Specialised {
 public:
  virtual ~Specialised() = default;
  /// Inputs are forced and have the signature's types. Outputs are forced.
  virtual Result<std::vector<mlx::core::array>> run(std::vector<mlx::core::array> inputs,
                                                    const RunOptions& options) const = 0;
  /// What run() does; none where nothing is planned ahead.
  virtual std::optional<PlanInfo> plan() const { return std::nullopt; }
};

/// From now on set_threads() is an error: plans and workers are made for the number that holds.
void settle_threads();

namespace mlx_backend {
/// True when MLX can run on the device here.
bool is_available(const Device& device);
Result<std::shared_ptr<const Specialised>> specialise(std::shared_ptr<const TypedProgram> typed, const Device& device);
}  // namespace mlx_backend

}  // namespace reprise
