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

inline constexpr std::string_view kSliceOperands[] = {"x", "start...*"};
inline constexpr std::string_view kPutSliceOperands[] = {"x", "update", "start...*"};

inline constexpr std::array kSliceOps{
    OpDef{.name = "slice",
          .family = "slice",
          .summary = "A window of x, with steps.",
          .rule =
              "Every start is clamped to [0, size - length] in its own dtype. lengths are spans: an axis yields the "
              "elements start, start + stride, ... below start + length. Dynamic starts are operands in the order of "
              "their axes: one element each, of a real dtype (floats are truncated).",
          .operands = kSliceOperands,
          .attrs = &kSliceSchema,
          .infer = infer_as<SliceAttrs, infer_slice>},
    OpDef{.name = "put_slice",
          .family = "slice",
          .summary = "x with a window overwritten.",
          .rule =
              "Shape and dtype of x; update is cast. Every start is clamped to [0, size - length] in its own dtype, "
              "so that the window fits. Dynamic starts are operands in the order of their axes.",
          .operands = kPutSliceOperands,
          .attrs = &kPutSliceSchema,
          .checked = 2,
          .infer = infer_as<PutSliceAttrs, infer_put_slice>},
};

}  // namespace reprise::ops
