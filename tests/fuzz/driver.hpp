// Runs many programs in child processes, so that one that ends its process is found and shrunk like any other.
//
//   DriverOptions options;
//   options.programs = 500;
//   return drive(options);  // prints a report; 0 when all is well
//
// The driving process itself only makes programs and forks: it calls no MLX operation and has no other thread.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::fuzz {

struct DriverOptions {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;     ///< number of the first program
  std::uint64_t programs = 0;  ///< valid programs to check
  std::uint64_t mutants = 0;   ///< bad programs to check
  std::string compare;  ///< "mlx,wide": the reference and the runner that must agree with it; empty: no comparison
  int max_instructions = 14;
  bool float64 = true;
  int jobs = 1;
  int max_failures = 3;  ///< give up after so many
  bool shrink = true;
  std::string save;   ///< folder for failing programs
  bool show = false;  ///< print each program before it runs
  /// "fault:OP" or "signal:OP": programs that use OP fail, or end their process. To try the driver itself.
  std::string plant;
};

int drive(const DriverOptions& options);

}  // namespace reprise::fuzz
