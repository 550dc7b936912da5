// A program with everything that a run of it needs, as plain data.
//
//   FuzzCase one = generate(random, options, tally);
//   std::cout << describe(one);
#pragma once

#include <string>
#include <vector>

#include "fuzz/arrays.hpp"
#include "program/infer.hpp"
#include "reprise/executable.hpp"
#include "reprise/program.hpp"

namespace reprise::fuzz {

struct FuzzCase {
  ProgramData data;  ///< its captures are dense
  std::vector<ArraySpec> inputs;
  std::vector<Layout> capture_layouts;  ///< one for each capture

  std::vector<TensorType> input_types() const;
  /// The program with its captures in their layouts.
  Program program() const;
  std::vector<mx::array> input_arrays() const;
};

/// Verified and inferred.
Result<TypedProgram> typed(const FuzzCase& one);

/// Instructions, those of loops included.
std::size_t count_instructions(const std::vector<Instruction>& list);

/// The text form, with the inputs' and captures' types, layouts and elements as comments.
std::string describe(const FuzzCase& one);

/// Writes FOLDER/program.rp, its captures and FOLDER/inN.npy; gives the command that runs them. Inputs of dtypes that
/// .npy files do not know become captures.
Result<std::string> save(const FuzzCase& one, const std::string& folder);

/// Removes instructions, inputs, captures and constants that nothing needs, and renumbers the rest.
FuzzCase without_dead_parts(const FuzzCase& one);

/// What the host answers to runtime_call: the k-th operand where it has the k-th result's type, else small numbers
/// that depend on the callback.
Result<std::vector<mx::array>> answer(const HostCall& call);

}  // namespace reprise::fuzz
