// The softmax, which programs write as five instructions.
#pragma once

#include <memory>

#include "backends/native/plan.hpp"

namespace reprise::native {

/// Over the last axis. Both are dense, of float32.
std::unique_ptr<Step> make_softmax_step(View from, View to);

}  // namespace reprise::native
