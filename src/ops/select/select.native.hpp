// Native planners of the select family.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/select/select.hpp"

namespace reprise::native {

Decision plan_take(OpPlanner& op, const ops::AxisAttrs& attrs);

inline constexpr std::array kSelectNatives{native<ops::AxisAttrs, plan_take>("take")};

}  // namespace reprise::native
