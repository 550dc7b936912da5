// Ops that move, relabel or join elements.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct ShapeAttrs {
  Ints shape;
  bool operator==(const ShapeAttrs&) const = default;
};
struct AxesAttrs {
  Ints axes;
  bool operator==(const AxesAttrs&) const = default;
};
struct AxisAttrs {
  std::int64_t axis = 0;
  bool operator==(const AxisAttrs&) const = default;
};
struct BroadcastAttrs {
  Ints shape;
  Ints axes;
  bool operator==(const BroadcastAttrs&) const = default;
};
struct PadAttrs {
  Ints low;
  Ints high;
  Ints interior;
  bool operator==(const PadAttrs&) const = default;
};

inline constexpr Field kReshapeFields[] = {
    integers<&ShapeAttrs::shape>("shape", "the shape of the result; one -1 is inferred", Extent::rest, {.min = -1})};
inline constexpr Schema kReshapeSchema = schema<ShapeAttrs>(kReshapeFields);
inline constexpr Field kAxesFields[] = {
    integers<&AxesAttrs::axes>("axes", "axes of x; negative ones count from the end", Extent::rest)};
inline constexpr Schema kAxesSchema = schema<AxesAttrs>(kAxesFields);
inline constexpr Field kAxisFields[] = {
    integer<&AxisAttrs::axis>("axis", "an axis; a negative one counts from the end")};
inline constexpr Schema kAxisSchema = schema<AxisAttrs>(kAxisFields);
inline constexpr Field kBroadcastFields[] = {
    integers<&BroadcastAttrs::shape>("shape", "the shape of the result", Extent::own, kNonNegative),
    integers<&BroadcastAttrs::axes>("axes", "where each axis of x lies in the result", Extent::own)};
inline constexpr Schema kBroadcastSchema = schema<BroadcastAttrs>(kBroadcastFields);
inline constexpr Field kPadFields[] = {
    count("n"),
    integers<&PadAttrs::low>("low", "elements put before each axis; negative ones cut", Extent::group, {}, true),
    integers<&PadAttrs::high>("high", "elements put after each axis; negative ones cut", Extent::group, {}, true),
    integers<&PadAttrs::interior>("interior", "elements put between neighbours", Extent::group, kNonNegative, true)};
inline constexpr Schema kPadSchema = schema<PadAttrs>(kPadFields);

Result<Types> infer_reshape(const InferContext& context, const ShapeAttrs& attrs);
Result<Types> infer_squeeze(const InferContext& context, const AxesAttrs& attrs);
Result<Types> infer_transpose(const InferContext& context, const AxesAttrs& attrs);
Result<Types> infer_broadcast(const InferContext& context, const BroadcastAttrs& attrs);
Result<Types> infer_pad(const InferContext& context, const PadAttrs& attrs);
Result<Types> infer_reverse(const InferContext& context, const AxesAttrs& attrs);
Result<Types> infer_concatenate(const InferContext& context, const AxisAttrs& attrs);
Result<Types> infer_stack(const InferContext& context, const AxisAttrs& attrs);

inline constexpr std::string_view kPadOperands[] = {"x", "value"};
inline constexpr std::string_view kManyOperands[] = {"x..."};

inline constexpr std::array kShapeOps{
    OpDef{.name = "reshape",
          .family = "shape",
          .summary = "The elements in row-major order under another shape.",
          .rule = "The sizes must match. One -1 is inferred. No attribute gives a scalar.",
          .operands = kX,
          .attrs = &kReshapeSchema,
          .infer = infer_as<ShapeAttrs, infer_reshape>,
          .traits = Trait::view},
    OpDef{.name = "squeeze",
          .family = "shape",
          .summary = "Drops axes of size 1.",
          .rule = "Each named axis must have size 1. No axes: the identity, not all of them.",
          .operands = kX,
          .attrs = &kAxesSchema,
          .infer = infer_as<AxesAttrs, infer_squeeze>,
          .traits = Trait::view},
    OpDef{.name = "transpose",
          .family = "shape",
          .summary = "Permutes the axes.",
          .rule = "Axis i of the result is axis axes[i] of x; every axis is named once.",
          .operands = kX,
          .attrs = &kAxesSchema,
          .infer = infer_as<AxesAttrs, infer_transpose>,
          .traits = Trait::view},
    OpDef{.name = "broadcast",
          .family = "shape",
          .summary = "Repeats x along new or unit axes.",
          .rule = "Axis i of x lies at axis axes[i] of the result and has its size or 1; every other axis repeats. "
                  "axes has one entry for each axis of x. The order of the data is kept, so axes that do not increase "
                  "act as a reshape.",
          .operands = kX,
          .attrs = &kBroadcastSchema,
          .infer = infer_as<BroadcastAttrs, infer_broadcast>,
          .traits = Trait::view},
    OpDef{.name = "pad",
          .family = "shape",
          .summary = "Surrounds and interleaves x with a value.",
          .rule = "For each axis: interior values go between neighbours, then negative low and high cut, then positive "
                  "ones add. value is a scalar and is cast to the dtype of x.",
          .operands = kPadOperands,
          .attrs = &kPadSchema,
          .infer = infer_as<PadAttrs, infer_pad>},
    OpDef{.name = "reverse",
          .family = "shape",
          .summary = "Flips the named axes.",
          .rule = "Axes are distinct. No axes: the identity.",
          .operands = kX,
          .attrs = &kAxesSchema,
          .infer = infer_as<AxesAttrs, infer_reverse>,
          .traits = Trait::view},
    OpDef{.name = "concatenate",
          .family = "shape",
          .summary = "Joins operands along an axis.",
          .rule = "One or more operands of rank 1 or more; other axes are equal; the dtype is the promotion of all.",
          .operands = kManyOperands,
          .attrs = &kAxisSchema,
          .checked = 255,
          .infer = infer_as<AxisAttrs, infer_concatenate>},
    OpDef{.name = "stack",
          .family = "shape",
          .summary = "Joins operands along a new axis.",
          .rule = "One or more operands of equal shape; axis counts in the result; the dtype is the promotion of all.",
          .operands = kManyOperands,
          .attrs = &kAxisSchema,
          .checked = 255,
          .infer = infer_as<AxisAttrs, infer_stack>},
};

}  // namespace reprise::ops
