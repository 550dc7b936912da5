// Normalisation over the last axis, and the gated activation.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct EpsAttrs {
  double eps = 1e-5;
  bool operator==(const EpsAttrs&) const = default;
};
inline constexpr Field kEpsFields[] = {real<&EpsAttrs::eps>("eps", "added to the mean square or variance; 0 or more")};
inline constexpr Schema kEpsSchema = schema<EpsAttrs>(kEpsFields);

Result<Types> infer_norm(const InferContext& context, const EpsAttrs& attrs);
Result<Types> infer_swiglu(const InferContext& context);

inline constexpr std::string_view kNormOperands[] = {"x", "weight"};
inline constexpr std::string_view kNormBiasOperands[] = {"x", "weight", "bias"};
inline constexpr std::string_view kSwigluOperands[] = {"gate", "up"};
inline constexpr Tolerance kNormTolerance{32, 1e-6,
                                          "mean and variance are sums, whose rounding grows with their length"};

inline constexpr std::array kNormOps{
    OpDef{.name = "fast_rms_norm",
          .family = "norm",
          .summary = "x / sqrt(mean(x^2) + eps) * weight over the last axis.",
          .rule = "weight has the size of the last axis. Computed in float32; promoted, floating dtype.",
          .operands = kNormOperands,
          .attrs = &kEpsSchema,
          .dtypes = kFloats,
          .checked = 2,
          .infer = infer_as<EpsAttrs, infer_norm>,
          .tolerance = kNormTolerance},
    OpDef{.name = "fast_layer_norm",
          .family = "norm",
          .summary = "(x - mean) / sqrt(variance + eps) * weight + bias over the last axis.",
          .rule = "Population variance. weight and bias have the size of the last axis. Computed in float32; promoted, "
                  "floating dtype.",
          .operands = kNormBiasOperands,
          .attrs = &kEpsSchema,
          .dtypes = kFloats,
          .checked = 3,
          .infer = infer_as<EpsAttrs, infer_norm>,
          .tolerance = kNormTolerance},
    OpDef{.name = "fast_layer_norm_no_bias",
          .family = "norm",
          .summary = "(x - mean) / sqrt(variance + eps) * weight over the last axis.",
          .rule = "As fast_layer_norm without a bias.",
          .operands = kNormOperands,
          .attrs = &kEpsSchema,
          .dtypes = kFloats,
          .checked = 2,
          .infer = infer_as<EpsAttrs, infer_norm>,
          .tolerance = kNormTolerance},
    OpDef{.name = "fast_swiglu",
          .family = "norm",
          .summary = "gate * sigmoid(gate) * up.",
          .rule = "Shapes broadcast; promoted dtype, float32 for booleans and integers.",
          .operands = kSwigluOperands,
          .dtypes = kReals,
          .checked = 2,
          .infer = infer_plain<infer_swiglu>,
          .traits = Trait::elementwise,
          .tolerance = {16, 1e-37, "an exponential and three roundings"}},
};

}  // namespace reprise::ops
