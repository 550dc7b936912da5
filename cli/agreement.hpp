// Whether two backends gave the same answer.
#pragma once

#include <mlx/array.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/infer.hpp"
#include "reprise/status.hpp"

namespace reprise::cli {

struct Agreement {
  double error = 0;      ///< greatest difference of two elements, in units of their array's greatest magnitude
  double tolerance = 0;  ///< what was allowed where `error` was seen
};

/// How far the outputs may differ, one by one: integers and bool not at all, others by `tolerance` times the greatest
/// magnitude in the array. Without one it is the sum over all instructions of what their rows allow for that dtype,
/// twice, since both sides may be off.
std::vector<double> tolerances(const TypedProgram& typed, std::optional<double> tolerance);

/// Errors: an output that differs by more, with the element where it differs most.
Result<Agreement> compare(const std::vector<mlx::core::array>& seen, const std::vector<mlx::core::array>& wanted,
                          const std::vector<double>& tolerances);

/// A number that tells two answers apart: FNV-1a over types and elements.
Result<std::uint64_t> checksum(const std::vector<mlx::core::array>& outputs);

}  // namespace reprise::cli
