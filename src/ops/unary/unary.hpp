// Element-wise functions of one operand.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

Result<Types> infer_same(const InferContext& context);
Result<Types> infer_magnitude(const InferContext& context);  // complex64 gives float32
Result<Types> infer_predicate(const InferContext& context);  // bool
Result<Types> infer_floating(const InferContext& context);   // booleans and integers give float32

namespace unary {

inline constexpr Tolerance kExact{};
// Measured on the CPU: at most 1.6. CUDA's documentation promises 4 for the worst of its functions. The absolute part
// is for results that are subnormal in float32.
inline constexpr Tolerance kFewUlp{4, 1e-37, "library functions of a few units in the last place"};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, DTypeSet dtypes,
                    InferFn infer, Tolerance tolerance = kExact, Trait more = Trait::none) {
  return {.name = name,
          .family = "unary",
          .summary = summary,
          .rule = rule,
          .operands = kX,
          .dtypes = dtypes,
          .infer = infer,
          .traits = Trait::elementwise | more,
          .tolerance = tolerance};
}

consteval OpDef math(std::string_view name, std::string_view summary, DTypeSet dtypes = kAllDTypes,
                     std::string_view rule =
                         "Booleans and integers are computed in float32; other dtypes are kept. "
                         "Outside the domain the result is NaN or infinite.",
                     Tolerance tolerance = kFewUlp) {
  return row(name, summary, rule, dtypes, infer_plain<infer_floating>, tolerance);
}

}  // namespace unary

inline constexpr std::array kUnaryOps{
    unary::row("abs", "Magnitude.", "dtype kept; complex64 gives float32. The least signed integer wraps to itself.",
               kAllDTypes, infer_plain<infer_magnitude>,
               Tolerance{2, 0, "exact for real dtypes; the magnitude of complex numbers takes a square root"},
               Trait::idempotent),
    unary::row("ceil", "Least integer not below x.", "dtype kept; the identity on integers and booleans.", kReals,
               infer_plain<infer_same>, unary::kExact, Trait::idempotent),
    unary::row("floor", "Greatest integer not above x.", "dtype kept; the identity on integers and booleans.", kReals,
               infer_plain<infer_same>, unary::kExact, Trait::idempotent),
    unary::row("round", "Nearest integer, ties away from zero.",
               "dtype kept. 0.5 gives 1, 2.5 gives 3, -0.5 gives -1. complex64 rounds both parts.", kAllDTypes,
               infer_plain<infer_same>, unary::kExact, Trait::idempotent),
    unary::row("negate", "-x.", "dtype kept; unsigned integers wrap. Not for bool.",
               static_cast<DTypeSet>(kAllDTypes & ~kBool), infer_plain<infer_same>),
    unary::row(
        "sign", "-1, 0 or 1.",
        "dtype kept; unsigned integers give 0 or 1, complex64 gives x/|x| (0 at 0, NaN at infinity), NaN gives NaN.",
        kAllDTypes, infer_plain<infer_same>,
        Tolerance{2, 0, "exact for real dtypes; complex numbers are divided by |x|"}, Trait::idempotent),
    unary::row("real", "Real part.", "complex64 gives float32; a real x is returned as it is.", kAllDTypes,
               infer_plain<infer_magnitude>),
    unary::row("imag", "Imaginary part.", "complex64 gives float32; a real x gives 0 of its own dtype.", kAllDTypes,
               infer_plain<infer_magnitude>),
    unary::row("conjugate", "Complex conjugate.", "dtype kept; the identity on real dtypes.", kAllDTypes,
               infer_plain<infer_same>),
    unary::row("is_nan", "True where x is NaN.", "bool; integers give false; complex64: either part.", kAllDTypes,
               infer_plain<infer_predicate>),
    unary::row("is_infinity", "True where x is infinite.",
               "bool; both signs count; integers give false; complex64: either part.", kAllDTypes,
               infer_plain<infer_predicate>),
    unary::row("bitwise_not", "All bits flipped.", "dtype kept; integers and bool (logical not).", kIntegers | kBool,
               infer_plain<infer_same>),
    unary::row("logical_not", "True where x is 0.", "bool; NaN gives false.", kAllDTypes, infer_plain<infer_predicate>),
    unary::math("sigmoid", "1 / (1 + exp(-x)).", kReals),
    unary::math("sqrt", "Square root."),
    unary::math("rsqrt", "Reciprocal square root."),
    unary::math("exp", "e to the power x."),
    unary::math("expm1", "exp(x) - 1, accurate near 0.", kReals),
    unary::math("log", "Natural logarithm."),
    unary::math("log1p", "log(1 + x), accurate near 0."),
    unary::math("sin", "Sine of x radians."),
    unary::math("cos", "Cosine of x radians."),
    unary::math("tan", "Tangent of x radians."),
    unary::math("asin", "Inverse sine, in radians."),
    unary::math("acos", "Inverse cosine, in radians."),
    unary::math("atan", "Inverse tangent, in radians."),
    unary::math("sinh", "Hyperbolic sine."),
    unary::math("cosh", "Hyperbolic cosine."),
    unary::math("tanh", "Hyperbolic tangent."),
    unary::math("asinh", "Inverse hyperbolic sine."),
    unary::math("acosh", "Inverse hyperbolic cosine."),
    unary::math("atanh", "Inverse hyperbolic tangent."),
    unary::math("erf", "Error function.", kReals),
    unary::math("erf_inv", "Inverse error function.", kReals,
                "Booleans and integers are computed in float32; other dtypes are kept. -1 and 1 give infinities; "
                "beyond them the result is NaN.",
                Tolerance{6, 1e-37, "rational approximations; measured at most 3 on the CPU"}),
    unary::math(
        "erfc", "1 - erf(x), accurate for large x.", kReals,
        "Booleans and integers are computed in float32; other dtypes are kept. erfc(4) = 1.5417258e-08.",
        Tolerance{6, 1e-37, "exp(-x*x), its argument in two parts, times a polynomial; measured at most 3 on the CPU"}),
    unary::math(
        "cbrt", "Real cube root.", kReals,
        "Booleans and integers are computed in float32; other dtypes are kept. Negative x has a negative root."),
};

}  // namespace reprise::ops
