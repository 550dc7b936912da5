// Arrays made from attributes alone.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct IotaAttrs {
  DType dtype = DType::int32;
  std::int64_t axis = -1;
  Ints shape;
  bool operator==(const IotaAttrs&) const = default;
};
inline constexpr Field kIotaFields[] = {
    dtype<&IotaAttrs::dtype>("dtype", "the dtype of the result"), count("n"),
    integer<&IotaAttrs::axis>("axis", "the axis that counts; -1 counts through the whole array", {.min = -1}),
    integers<&IotaAttrs::shape>("shape", "the shape of the result", Extent::group, kNonNegative)};
inline constexpr Schema kIotaSchema = schema<IotaAttrs>(kIotaFields);

struct EyeAttrs {
  DType dtype = DType::float32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool operator==(const EyeAttrs&) const = default;
};
inline constexpr Field kEyeFields[] = {dtype<&EyeAttrs::dtype>("dtype", "the dtype of the result"),
                                       integer<&EyeAttrs::rows>("rows", "number of rows", kNonNegative),
                                       integer<&EyeAttrs::columns>("columns", "number of columns", kNonNegative)};
inline constexpr Schema kEyeSchema = schema<EyeAttrs>(kEyeFields);

Result<Types> infer_iota(const InferContext& context, const IotaAttrs& attrs);
Result<Types> infer_eye(const InferContext& context, const EyeAttrs& attrs);

inline constexpr std::array kFillOps{
    OpDef{.name = "iota",
          .family = "fill",
          .summary = "Counts 0, 1, 2, ... along an axis or through the array.",
          .result = "The attributes `shape` and `dtype`.",
          .rule =
              "axis -1 counts in row-major order; else the element is its coordinate along axis. The count is taken "
              "as an integer and then cast to dtype. An empty shape gives the scalar 0.",
          .errors = "An axis out of range.",
          .operands = {},
          .attrs = &kIotaSchema,
          .infer = infer_as<IotaAttrs, infer_iota>},
    OpDef{.name = "eye",
          .family = "fill",
          .summary = "Ones on the main diagonal, zeros elsewhere.",
          .result = "(rows, columns) of the attribute `dtype`.",
          .rule = "Element (i, j) is 1 if i = j, else 0.",
          .errors = kNoErrors,
          .operands = {},
          .attrs = &kEyeSchema,
          .infer = infer_as<EyeAttrs, infer_eye>},
};

}  // namespace reprise::ops
