// Choosing among values, and taking elements by index.
#pragma once

#include <array>

#include "ops/op_def.hpp"
#include "ops/shape/shape.hpp"

namespace reprise::ops {

Result<Types> infer_select(const InferContext& context);
Result<Types> infer_clip(const InferContext& context);
Result<Types> infer_take(const InferContext& context, const AxisAttrs& attrs);
Result<Types> infer_take_along_axis(const InferContext& context, const AxisAttrs& attrs);

inline constexpr Operand kSelectOperands[] = {
    {"pred", "broadcasts with the others", kAllDTypes}, {"on_true", "any"}, {"on_false", "broadcasts with on_true"}};
inline constexpr Operand kClipOperands[] = {
    {"x", "any"}, {"low", "broadcasts with the others"}, {"high", "broadcasts with the others"}};
inline constexpr Operand kTakeOperands[] = {{"x", "any of rank 1 or more"}, {"indices", "any", kIntegers}};
inline constexpr Operand kTakeAlongOperands[] = {
    {"x", "any of rank 1 or more"}, {"indices", "rank of x; broadcasts with it but along axis", kIntegers}};

inline constexpr std::array kSelectOps{
    OpDef{.name = "select",
          .family = "select",
          .summary = "on_true where pred is non-zero, else on_false.",
          .result = "Broadcast shape of all three; promoted dtype of on_true and on_false.",
          .rule = "NaN counts as non-zero. Both values are computed, whichever is taken.",
          .errors = kBroadcastErrors,
          .operands = kSelectOperands,
          .infer = infer_plain<infer_select>,
          .traits = Trait::elementwise},
    OpDef{.name = "clip",
          .family = "select",
          .summary = "x held between low and high.",
          .result = "Broadcast shape; promoted dtype.",
          .rule = "min(max(x, low), high): high wins when low is above it; NaN stays NaN.",
          .errors = kBroadcastErrors,
          .operands = kClipOperands,
          .infer = infer_plain<infer_clip>,
          .traits = Trait::elementwise},
    OpDef{.name = "take",
          .family = "select",
          .summary = "Slices of x along an axis, by index.",
          .result = "Shape of x with axis replaced by the shape of indices; dtype of x.",
          .rule = "A negative index counts from the end; one still outside takes the nearest slice.",
          .errors = "An axis out of range; an empty axis to take from.",
          .operands = kTakeOperands,
          .attrs = &kAxisSchema,
          .infer = infer_as<AxisAttrs, infer_take>},
    OpDef{.name = "take_along_axis",
          .family = "select",
          .summary = "One element of x for each index, along an axis.",
          .result = "That of indices along axis, the broadcast of both along the others; dtype of x.",
          .rule = "A negative index counts from the end; one still outside takes the nearest element.",
          .errors = "Another rank in indices; an axis out of range; other axes that do not broadcast; an empty axis to "
                    "take from.",
          .operands = kTakeAlongOperands,
          .attrs = &kAxisSchema,
          .infer = infer_as<AxisAttrs, infer_take_along_axis>},
};

}  // namespace reprise::ops
