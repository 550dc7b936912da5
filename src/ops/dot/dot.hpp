// Contractions: plain, batched, and with quantised weights.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct DotAttrs {
  Ints contract_a;
  Ints contract_b;
  Ints batch_a;
  Ints batch_b;
  bool operator==(const DotAttrs&) const = default;
};
inline constexpr Field kDotFields[] = {
    integers<&DotAttrs::contract_a>("contract_a", "axes of a to sum over", Extent::own),
    integers<&DotAttrs::contract_b>("contract_b", "the axes of b paired with them", Extent::own),
    optional_integers<&DotAttrs::batch_a>("batch_a", "batch axes of a"),
    optional_integers<&DotAttrs::batch_b>("batch_b", "the axes of b paired with them")};
inline constexpr Schema kDotSchema = schema<DotAttrs>(kDotFields);

struct QuantizedMatmulAttrs {
  std::int64_t group_size = 32;
  std::int64_t bits = 4;
  bool transpose = true;
  QuantMode mode = QuantMode::affine;
  bool has_biases = true;
  bool operator==(const QuantizedMatmulAttrs&) const = default;
};
inline constexpr Field kQuantizedMatmulFields[] = {
    integer<&QuantizedMatmulAttrs::group_size>("group_size", "consecutive weights that share a scale", kPositive),
    integer<&QuantizedMatmulAttrs::bits>("bits", "bits a weight", kPositive),
    flag<&QuantizedMatmulAttrs::transpose>("transpose", "w is (N, K) and x times w transposed is wanted", {}),
    mode<&QuantizedMatmulAttrs::mode>("mode", "how codes become weights: affine, mxfp4, mxfp8 or nvfp4"),
    flag<&QuantizedMatmulAttrs::has_biases>("has_biases", "operand biases is given", {})};
inline constexpr Schema kQuantizedMatmulSchema = schema<QuantizedMatmulAttrs>(kQuantizedMatmulFields);

Result<Types> infer_dot(const InferContext& context, const DotAttrs& attrs);
Result<Types> infer_quantized_matmul(const InferContext& context, const QuantizedMatmulAttrs& attrs);

inline constexpr std::string_view kQuantizedMatmulOperands[] = {"x", "w", "scales", "biases?"};

inline constexpr std::array kDotOps{
    OpDef{.name = "dot",
          .family = "dot",
          .summary = "Sums products over paired axes.",
          .rule =
              "Axes are paired by position and have equal sizes. The result has the batch axes in the order of "
              "batch_a, then the free axes of a, then those of b. Promoted dtype, which must be floating or complex. "
              "No contraction axes give an outer product; an empty contraction gives zeros.",
          .operands = kAB,
          .attrs = &kDotSchema,
          .dtypes = kAllDTypes,
          .checked = 2,
          .infer = infer_as<DotAttrs, infer_dot>,
          .tolerance = {64, 1e-30, "rounding grows with the number of terms and differs with their order"}},
    OpDef{.name = "quantized_matmul",
          .family = "dot",
          .summary = "Matrix product with packed weights.",
          .rule = "w is uint32, bits-wide codes packed along its last axis, lowest bits first; group_size consecutive "
                  "codes share a scale (and bias). affine: weight = scale * code + bias. transpose: w is (N, K), the "
                  "result x times its transpose; else w is (K, N). x is (..., K) and floating; the result is (..., N) "
                  "of the promotion of x and scales for affine, of the dtype of x for the others, whose scales are "
                  "uint8 and which take no biases. mxfp4 and nvfp4 codes are E2M1 floats, mxfp8 codes E4M3 floats "
                  "(all ones is NaN); a scale s of mxfp4 and mxfp8 means 2^(s - 127), infinity for 255, one of nvfp4 "
                  "is an E4M3 float. 16-bit products add up in float32.",
          .operands = kQuantizedMatmulOperands,
          .attrs = &kQuantizedMatmulSchema,
          .dtypes = kReals,
          .infer = infer_as<QuantizedMatmulAttrs, infer_quantized_matmul>,
          .tolerance = {256, 1e-6, "the dense product's rounding, with weights rounded to the dtype of the result"}},
};

}  // namespace reprise::ops
