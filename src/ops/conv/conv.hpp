// Convolution, channels last.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct ConvAttrs {
  Ints strides;
  Ints low;
  Ints high;
  Ints kernel_dilation;
  Ints input_dilation;
  std::int64_t groups = 1;
  bool operator==(const ConvAttrs&) const = default;
};
inline constexpr Field kConvFields[] = {
    count("n"),
    integers<&ConvAttrs::strides>("strides", "the step along each spatial axis", Extent::group, kPositive),
    integers<&ConvAttrs::low>("low", "zeros before each spatial axis; negative ones cut", Extent::group, {}, true),
    integers<&ConvAttrs::high>("high", "zeros after each spatial axis; negative ones cut", Extent::group, {}, true),
    integers<&ConvAttrs::kernel_dilation>("kernel_dilation", "distance of neighbouring weights", Extent::group,
                                          kPositive),
    integers<&ConvAttrs::input_dilation>("input_dilation", "distance of neighbouring inputs, zeros between",
                                         Extent::group, kPositive),
    integer<&ConvAttrs::groups>("groups", "groups of channels that do not meet", kPositive)};
inline constexpr Schema kConvSchema = schema<ConvAttrs>(kConvFields);

Result<Types> infer_conv(const InferContext& context, const ConvAttrs& attrs);

inline constexpr std::string_view kConvOperands[] = {"input", "weight"};

inline constexpr std::array kConvOps{
    OpDef{.name = "conv_general",
          .family = "conv",
          .summary = "Convolution (cross-correlation) over 1, 2 or 3 spatial axes.",
          .rule =
              "input is (N, spatial..., C), weight (O, kernel..., C / groups), the result (N, out..., O) of their "
              "promoted, floating dtype. The kernel is not flipped. out = floor(((s - 1) * input_dilation + 1 + low + "
              "high - ((k - 1) * kernel_dilation + 1)) / stride) + 1. O is a multiple of groups.",
          .operands = kConvOperands,
          .attrs = &kConvSchema,
          .dtypes = kReals,
          .checked = 2,
          .infer = infer_as<ConvAttrs, infer_conv>,
          .tolerance = {256, 1e-6, "rounding grows with the number of terms and differs with their order"}},
};

}  // namespace reprise::ops
