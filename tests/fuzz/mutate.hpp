// Bad programs, made from valid ones.
//
//   MutantCounts counts;
//   if (auto fault = check_mutant(one, random, counts)) std::cout << *fault;
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "fuzz/fuzz_case.hpp"

namespace reprise::fuzz {

struct MutantCounts {
  std::uint64_t mutants = 0;
  std::uint64_t refused_by_reader = 0;  ///< text or wire form
  std::uint64_t refused_by_verify = 0;
  std::uint64_t refused_by_infer = 0;
  std::uint64_t refused_by_run = 0;  ///< limits, values
  std::uint64_t valid = 0;           ///< the change happened to keep the program valid: it ran

  void add(const MutantCounts& other);
};

enum class MutantLevel : std::uint8_t { data, text, wire, inputs };
inline constexpr std::array kMutantLevels{MutantLevel::data, MutantLevel::text, MutantLevel::wire, MutantLevel::inputs};
std::string_view to_string(MutantLevel level);

/// Damages the program at one level and hands it to whatever reads it there, then to verify, compile and run. Each
/// stage gives a program or an error with a message that names the place. `about` gets the damaged form before it is
/// used, so that it is known when the process does not come back. The first fault, or nothing.
std::optional<std::string> check_mutant(const FuzzCase& one, MutantLevel level, Random& random, MutantCounts& counts,
                                        const std::function<void(const std::string&)>& about);

}  // namespace reprise::fuzz
