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

inline constexpr std::string_view kSelectOperands[] = {"pred", "on_true", "on_false"};
inline constexpr std::string_view kClipOperands[] = {"x", "low", "high"};
inline constexpr std::string_view kTakeOperands[] = {"x", "indices"};

inline constexpr std::array kSelectOps{
    OpDef{.name = "select",
          .family = "select",
          .summary = "on_true where pred is non-zero, else on_false.",
          .rule = "The three shapes broadcast; the dtype is the promotion of on_true and on_false; pred has any dtype.",
          .operands = kSelectOperands,
          .checked = 3,
          .infer = infer_plain<infer_select>,
          .traits = Trait::elementwise},
    OpDef{.name = "clip",
          .family = "select",
          .summary = "x held between low and high.",
          .rule = "min(max(x, low), high): high wins when low is above it; NaN stays NaN. Shapes broadcast, dtypes "
                  "promote.",
          .operands = kClipOperands,
          .checked = 3,
          .infer = infer_plain<infer_clip>,
          .traits = Trait::elementwise},
    OpDef{.name = "take",
          .family = "select",
          .summary = "Slices of x along an axis, by index.",
          .rule =
              "The shape of x with axis replaced by the shape of indices. Indices have an integer dtype; a negative "
              "one counts from the end; one still outside takes the nearest slice.",
          .operands = kTakeOperands,
          .attrs = &kAxisSchema,
          .infer = infer_as<AxisAttrs, infer_take>},
    OpDef{.name = "take_along_axis",
          .family = "select",
          .summary = "One element of x for each index, along an axis.",
          .rule =
              "x and indices have the same rank; the result has the shape of indices along axis, the other axes "
              "broadcast. Indices have an integer dtype; a negative one counts from the end; one still outside takes "
              "the nearest element.",
          .operands = kTakeOperands,
          .attrs = &kAxisSchema,
          .infer = infer_as<AxisAttrs, infer_take_along_axis>},
};

}  // namespace reprise::ops
