// Sorting along an axis.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct SortAttrs {
  std::int64_t axis = -1;
  bool ascending = true;
  bool operator==(const SortAttrs&) const = default;
};
inline constexpr Field kSortFields[] = {
    integer<&SortAttrs::axis>("axis", "the axis to sort along; a negative one counts from the end"),
    flag<&SortAttrs::ascending>("ascending", "smallest first", 1)};
inline constexpr Schema kSortSchema = schema<SortAttrs>(kSortFields);

Result<Types> infer_sort(const InferContext& context, const SortAttrs& attrs);
Result<Types> infer_argsort(const InferContext& context, const SortAttrs& attrs);

inline constexpr std::string_view kSortRule =
    "Stable in both directions: equal elements keep their order. NaN comes last when ascending, first "
    "when "
    "descending. complex64 compares real parts, then imaginary.";

inline constexpr std::array kSortOps{
    OpDef{.name = "sort",
          .family = "sort",
          .summary = "The elements in order along an axis.",
          .result = "Shape and dtype of x.",
          .rule = kSortRule,
          .errors = "A scalar x; an axis out of range.",
          .operands = kX,
          .attrs = &kSortSchema,
          .infer = infer_as<SortAttrs, infer_sort>},
    OpDef{.name = "argsort",
          .family = "sort",
          .summary = "The positions that put the elements in order.",
          .result = "Shape of x; uint32.",
          .rule = kSortRule,
          .errors = "A scalar x; an axis out of range.",
          .operands = kX,
          .attrs = &kSortSchema,
          .infer = infer_as<SortAttrs, infer_argsort>},
};

}  // namespace reprise::ops
