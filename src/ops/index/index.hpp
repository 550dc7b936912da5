// Reading and writing blocks at indexed places.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct GatherAttrs {
  Ints axes;
  Ints slice_sizes;
  Ints shape;
  bool operator==(const GatherAttrs&) const = default;
};
inline constexpr Field kGatherFields[] = {
    integers<&GatherAttrs::axes>("axes", "the axis of x that each column of indices counts along", Extent::own),
    integers<&GatherAttrs::slice_sizes>("slice_sizes", "the block taken at each place: 1 along indexed axes",
                                        Extent::own, kNonNegative),
    integers<&GatherAttrs::shape>("shape", "the shape of the result", Extent::own, kNonNegative)};
inline constexpr Schema kGatherSchema = schema<GatherAttrs>(kGatherFields);

struct ScatterAttrs {
  Ints axes;
  Ints updates_shape;
  bool operator==(const ScatterAttrs&) const = default;
};
inline constexpr Field kScatterFields[] = {
    integers<&ScatterAttrs::axes>("axes", "the axis of x that each column of indices counts along", Extent::own),
    integers<&ScatterAttrs::updates_shape>("updates_shape",
                                           "the shape that updates is read in: batch axes, then one axis for each of x",
                                           Extent::own, kNonNegative)};
inline constexpr Schema kScatterSchema = schema<ScatterAttrs>(kScatterFields);

Result<Types> infer_gather(const InferContext& context, const GatherAttrs& attrs);
Result<Types> infer_scatter(const InferContext& context, const ScatterAttrs& attrs);

inline constexpr Operand kGatherOperands[] = {{"x", "any of rank 1 or more"},
                                              {"indices", "(batch..., columns)", kIntegers}};
inline constexpr Operand kScatterOperands[] = {{"x", "any of rank 1 or more"},
                                               {"indices", "(batch..., columns)", kIntegers},
                                               {"updates", "any with the elements of updates_shape", kAllDTypes}};
inline constexpr std::string_view kScatterErrors =
    "axes empty, out of range or named twice, or as many as the last axis of indices does not say; updates_shape of "
    "another rank, or that updates does not fill, or whose batch axes are not those of indices; a block larger than x, "
    "or not 1 along an indexed axis.";

inline constexpr std::array kIndexOps{
    OpDef{
        .name = "gather",
        .family = "index",
        .summary = "Blocks of x at indexed places.",
        .result = "The attribute `shape`; dtype of x.",
        .rule =
            "Column j of indices counts along axes[j]. At each batch place "
            "the block of slice_sizes that starts there is taken (at 0 along unindexed axes); the blocks, (batch..., "
            "slice_sizes...), are reshaped to shape. A negative index counts from the end; one still outside takes "
            "the nearest place.",
        .errors =
            "axes empty, out of range or named twice, or as many as the last axis of indices does not say; slice_sizes "
            "not one for each axis of x, not 1 along an indexed axis, or larger than x; an empty axis to take from; "
            "blocks that do not fill shape.",
        .operands = kGatherOperands,
        .attrs = &kGatherSchema,
        .infer = infer_as<GatherAttrs, infer_gather>},
    OpDef{.name = "indexed_add",
          .family = "index",
          .summary = "x with blocks added at indexed places.",
          .result = "Shape and dtype of x.",
          .rule =
              "indices as in gather. updates, read in updates_shape (batch axes, then one axis for each of x, 1 along "
              "indexed axes), is cast to the dtype of x. Places that occur twice add up, 16-bit floats in float32. A "
              "negative index counts from the end; a block at an index still outside is dropped.",
          .errors = kScatterErrors,
          .operands = kScatterOperands,
          .attrs = &kScatterSchema,
          .infer = infer_as<ScatterAttrs, infer_scatter>,
          .tolerance = Tolerance(32, 1e-30, "places that occur often add up in an order of the backend's").halves(2)},
    OpDef{.name = "indexed_put",
          .family = "index",
          .summary = "x with blocks overwritten at indexed places.",
          .result = "Shape and dtype of x.",
          .rule = "As indexed_add, but overwrites. Of a place that occurs twice the last block stays.",
          .errors = kScatterErrors,
          .operands = kScatterOperands,
          .attrs = &kScatterSchema,
          .infer = infer_as<ScatterAttrs, infer_scatter>},
};

}  // namespace reprise::ops
