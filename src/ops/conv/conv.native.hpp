// Native planner of convolutions.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/conv/conv.hpp"

namespace reprise::native {

Decision plan_conv(OpPlanner& op, const ops::ConvAttrs& attrs);

inline constexpr std::array kConvNatives{native<ops::ConvAttrs, plan_conv>("conv_general")};

}  // namespace reprise::native
