// Runs a case every way in which its answer must be the same.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/case_file.hpp"
#include "reprise/executable.hpp"

namespace reprise::conformance {

/// What every test is for, whether this machine has it or not: MLX on the CPU and on a GPU, and the native backend.
inline constexpr const char* kDevices[] = {"cpu", "cuda", "native"};

/// A test that runs once for each of kDevices, and is skipped where there is none.
class OnDevice : public testing::TestWithParam<const char*> {
 public:
  /// Where the running test runs.
  static const CompileOptions& target();

 protected:
  void SetUp() override;
  /// Skips the test, or sets its target.
  static void use(const char* device);
};

#define REPRISE_ON_EACH_DEVICE(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::ValuesIn(::reprise::conformance::kDevices), \
                           [](const auto& one) { return std::string(one.param); })

/// Reports mismatches through GoogleTest. A case of an op runs with its operands dense, in other layouts, donated, as
/// captures, and as the slots of a loop that turns once.
/// Cases with float64 pass unseen on devices that have none.
void check_case(const Case& one, const CompileOptions& target);

/// The names of the ops in the case's program, loops included.
std::vector<std::string> ops_of(const Case& one);

}  // namespace reprise::conformance
