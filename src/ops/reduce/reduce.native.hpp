// Native planners of reductions.
#pragma once

#include <array>

#include "backends/native/kernels/reduce.hpp"
#include "backends/native/native.hpp"
#include "ops/reduce/reduce.hpp"

namespace reprise::native {

Decision plan_reduce(OpPlanner& op, const ops::ReduceAttrs& attrs, ReduceKind kind);
Decision plan_arg_reduce(OpPlanner& op, const ops::ArgReduceAttrs& attrs, bool greatest);

template <ReduceKind kKind>
Decision plan_reduce_as(OpPlanner& op, const ops::ReduceAttrs& attrs) {
  return plan_reduce(op, attrs, kKind);
}
template <bool kGreatest>
Decision plan_arg_reduce_as(OpPlanner& op, const ops::ArgReduceAttrs& attrs) {
  return plan_arg_reduce(op, attrs, kGreatest);
}

inline constexpr std::array kReduceNatives{
    native<ops::ReduceAttrs, plan_reduce_as<ReduceKind::sum>>("sum"),
    native<ops::ReduceAttrs, plan_reduce_as<ReduceKind::product>>("product"),
    native<ops::ReduceAttrs, plan_reduce_as<ReduceKind::all>>("all"),
    native<ops::ReduceAttrs, plan_reduce_as<ReduceKind::any>>("any"),
    native<ops::ReduceAttrs, plan_reduce_as<ReduceKind::max>>("reduce_max"),
    native<ops::ReduceAttrs, plan_reduce_as<ReduceKind::min>>("reduce_min"),
    native<ops::ArgReduceAttrs, plan_arg_reduce_as<true>>("argmax"),
    native<ops::ArgReduceAttrs, plan_arg_reduce_as<false>>("argmin"),
};

}  // namespace reprise::native
