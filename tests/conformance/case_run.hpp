// Runs a case every way in which its answer must be the same.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/case_file.hpp"
#include "reprise/executable.hpp"

namespace reprise::conformance {

/// The backends and devices of this machine that cases run on.
const std::vector<CompileOptions>& targets();

/// Reports mismatches through GoogleTest. A case of an op runs with its operands dense, in other layouts, donated, as
/// captures, and as the slots of a loop that turns once.
void check_case(const Case& one, const CompileOptions& target);

/// The names of the ops in the case's program, loops included.
std::vector<std::string> ops_of(const Case& one);

}  // namespace reprise::conformance
