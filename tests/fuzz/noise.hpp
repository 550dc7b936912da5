// What the contract leaves open in a program's results, found by trying.
//
// Two backends round differently, and what follows a rounding may magnify it: argmax of two near equals, floor beside
// an integer, 1 / (x - x'). No fixed tolerance fits that. So a program is rewritten: behind each instruction that is
// not exact its result is moved at random as far as the op's tolerance allows, its operands too where the op adds many
// terms up. The rewritten program uses ordinary ops and runs on the reference. Where several such runs spread, the
// program itself magnifies rounding by so much; where they differ in kind (NaN, another integer) the element means
// nothing.
//
//   Trace trace = trace_of(one, reference);
//   FuzzCase moved = noised(one, trace, random);
//
// Exact stays exact: sums and products of the generator's quarters do not round, whatever the order, and are not moved.
// The trace tells, from the values that the reference computed.
#pragma once

#include <optional>

#include "fuzz/runner.hpp"

namespace reprise::fuzz {

/// The values of all top-level results; nothing when the run ended with an error.
using Trace = std::optional<Outputs>;
Trace trace_of(const FuzzCase& one, const Runner& reference);

/// Error of one result of an op, relative to its size and absolute.
struct Bound {
  double relative = 0;
  double absolute = 0;
};
/// The row's tolerance.
Bound bound_of(const ops::OpDef& op, DType result);

FuzzCase noised(const FuzzCase& one, const Trace& trace, Random& random);

/// Each instruction that is not exact computed with wider operands and rounded to its type.
FuzzCase widened(const FuzzCase& one);

}  // namespace reprise::fuzz
