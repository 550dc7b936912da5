// Program inputs from the command line.
#pragma once

#include <mlx/array.h>

#include <string>
#include <vector>

#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise::cli {

/// Arrays of .npy and .npz files, in order; every array of an .npz counts.
Result<std::vector<mlx::core::array>> read_inputs(const std::vector<std::string>& paths);

/// A type such as "f32[2, 3]", or the type of each array of a .npy or .npz file.
Result<std::vector<TensorType>> input_types(const std::vector<std::string>& texts);

}  // namespace reprise::cli
