// Native planner of `while`.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/control/control.hpp"

namespace reprise::native {

Decision plan_while(OpPlanner& op);

inline constexpr std::array kControlNatives{native<plan_while>("while")};

}  // namespace reprise::native
