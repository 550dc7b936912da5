// Native planners of rotary position embedding.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/rope/rope.hpp"

namespace reprise::native {

Decision plan_rope(OpPlanner& op, const ops::RopeAttrs& attrs);

inline constexpr std::array kRopeNatives{
    native<ops::RopeAttrs, plan_rope>("fast_rope"),
    native<ops::RopeAttrs, plan_rope>("fast_rope_ids"),
    native<ops::RopeAttrs, plan_rope>("fast_rope_with_freqs"),
    native<ops::RopeAttrs, plan_rope>("fast_rope_positions"),
    native<ops::RopeAttrs, plan_rope>("fast_rope_with_freqs_positions"),
};

}  // namespace reprise::native
