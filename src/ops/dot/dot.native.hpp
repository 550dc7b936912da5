// Native planners of dense products.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/dot/dot.hpp"

namespace reprise::native {

Decision plan_dot(OpPlanner& op, const ops::DotAttrs& attrs);

inline constexpr std::array kDotNatives{native<ops::DotAttrs, plan_dot>("dot")};

}  // namespace reprise::native
