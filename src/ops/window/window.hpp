// Reductions over sliding windows, and scattering into the elements that they select.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct WindowAttrs {
  std::int64_t code = 0;  ///< repeats the op's name on the wire; ignored
  Ints low;
  Ints high;
  Ints strides;
  Ints sizes;
  Ints dilations;
  bool operator==(const WindowAttrs&) const = default;
};
inline constexpr Field kWindowFields[] = {
    count("n"),
    integer<&WindowAttrs::code>("code", "0 sum, 1 product, 2 max, 3 min; ignored, the name decides", kAnyInt32, 0),
    integers<&WindowAttrs::low>("low", "neutral elements before each axis", Extent::group, kNonNegative, true),
    integers<&WindowAttrs::high>("high", "neutral elements after each axis", Extent::group, kNonNegative, true),
    integers<&WindowAttrs::strides>("strides", "the step along each axis", Extent::group, kPositive),
    integers<&WindowAttrs::sizes>("sizes", "elements of a window along each axis", Extent::group, kPositive),
    integers<&WindowAttrs::dilations>("dilations", "distance of a window's elements", Extent::group, kPositive)};
inline constexpr Schema kWindowSchema = schema<WindowAttrs>(kWindowFields);

struct WindowScatterAttrs {
  Ints low;
  Ints high;
  Ints strides;
  Ints sizes;
  bool operator==(const WindowScatterAttrs&) const = default;
};
inline constexpr Field kWindowScatterFields[] = {
    count("n"),
    integers<&WindowScatterAttrs::low>("low", "init values before each axis", Extent::group, kNonNegative, true),
    integers<&WindowScatterAttrs::high>("high", "init values after each axis", Extent::group, kNonNegative, true),
    integers<&WindowScatterAttrs::strides>("strides", "the step along each axis", Extent::group, kPositive),
    integers<&WindowScatterAttrs::sizes>("sizes", "elements of a window along each axis", Extent::group, kPositive)};
inline constexpr Schema kWindowScatterSchema = schema<WindowScatterAttrs>(kWindowScatterFields);

Result<Types> infer_window_sum(const InferContext& context, const WindowAttrs& attrs);
Result<Types> infer_window_extremum(const InferContext& context, const WindowAttrs& attrs);
Result<Types> infer_window_scatter(const InferContext& context, const WindowScatterAttrs& attrs);

namespace window {

inline constexpr std::string_view kRule =
    "x is padded with the neutral value: 0 for a sum, 1 for a product, for extrema the least or greatest value of the "
    "dtype. Window o along an axis takes the elements o * stride + k * dilation, k < size, of the padded axis. NaN in "
    "a "
    "window wins; elements that dilation skips do not count.";
inline constexpr std::string_view kErrors =
    "Not one entry of each attribute for each axis of x; a window that reaches further than the padded axis and one.";
inline constexpr ResultRule kAdded{
    infer_as<WindowAttrs, infer_window_sum>,
    "Along each axis floor((n + low + high - reach) / stride) + 1 windows, reach = (size - 1) * dilation + 1, none if "
    "reach is one more than there is; dtype as in sum.",
    kErrors};
inline constexpr ResultRule kExtremum{
    infer_as<WindowAttrs, infer_window_extremum>,
    "Along each axis floor((n + low + high - reach) / stride) + 1 windows, reach = (size - 1) * dilation + 1, none if "
    "reach is one more than there is; dtype of x.",
    kErrors};
inline constexpr Tolerance kSum =
    Tolerance(64, 1e-30, "rounding grows with the number of terms and differs with their order").halves(2);

consteval OpDef row(std::string_view name, std::string_view summary, ResultRule result, DTypeSet dtypes,
                    Tolerance tolerance = {}) {
  return {.name = name,
          .family = "window",
          .summary = summary,
          .result = result.text,
          .rule = kRule,
          .errors = result.errors,
          .operands = kX,
          .attrs = &kWindowSchema,
          .dtypes = dtypes,
          .infer = result.infer,
          .traits = Trait::reduction,
          .tolerance = tolerance};
}

inline constexpr Operand kScatterOperands[] = {
    {"x", "any"}, {"source", "one element for each window"}, {"init", "scalar"}};

consteval OpDef scatter_row(std::string_view name, std::string_view summary, std::string_view rule) {
  return {
      .name = name,
      .family = "window",
      .summary = summary,
      .result = "Shape and dtype of x.",
      .rule = rule,
      .errors = "As window_max; a source that has not one element for each window; an init that is no scalar.",
      .operands = kScatterOperands,
      .attrs = &kWindowScatterSchema,
      .dtypes = kReals,
      .infer = infer_as<WindowScatterAttrs, infer_window_scatter>,
      .tolerance =
          Tolerance(32, 1e-30, "elements that several windows select add up in an order of the backend's").halves(2)};
}

}  // namespace window

inline constexpr std::array kWindowOps{
    window::row("window_sum", "Sum of each window.", window::kAdded, kAllDTypes, window::kSum),
    window::row("window_product", "Product of each window.", window::kAdded, kAllDTypes, window::kSum),
    window::row("window_max", "Greatest element of each window.", window::kExtremum, kReals),
    window::row("window_min", "Least element of each window.", window::kExtremum, kReals),
    window::scatter_row(
        "window_scatter_max", "Adds source at the greatest element of each window.",
        "x is padded with init (cast to its dtype). Each window selects its first greatest element, row-major, "
        "and its element of source is added there, in a buffer of init; the padding is cut off. NaN is the "
        "greatest."),
    window::scatter_row(
        "window_scatter_min", "Adds source at the least element of each window.",
        "As window_scatter_max, with the last least element; a window whose least element is NaN selects its "
        "first element."),
};

}  // namespace reprise::ops
