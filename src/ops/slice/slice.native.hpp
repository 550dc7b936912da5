// Native planners of the slice family: views where the starts are known, in place where nobody else wants the array.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/slice/slice.hpp"

namespace reprise::native {

Decision plan_slice(OpPlanner& op, const ops::SliceAttrs& attrs);
Decision plan_put_slice(OpPlanner& op, const ops::PutSliceAttrs& attrs);

inline constexpr std::array kSliceNatives{native<ops::SliceAttrs, plan_slice>("slice"),
                                          native<ops::PutSliceAttrs, plan_put_slice>("put_slice")};

}  // namespace reprise::native
