// Whether two ways of running a program agree.
//
//   Comparison seen;
//   if (auto fault = compare(one, *reference, *other, seed, seen)) std::cout << *fault;
//
// Integers and booleans must be equal, floats within their op's tolerance. What lies further apart is judged by noise
// (noise.hpp): the reference runs the program several times with every inexact result moved at random within its op's
// tolerance. An element may then differ by a few times what these runs spread; one that they turn into something else
// (NaN, another integer) is not compared. A difference must survive many such runs, so that neither
// argmax of near equals nor floor beside an integer is taken for a fault. Before it is reported the other's own
// intermediate values are looked at: where each step is right, given those before it, there is no fault.
#pragma once

#include <optional>

#include "fuzz/runner.hpp"

namespace reprise::fuzz {

/// Counts of output elements.
struct Comparison {
  std::uint64_t equal = 0;       ///< same value, or both NaN
  std::uint64_t tolerated = 0;   ///< within the tolerance of the op that made them
  std::uint64_t spread = 0;      ///< within what noise allows
  std::uint64_t unstable = 0;    ///< not compared: noise turns them into something else
  std::uint64_t same_error = 0;  ///< programs that end with the same error in both

  void add(const Comparison& other);
};

/// The first difference, or nothing.
std::optional<std::string> compare(const FuzzCase& one, const Runner& reference, const Runner& other,
                                   std::uint64_t seed, Comparison& seen);

}  // namespace reprise::fuzz
