// Native planners of the norm family.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/norm/norm.hpp"

namespace reprise::native {

Decision plan_norm(OpPlanner& op, const ops::EpsAttrs& attrs, bool centre);
template <bool Centre>
Decision plan_norm_as(OpPlanner& op, const ops::EpsAttrs& attrs) {
  return plan_norm(op, attrs, Centre);
}
/// For where it is no member of an element-wise group.
Decision plan_swiglu(OpPlanner& op);

inline constexpr std::array kNormNatives{
    native<ops::EpsAttrs, plan_norm_as<false>>("fast_rms_norm"),
    native<ops::EpsAttrs, plan_norm_as<true>>("fast_layer_norm"),
    native<ops::EpsAttrs, plan_norm_as<true>>("fast_layer_norm_no_bias"),
    native<plan_swiglu>("fast_swiglu"),
};

}  // namespace reprise::native
