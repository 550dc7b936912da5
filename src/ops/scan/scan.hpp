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
inline constexpr Tolerance kTolerance{64, 1e-30,
                                      "rounding grows with the number of terms and differs with their order"};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, InferFn infer,
                    DTypeSet dtypes, Tolerance tolerance = {}) {
  return {.name = name,
          .family = "scan",
          .summary = summary,
          .rule = rule,
          .operands = kX,
          .attrs = &kScanSchema,
          .dtypes = dtypes,
          .infer = infer,
          .tolerance = tolerance};
}
}  // namespace scan

inline constexpr std::array kScanOps{
    scan::row(
        "cumulative_sum", "Sums of all elements so far.",
        "Inclusive. dtype kept, but bool gives int32; integers wrap, 16-bit floats are carried in float32. NaN stays "
        "from where it occurs.",
        infer_as<ScanAttrs, infer_cumulative_sum>, kAllDTypes, scan::kTolerance),
    scan::row(
        "cumulative_product", "Products of all elements so far.",
        "Inclusive. dtype kept; integers wrap, bool is and, 16-bit floats are carried in float32. NaN stays from where "
        "it occurs.",
        infer_as<ScanAttrs, infer_scan>, kAllDTypes, scan::kTolerance),
    scan::row("cumulative_max", "Greatest element so far.",
              "Inclusive. dtype kept. NaN stays from where it occurs. complex64 compares real parts, then imaginary.",
              infer_as<ScanAttrs, infer_scan>, kAllDTypes),
    scan::row("cumulative_min", "Least element so far.",
              "Inclusive. dtype kept. NaN stays from where it occurs. complex64 compares real parts, then imaginary.",
              infer_as<ScanAttrs, infer_scan>, kAllDTypes),
};

}  // namespace reprise::ops
