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

inline constexpr Operand kConvOperands[] = {{"input", "(N, s..., C)"}, {"weight", "(O, k..., C / groups)"}};

inline constexpr std::array kConvOps{
    OpDef{.name = "conv_general",
          .family = "conv",
          .summary = "Convolution (cross-correlation) over 1, 2 or 3 spatial axes.",
          .result =
              "(N, out..., O) of the promoted dtype, out = floor(((s - 1) * input_dilation + 1 + low + high - ((k - "
              "1) * kernel_dilation + 1)) / stride) + 1 along each axis.",
          .rule = "Channels are last. The kernel is not flipped. Padding is zeros; negative padding cuts. With groups, "
                  "output channel o sees the C / groups input channels of its group, o / (O / groups).",
          .errors =
              "No floating dtype among the two; ranks other than one spatial axis for each entry of the attributes "
              "and two more; C or O no multiple of groups; another channel count in weight; an empty kernel; "
              "padding that cuts more than there is; a kernel that reaches further than the padded input.",
          .operands = kConvOperands,
          .attrs = &kConvSchema,
          .dtypes = kReals,
          .infer = infer_as<ConvAttrs, infer_conv>,
          .tolerance =
              Tolerance(256, 1e-6, "rounding grows with the number of terms and differs with their order").halves(2)},
};

}  // namespace reprise::ops
