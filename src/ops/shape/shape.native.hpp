// Native planners of the shape family: views where elements stay where they are.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/shape/shape.hpp"

namespace reprise::native {

Decision plan_reshape(OpPlanner& op, const ops::ShapeAttrs& attrs);
Decision plan_squeeze(OpPlanner& op, const ops::AxesAttrs& attrs);
Decision plan_transpose(OpPlanner& op, const ops::AxesAttrs& attrs);
Decision plan_broadcast(OpPlanner& op, const ops::BroadcastAttrs& attrs);
Decision plan_pad(OpPlanner& op, const ops::PadAttrs& attrs);
Decision plan_reverse(OpPlanner& op, const ops::AxesAttrs& attrs);
Decision plan_concatenate(OpPlanner& op, const ops::AxisAttrs& attrs);
Decision plan_stack(OpPlanner& op, const ops::AxisAttrs& attrs);

inline constexpr std::array kShapeNatives{
    native<ops::ShapeAttrs, plan_reshape>("reshape"),
    native<ops::AxesAttrs, plan_squeeze>("squeeze"),
    native<ops::AxesAttrs, plan_transpose>("transpose"),
    native<ops::BroadcastAttrs, plan_broadcast>("broadcast"),
    native<ops::PadAttrs, plan_pad>("pad"),
    native<ops::AxesAttrs, plan_reverse>("reverse"),
    native<ops::AxisAttrs, plan_stack>("stack"),
    native<ops::AxisAttrs, plan_concatenate>("concatenate"),
};

}  // namespace reprise::native
