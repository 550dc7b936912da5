// Native planners of the sort family.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/sort/sort.hpp"

namespace reprise::native {

Decision plan_sort(OpPlanner& op, const ops::SortAttrs& attrs);
Decision plan_argsort(OpPlanner& op, const ops::SortAttrs& attrs);

inline constexpr std::array kSortNatives{native<ops::SortAttrs, plan_sort>("sort"),
                                         native<ops::SortAttrs, plan_argsort>("argsort")};

}  // namespace reprise::native
