// Running reductions along an axis.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct ScanAttrs {
  std::int64_t axis = 0;
  bool reverse = false;
  bool operator==(const ScanAttrs&) const = default;
};
inline constexpr Field kScanFields[] = {
    integer<&ScanAttrs::axis>("axis", "the axis to run along; a negative one counts from the end"),
    flag<&ScanAttrs::reverse>("reverse", "run from the end")};
inline constexpr Schema kScanSchema = schema<ScanAttrs>(kScanFields);

Result<Types> infer_scan(const InferContext& context, const ScanAttrs& attrs);
Result<Types> infer_cumulative_sum(const InferContext& context, const ScanAttrs& attrs);

namespace scan {
inline constexpr Tolerance kTolerance =
    Tolerance(64, 1e-30, "rounding grows with the number of terms and differs with their order").halves(2);

inline constexpr std::string_view kErrors = "A scalar x; an axis out of range.";
inline constexpr ResultRule kSame{infer_as<ScanAttrs, infer_scan>, "Shape and dtype of x.", kErrors};
inline constexpr ResultRule kSum{infer_as<ScanAttrs, infer_cumulative_sum>, "Shape and dtype of x, but int32 for bool.",
                                 kErrors};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, ResultRule result,
                    Tolerance tolerance = {}) {
  return {.name = name,
          .family = "scan",
          .summary = summary,
          .result = result.text,
          .rule = rule,
          .errors = result.errors,
          .operands = kX,
          .attrs = &kScanSchema,
          .infer = result.infer,
          .tolerance = tolerance};
}
}  // namespace scan

inline constexpr std::array kScanOps{
    scan::row("cumulative_sum", "Sums of all elements so far.",
              "Inclusive. Integers wrap, 16-bit floats are carried in float32. NaN stays from where it occurs.",
              scan::kSum, scan::kTolerance),
    scan::row("cumulative_product", "Products of all elements so far.",
              "Inclusive. Integers wrap, bool is and, 16-bit floats are carried in float32. NaN stays from where "
              "it occurs.",
              scan::kSame, scan::kTolerance),
    scan::row("cumulative_max", "Greatest element so far.",
              "Inclusive. NaN stays from where it occurs. complex64 compares real parts, then imaginary.", scan::kSame),
    scan::row("cumulative_min", "Least element so far.",
              "Inclusive. NaN stays from where it occurs. complex64 compares real parts, then imaginary.", scan::kSame),
};

}  // namespace reprise::ops
