// Reductions along axes, and positions of extrema.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct ReduceAttrs {
  bool keep_axes = false;
  Ints axes;
  bool operator==(const ReduceAttrs&) const = default;
};
inline constexpr Field kReduceFields[] = {
    flag<&ReduceAttrs::keep_axes>("keep_axes", "keep the reduced axes with size 1"),
    integers<&ReduceAttrs::axes>("axes", "axes to reduce; none reduces nothing", Extent::rest)};
inline constexpr Schema kReduceSchema = schema<ReduceAttrs>(kReduceFields);

struct ArgReduceAttrs {
  std::int64_t axis = -1;
  bool keep_axis = false;
  bool operator==(const ArgReduceAttrs&) const = default;
};
inline constexpr Field kArgReduceFields[] = {
    integer<&ArgReduceAttrs::axis>("axis", "the axis to search; -1 searches the flattened array", {.min = -1}),
    flag<&ArgReduceAttrs::keep_axis>("keep_axis", "keep the searched axis with size 1")};
inline constexpr Schema kArgReduceSchema = schema<ArgReduceAttrs>(kArgReduceFields);

/// bool, int8 and int16 add up in int32, uint8 and uint16 in uint32; other dtypes in their own.
DType widened(DType d);

Result<Types> infer_sum(const InferContext& context, const ReduceAttrs& attrs);
Result<Types> infer_all_any(const InferContext& context, const ReduceAttrs& attrs);
Result<Types> infer_extremum(const InferContext& context, const ReduceAttrs& attrs);
Result<Types> infer_arg_extremum(const InferContext& context, const ArgReduceAttrs& attrs);

namespace reduce {

inline constexpr std::string_view kExtremumRule =
    "NaN wins. complex64 is ordered by real, then by imaginary part; a NaN in either gives NaN in both. No axes: the "
    "identity.";
inline constexpr std::string_view kAxesErrors = "An axis out of range or named twice.";
inline constexpr std::string_view kExtremumErrors = "An axis out of range or named twice; an empty axis.";
inline constexpr ResultRule kAdded{infer_as<ReduceAttrs, infer_sum>,
                                   "Shape of x without `axes`; int32 for bool, int8 and int16, uint32 for uint8 and "
                                   "uint16, else the dtype of x. No axes: that of x in any case.",
                                   kAxesErrors};
inline constexpr ResultRule kLogical{infer_as<ReduceAttrs, infer_all_any>, "Shape of x without `axes`; bool.",
                                     kAxesErrors};
inline constexpr ResultRule kExtremum{infer_as<ReduceAttrs, infer_extremum>, "Shape of x without `axes`; dtype of x.",
                                      kExtremumErrors};

inline constexpr Tolerance kSum =
    Tolerance(64, 1e-30, "rounding grows with the number of terms and differs with their order").halves(2);

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, ResultRule result,
                    Tolerance tolerance = {}) {
  return {.name = name,
          .family = "reduce",
          .summary = summary,
          .result = result.text,
          .rule = rule,
          .errors = result.errors,
          .operands = kX,
          .attrs = &kReduceSchema,
          .infer = result.infer,
          .traits = Trait::reduction,
          .tolerance = tolerance};
}

consteval OpDef arg_row(std::string_view name, std::string_view summary) {
  return {.name = name,
          .family = "arg_reduce",
          .summary = summary,
          .result = "Shape of x without `axis`, a scalar for axis -1 (all axes of size 1 with keep_axis); uint32.",
          .rule =
              "The first extremum wins ties; the first NaN wins over everything. complex64 is ordered by real, then by "
              "imaginary part. axis -1 searches the flattened array.",
          .errors = "An axis out of range; an empty axis or array; 2^31 elements or more for axis -1.",
          .operands = kX,
          .attrs = &kArgReduceSchema,
          .infer = infer_as<ArgReduceAttrs, infer_arg_extremum>,
          .traits = Trait::reduction};
}

}  // namespace reduce

inline constexpr std::array kReduceOps{
    reduce::row("sum", "Adds the elements along `axes`.",
                "float16 and bfloat16 are added up in float32; integers wrap. Empty: 0. No axes: the identity.",
                reduce::kAdded, reduce::kSum),
    reduce::row("product", "Multiplies the elements along `axes`.",
                "float16 and bfloat16 are multiplied in float32; integers wrap. Empty: 1. No axes: the identity.",
                reduce::kAdded, reduce::kSum),
    reduce::row("all", "True where every element along `axes` is non-zero.",
                "NaN counts as non-zero, -0.0 as zero. Empty: true.", reduce::kLogical),
    reduce::row("any", "True where some element along `axes` is non-zero.",
                "NaN counts as non-zero, -0.0 as zero. Empty: false.", reduce::kLogical),
    reduce::row("reduce_max", "Greatest element along `axes`.", reduce::kExtremumRule, reduce::kExtremum),
    reduce::row("reduce_min", "Least element along `axes`.", reduce::kExtremumRule, reduce::kExtremum),
    reduce::arg_row("argmax", "Position of the greatest element along an axis."),
    reduce::arg_row("argmin", "Position of the least element along an axis."),
};

}  // namespace reprise::ops
