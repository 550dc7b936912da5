// Native planner of products with packed weights.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/dot/dot.hpp"

namespace reprise::native {

Decision plan_quantized_matmul(OpPlanner& op, const ops::QuantizedMatmulAttrs& attrs);

inline constexpr std::array kQuantizedNatives{
    native<ops::QuantizedMatmulAttrs, plan_quantized_matmul>("quantized_matmul")};

}  // namespace reprise::native
