// Instructions that MLX computes within a native plan.
#pragma once

#include <memory>

#include "backends/native/plan.hpp"
#include "backends/specialised.hpp"

namespace reprise::native {

struct FallbackParts {
  std::shared_ptr<const Specialised> mlx;  ///< a program of its own
  std::vector<View> inputs;                ///< of it; dense, of storage input, constant or array
  std::vector<SlotId> outputs;             ///< of it: slots of storage array, which the step makes
  std::vector<std::string_view> names;     ///< of their ops
};

std::unique_ptr<Step> make_fallback_step(FallbackParts parts);

}  // namespace reprise::native
