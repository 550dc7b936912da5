// One worked example for each op, taken at build time from the .cases files that the conformance tests run.
#pragma once

#include <string_view>

namespace reprise::ops {

struct Example {
  std::string_view op;
  std::string_view text;
};

/// The op's example: its first case with a result; empty when there is none.
std::string_view example_of(std::string_view op);

}  // namespace reprise::ops
