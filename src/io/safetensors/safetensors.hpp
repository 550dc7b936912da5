// safetensors files: named arrays behind a JSON header.
//
//   Result<SafetensorsTensors> tensors = read_safetensors("model.safetensors");
//   for (const auto& [name, array] : *tensors) ...
//   write_safetensors("copy.safetensors", *tensors, {{"format", "reprise"}});
#pragma once

#include <mlx/array.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reprise/status.hpp"

namespace reprise {

using SafetensorsTensors = std::vector<std::pair<std::string, mlx::core::array>>;
/// The strings of `__metadata__`, in file order.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// Reads every tensor, in the order of the header. The arrays are evaluated and own their memory, so any thread may use
/// them and the file may go. A file is taken only if its tensors cover its data exactly, without overlap or gap.
/// Booleans other than 0 and 1 become 1. Errors: `not_found`, `io`, `bad_file`, and `unsupported` for dtypes that MLX
/// lacks.
Result<SafetensorsTensors> read_safetensors(const std::string& path, SafetensorsMetadata* metadata = nullptr);

/// Writes the file completely or not at all; array by array, so that no second copy of them all is made. Keys must be
/// distinct UTF-8, and none may be `__metadata__`.
Status write_safetensors(const std::string& path, std::span<const std::pair<std::string, mlx::core::array>> tensors,
                         const SafetensorsMetadata& metadata = {});

}  // namespace reprise
