// Reading and writing windows of an array.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct SliceAttrs {
  std::int64_t dynamic_mask = 0;
  Ints input_shape;
  Ints lengths;
  Ints strides;
  Ints starts;
  bool operator==(const SliceAttrs&) const = default;
};
inline constexpr Range kMask{.min = 0, .max = (std::int64_t{1} << 62) - 1};
inline constexpr Field kSliceFields[] = {
    count("n"),
    integer<&SliceAttrs::dynamic_mask>("dynamic_mask", "bit i set: the start of axis i is an operand", kMask, 0),
    integers<&SliceAttrs::input_shape>("input_shape", "the shape of x", Extent::group, kNonNegative),
    integers<&SliceAttrs::lengths>("lengths", "the span taken of each axis", Extent::group, kNonNegative),
    integers<&SliceAttrs::strides>("strides", "the step along each axis", Extent::group, kPositive),
    integers<&SliceAttrs::starts>("starts", "where each axis starts; ignored for dynamic axes", Extent::group,
                                  {.min = INT64_MIN, .max = INT64_MAX})};
inline constexpr Schema kSliceSchema = schema<SliceAttrs>(kSliceFields);

struct PutSliceAttrs {
  std::int64_t dynamic_mask = 0;
  Ints input_shape;
  Ints lengths;
  Ints starts;
  bool operator==(const PutSliceAttrs&) const = default;
};
inline constexpr Field kPutSliceFields[] = {
    count("n"),
    integer<&PutSliceAttrs::dynamic_mask>("dynamic_mask", "bit i set: the start of axis i is an operand", kMask, 0),
    integers<&PutSliceAttrs::input_shape>("input_shape", "the shape of x", Extent::group, kNonNegative),
    integers<&PutSliceAttrs::lengths>("lengths", "the shape of update", Extent::group, kNonNegative),
    integers<&PutSliceAttrs::starts>("starts", "where each axis starts; ignored for dynamic axes", Extent::group,
                                     {.min = INT64_MIN, .max = INT64_MAX})};
inline constexpr Schema kPutSliceSchema = schema<PutSliceAttrs>(kPutSliceFields);

Result<Types> infer_slice(const InferContext& context, const SliceAttrs& attrs);
Result<Types> infer_put_slice(const InferContext& context, const PutSliceAttrs& attrs);

inline constexpr Operand kStart{"start...*", "one element", kReals};
inline constexpr Operand kSliceOperands[] = {{"x", "any"}, kStart};
inline constexpr Operand kPutSliceOperands[] = {{"x", "rank 1 or more"}, {"update", "lengths", kAllDTypes}, kStart};
inline constexpr std::string_view kStartErrors =
    "input_shape other than the shape of x; a length greater than its axis; a bit of dynamic_mask beyond the rank; "
    "another number of start operands than it has bits; a start of more than one element.";

inline constexpr std::array kSliceOps{
    OpDef{.name = "slice",
          .family = "slice",
          .summary = "A window of x, with steps.",
          .result = "ceil(length / stride) along each axis; dtype of x.",
          .rule =
              "Every start is clamped to [0, size - length] in its own dtype. lengths are spans: an axis yields the "
              "elements start, start + stride, ... below start + length. Dynamic starts are operands in the order of "
              "their axes; floats are truncated.",
          .errors = kStartErrors,
          .operands = kSliceOperands,
          .attrs = &kSliceSchema,
          .infer = infer_as<SliceAttrs, infer_slice>},
    OpDef{.name = "put_slice",
          .family = "slice",
          .summary = "x with a window overwritten.",
          .result = "Shape and dtype of x.",
          .rule = "update is cast to the dtype of x. Every start is clamped to [0, size - length] in its own dtype, "
                  "so that the window fits. Dynamic starts are operands in the order of their axes.",
          .errors = "As slice; a scalar x; an update of another shape than lengths.",
          .operands = kPutSliceOperands,
          .attrs = &kPutSliceSchema,
          .infer = infer_as<PutSliceAttrs, infer_put_slice>},
};

}  // namespace reprise::ops
