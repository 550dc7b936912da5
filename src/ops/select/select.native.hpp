// Native planners of the select family. select and clip are element-wise, which needs none.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/select/select.hpp"

namespace reprise::native {

Decision plan_take(OpPlanner& op, const ops::AxisAttrs& attrs);
Decision plan_take_along_axis(OpPlanner& op, const ops::AxisAttrs& attrs);

inline constexpr std::array kSelectNatives{native<ops::AxisAttrs, plan_take>("take"),
                                           native<ops::AxisAttrs, plan_take_along_axis>("take_along_axis")};

}  // namespace reprise::native
