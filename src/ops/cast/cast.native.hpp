// Native planners of the cast family.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/cast/cast.hpp"

namespace reprise::native {

Decision plan_bitcast(OpPlanner& op, const ops::DTypeAttrs& attrs);

inline constexpr std::array kCastNatives{native<ops::DTypeAttrs, plan_bitcast>("bitcast")};

}  // namespace reprise::native
