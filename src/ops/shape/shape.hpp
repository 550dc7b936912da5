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

inline constexpr Operand kPadOperands[] = {{"x", "any"}, {"value", "scalar", kAllDTypes}};
inline constexpr Operand kJoinedOperands[] = {{"x...", "rank 1 or more; equal but along axis"}};
inline constexpr Operand kStackedOperands[] = {{"x...", "equal shapes"}};

inline constexpr std::array kShapeOps{
    OpDef{.name = "reshape",
          .family = "shape",
          .summary = "The elements in row-major order under another shape.",
          .result = "The attribute `shape`; dtype of x.",
          .rule = "Row-major order is kept. One -1 is inferred. No attribute gives a scalar.",
          .errors = "A shape that x does not fill; more than one -1.",
          .operands = kX,
          .attrs = &kReshapeSchema,
          .infer = infer_as<ShapeAttrs, infer_reshape>,
          .traits = Trait::view},
    OpDef{.name = "squeeze",
          .family = "shape",
          .summary = "Drops axes of size 1.",
          .result = "Shape of x without `axes`; dtype of x.",
          .rule = "No axes: the identity, not all of size 1.",
          .errors = "An axis out of range, named twice, or of another size than 1.",
          .operands = kX,
          .attrs = &kAxesSchema,
          .infer = infer_as<AxesAttrs, infer_squeeze>,
          .traits = Trait::view},
    OpDef{.name = "transpose",
          .family = "shape",
          .summary = "Permutes the axes.",
          .result = "Axis i has the size of axis axes[i] of x; dtype of x.",
          .rule = "Axis i of the result is axis axes[i] of x.",
          .errors = "Axes that do not name each axis of x once.",
          .operands = kX,
          .attrs = &kAxesSchema,
          .infer = infer_as<AxesAttrs, infer_transpose>,
          .traits = Trait::view},
    OpDef{
        .name = "broadcast",
        .family = "shape",
        .summary = "Repeats x along new or unit axes.",
        .result = "The attribute `shape`; dtype of x.",
        .rule = "Axis i of x lies at axis axes[i] of the result; every other axis repeats, and so does one of size 1. "
                "The order of the data is kept, so axes that do not increase act as a reshape.",
        .errors = "Not one entry of axes for each axis of x; an axis out of range or named twice; a size of x that is "
                  "neither that of the result nor 1.",
        .operands = kX,
        .attrs = &kBroadcastSchema,
        .infer = infer_as<BroadcastAttrs, infer_broadcast>,
        .traits = Trait::view},
    OpDef{.name = "pad",
          .family = "shape",
          .summary = "Surrounds and interleaves x with a value.",
          .result = "Each axis has n + (n - 1) * interior + low + high elements (low + high for n = 0); dtype of x.",
          .rule = "For each axis: interior values go between neighbours, then negative low and high cut, then positive "
                  "ones add. value is cast to the dtype of x.",
          .errors = "Not one entry of the attributes for each axis of x; more cut than there is; a value that is no "
                    "scalar.",
          .operands = kPadOperands,
          .attrs = &kPadSchema,
          .infer = infer_as<PadAttrs, infer_pad>},
    OpDef{.name = "reverse",
          .family = "shape",
          .summary = "Flips the named axes.",
          .result = "Shape and dtype of x.",
          .rule = "No axes: the identity.",
          .errors = "An axis out of range or named twice.",
          .operands = kX,
          .attrs = &kAxesSchema,
          .infer = infer_as<AxesAttrs, infer_reverse>,
          .traits = Trait::view},
    OpDef{.name = "concatenate",
          .family = "shape",
          .summary = "Joins operands along an axis.",
          .result = "The sizes along axis added up, the other axes kept; promoted dtype of all.",
          .rule = "The operands lie one after the other along axis. One operand is allowed.",
          .errors = "Scalars; an axis out of range; other axes that differ.",
          .operands = kJoinedOperands,
          .attrs = &kAxisSchema,
          .infer = infer_as<AxisAttrs, infer_concatenate>},
    OpDef{.name = "stack",
          .family = "shape",
          .summary = "Joins operands along a new axis.",
          .result = "A new axis, as long as there are operands, at axis; promoted dtype of all.",
          .rule = "axis counts in the result. One operand is allowed.",
          .errors = "Shapes that differ; an axis out of range.",
          .operands = kStackedOperands,
          .attrs = &kAxisSchema,
          .infer = infer_as<AxisAttrs, infer_stack>},
};

}  // namespace reprise::ops
