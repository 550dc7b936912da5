// Ways to run a program. The first is the reference, the others must agree with it.
//
//   const auto runner = make_runner("mlx");
//   Result<Outputs> outputs = (*runner)->run(one);
//
// "mlx"       the MLX backend on the CPU; "mlx:cuda" on another device
// "captured"  the same with all inputs as captures: what a backend computes while it compiles
// "looped"    the same with the whole program in a loop that turns once
// "optimised" the same after the passes
// "wide"      the same with whatever is not exact computed in the next wider dtype: another rounding everywhere. It
//             stands for a second backend where there is none, and shows that the comparison allows what it must.
//
// A new backend is one more name here.
#pragma once

#include <memory>
#include <string_view>

#include "fuzz/fuzz_case.hpp"

namespace reprise::fuzz {

using Outputs = std::vector<ArraySpec>;

class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::string_view name() const = 0;
  virtual Result<Outputs> run(const FuzzCase& one) const = 0;
};

/// Errors: unknown names; a device that is not there.
Result<std::unique_ptr<const Runner>> make_runner(std::string_view name);

}  // namespace reprise::fuzz
