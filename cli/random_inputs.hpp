// Program inputs that `reprise bench` makes up: as many numbers as wanted from a seed, the same on every machine.
//
//   Result<InputSpec> spec = parse_input("s32[8192]=0..1023");  // or "f32[2, 3]", or "x.npy"
#pragma once

#include <mlx/array.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise::cli {

/// Both ends belong to it. Integers keep all their bits.
struct Range {
  std::variant<double, std::int64_t, std::uint64_t> low;
  std::variant<double, std::int64_t, std::uint64_t> high;
};

/// One word of --input.
struct InputSpec {
  std::string text;
  std::optional<TensorType> type;  ///< none: `text` is a file
  std::optional<Range> range;
};

/// Errors: neither a type nor a .npy or .npz file; a range that the dtype does not hold, or that is empty.
Result<InputSpec> parse_input(const std::string& text);

/// Without a range, floating and complex numbers are normally distributed, bool is a coin, and integers lie between 0
/// or -100 and 100. The type must be small enough for memory.
Result<mlx::core::array> random_array(const InputSpec& spec, std::uint64_t seed);

}  // namespace reprise::cli
