// What must hold for every valid program.
//
//   if (auto fault = check(one)) std::cout << *fault << describe(one);
#pragma once

#include <optional>

#include "fuzz/fuzz_case.hpp"

namespace reprise::fuzz {

struct CheckCounts {
  std::uint64_t programs = 0;
  std::uint64_t instructions = 0;
  std::uint64_t loops = 0;
  std::uint64_t refused_values = 0;  ///< runs that ended because a matrix is singular or the like
};

/// Text and wire form keep the program; results have the inferred types; a second run and a run with donated inputs
/// give the same bits; inputs stay as they are. The first fault, or nothing.
std::optional<std::string> check(const FuzzCase& one, CheckCounts* counts = nullptr);

/// Malformed calls of a valid program: wrong number of inputs, other dtypes and shapes. Each is an error with a
/// message, or a run whose results have the inferred types; `ran` says which. The first fault, or nothing.
std::optional<std::string> check_bad_inputs(const FuzzCase& one, Random& random, bool& ran);

/// An error that a program or its values may cause, with a message that names the place; not one of ours.
std::optional<std::string> check_error(const Error& error);

}  // namespace reprise::fuzz
