// Program inputs from the command line.
#pragma once

#include <mlx/array.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/dtype.hpp"
#include "reprise/program.hpp"
#include "reprise/status.hpp"

namespace reprise::cli {

/// Arrays of .npy and .npz files, in order; every array of an .npz counts.
Result<std::vector<mlx::core::array>> read_inputs(const std::vector<std::string>& paths);

/// "f32[2, 3]" and "f32[]"; nothing when the text is not of that form.
std::optional<TensorType> parse_type(std::string_view text);

/// A type such as "f32[2, 3]", or the type of each array of a .npy or .npz file.
Result<std::vector<TensorType>> input_types(const std::vector<std::string>& texts);

/// A program from a file, with the types of its inputs, if they are known.
struct OpenedProgram {
  Program program;
  std::optional<std::vector<TensorType>> types;
};

inline constexpr const char* kCapacityHelp = "Rows of a model's caches (default: 256, or the model's context)";

/// A program file and the types of its inputs as input_types() reads them, or a model's decode program with caches of
/// `capacity` rows.
Result<OpenedProgram> open_program(const std::string& file, const std::vector<std::string>& inputs,
                                   std::optional<std::int64_t> capacity);

}  // namespace reprise::cli
