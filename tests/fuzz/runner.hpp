// Ways to run a program. The first is the reference, the others must agree with it.
//
//   const auto runner = make_runner("mlx");
//   Result<Outputs> outputs = (*runner)->run(one);
//
// "mlx"              the MLX backend on the CPU; "mlx:cuda" on another device
// "native"           the native backend
// "captured"         MLX with all inputs as captures: what a backend computes while it compiles
// "looped"           MLX with the whole program in a loop that turns once
// "optimised"        MLX after the passes
// "wide"             MLX with whatever is not exact computed in the next wider dtype: another rounding everywhere. It
//                    shows that the comparison allows what it must.
// "native-captured", "native-looped"  the same on the native backend
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
