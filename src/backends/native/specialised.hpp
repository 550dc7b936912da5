// The `native` backend.
#pragma once

#include <memory>

#include "backends/specialised.hpp"

namespace reprise::native {

/// Plans the program for its input types. What has no native kernel runs through the `mlx` backend.
Result<std::shared_ptr<const Specialised>> specialise(std::shared_ptr<const TypedProgram> typed);

}  // namespace reprise::native
