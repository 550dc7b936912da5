// Native planners of the window family.
#pragma once

#include <array>

#include "backends/native/kernels/window.hpp"
#include "backends/native/native.hpp"
#include "ops/window/window.hpp"

namespace reprise::native {

Decision plan_window(OpPlanner& op, const ops::WindowAttrs& attrs, WindowKind kind);
Decision plan_window_scatter(OpPlanner& op, const ops::WindowScatterAttrs& attrs, bool greatest);

template <WindowKind kKind>
Decision plan_window_as(OpPlanner& op, const ops::WindowAttrs& attrs) {
  return plan_window(op, attrs, kKind);
}
template <bool kGreatest>
Decision plan_window_scatter_as(OpPlanner& op, const ops::WindowScatterAttrs& attrs) {
  return plan_window_scatter(op, attrs, kGreatest);
}

inline constexpr std::array kWindowNatives{
    native<ops::WindowAttrs, plan_window_as<WindowKind::sum>>("window_sum"),
    native<ops::WindowAttrs, plan_window_as<WindowKind::product>>("window_product"),
    native<ops::WindowAttrs, plan_window_as<WindowKind::max>>("window_max"),
    native<ops::WindowAttrs, plan_window_as<WindowKind::min>>("window_min"),
    native<ops::WindowScatterAttrs, plan_window_scatter_as<true>>("window_scatter_max"),
    native<ops::WindowScatterAttrs, plan_window_scatter_as<false>>("window_scatter_min"),
};

}  // namespace reprise::native
