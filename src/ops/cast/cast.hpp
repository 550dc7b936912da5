// Casts and reinterpretation of bits.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct DTypeAttrs {
  DType dtype = DType::float32;
  bool operator==(const DTypeAttrs&) const = default;
};
inline constexpr Field kDTypeFields[] = {dtype<&DTypeAttrs::dtype>("dtype", "the dtype of the result")};
inline constexpr Schema kDTypeSchema = schema<DTypeAttrs>(kDTypeFields);

Result<Types> infer_astype(const InferContext& context, const DTypeAttrs& attrs);
Result<Types> infer_bitcast(const InferContext& context, const DTypeAttrs& attrs);

inline constexpr std::array kCastOps{
    OpDef{.name = "astype",
          .family = "cast",
          .summary = "Converts each element to `dtype`.",
          .result = "Shape of x; the attribute `dtype`.",
          .rule = "A float becomes an integer by truncation toward zero and saturates outside the target's "
                  "range; NaN becomes 0. bool is x != 0 (NaN is true). An integer becomes a narrower integer modulo "
                  "2^bits. complex64 to a real dtype keeps the real part; to bool it is true if either part is not 0. "
                  "float64 and "
                  "wide integers reach float16 and bfloat16 through float32, rounding twice.",
          .errors = kNoErrors,
          .operands = kX,
          .attrs = &kDTypeSchema,
          .infer = infer_as<DTypeAttrs, infer_astype>},
    OpDef{.name = "bitcast",
          .family = "cast",
          .summary = "Reads the bytes of x as elements of `dtype`.",
          .result =
              "Shape of x for dtypes of equal size, else the last axis is rescaled by the ratio of the sizes; the "
              "attribute `dtype`.",
          .rule = "Native byte order. As bool, a byte other than 0 is true.",
          .errors = "A scalar as a dtype of another size; a last axis that is no multiple of the ratio of the sizes.",
          .operands = kX,
          .attrs = &kDTypeSchema,
          .infer = infer_as<DTypeAttrs, infer_bitcast>,
          .traits = Trait::view},
};

}  // namespace reprise::ops
