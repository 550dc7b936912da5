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

inline constexpr Operand kQuantizedMatmulOperands[] = {
    {"x", "(..., K)"},
    {"w", "(..., N, K * bits / 32) if transpose, else (..., K, N * bits / 32)", set_of(DType::uint32)},
    {"scales", "that of w, its last axis one for each group", kFloats | set_of(DType::uint8)},
    {"biases?", "that of scales", kFloats}};

inline constexpr std::array kDotOps{
    OpDef{.name = "dot",
          .family = "dot",
          .summary = "Sums products over paired axes.",
          .result = "The batch axes in the order of batch_a, then the free axes of a, then those of b; promoted dtype.",
          .rule = "Axes are paired by position. No contraction axes give an outer product; an empty contraction gives "
                  "zeros.",
          .errors =
              "A promoted dtype that is neither floating nor complex; lists of different lengths; an axis out of "
              "range or named twice; paired axes of different sizes; 2^31 elements or more in the summed axes, or "
              "in the free axes of an operand, together.",
          .operands = kAB,
          .attrs = &kDotSchema,
          .dtypes = kAllDTypes,
          .infer = infer_as<DotAttrs, infer_dot>,
          .tolerance =
              Tolerance(64, 1e-30, "rounding grows with the number of terms and differs with their order").halves(2)},
    OpDef{
        .name = "quantized_matmul",
        .family = "dot",
        .summary = "Matrix product with packed weights.",
        .result = "(..., N); for mode affine the promotion of x and scales, else the dtype of x.",
        .rule =
            "w holds bits-wide codes packed into words along its last axis, lowest bits first; group_size consecutive "
            "codes share a scale (and bias). affine: weight = scale * code + bias. transpose: w is (N, K), the "
            "result x times its transpose; else w is (K, N). mxfp4 and nvfp4 codes are E2M1 floats, mxfp8 codes E4M3 "
            "floats "
            "(all ones is NaN); a scale s of mxfp4 and mxfp8 means 2^(s - 127), infinity for 255, one of nvfp4 "
            "is an E4M3 float. 16-bit products add up in float32.",
        .errors =
            "group_size or bits that the mode does not take; biases for a mode other than affine, or none for it; "
            "scales that are not floating for affine, or not uint8 for the others; an x that is not floating for "
            "modes other than affine; a last axis of w that holds no whole number of groups; shapes of scales, "
            "biases or x that do not fit w.",
        .operands = kQuantizedMatmulOperands,
        .attrs = &kQuantizedMatmulSchema,
        .dtypes = kReals,
        .infer = infer_as<QuantizedMatmulAttrs, infer_quantized_matmul>,
        .tolerance =
            Tolerance(256, 1e-6, "the dense product's rounding, with weights rounded to the dtype of the result")
                .halves(16)},
};

}  // namespace reprise::ops
