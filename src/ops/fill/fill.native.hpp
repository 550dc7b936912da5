// Native planners of the fill family: small tables that are made once, seen through views.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/fill/fill.hpp"

namespace reprise::native {

Decision plan_iota(OpPlanner& op, const ops::IotaAttrs& attrs);
Decision plan_eye(OpPlanner& op, const ops::EyeAttrs& attrs);

inline constexpr std::array kFillNatives{native<ops::IotaAttrs, plan_iota>("iota"),
                                         native<ops::EyeAttrs, plan_eye>("eye")};

}  // namespace reprise::native
