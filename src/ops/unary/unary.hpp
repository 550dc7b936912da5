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

inline constexpr ResultRule kSame{infer_plain<infer_same>, "Shape and dtype of x."};
inline constexpr ResultRule kMagnitude{infer_plain<infer_magnitude>,
                                       "Shape and dtype of x, but float32 for complex64."};
inline constexpr ResultRule kPredicate{infer_plain<infer_predicate>, "Shape of x; bool."};
inline constexpr ResultRule kFloating{infer_plain<infer_floating>,
                                      "Shape and dtype of x, but float32 for bool and integers."};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, DTypeSet dtypes,
                    ResultRule result, Tolerance tolerance = kExact, Trait more = Trait::none) {
  return {.name = name,
          .family = "unary",
          .summary = summary,
          .result = result.text,
          .rule = rule,
          .errors = result.errors,
          .operands = kX,
          .dtypes = dtypes,
          .infer = result.infer,
          .traits = Trait::elementwise | more,
          .tolerance = tolerance};
}

consteval OpDef math(std::string_view name, std::string_view summary, DTypeSet dtypes = kAllDTypes,
                     std::string_view rule =
                         "Bool and integers are computed in float32. Outside the domain the result is NaN or infinite.",
                     Tolerance tolerance = kFewUlp) {
  return row(name, summary, rule, dtypes, kFloating, tolerance);
}

}  // namespace unary

inline constexpr std::array kUnaryOps{
    unary::row("abs", "Magnitude.", "The least signed integer wraps to itself.", kAllDTypes, unary::kMagnitude,
               Tolerance{2, 0, "exact for real dtypes; the magnitude of complex numbers takes a square root"},
               Trait::idempotent),
    unary::row("ceil", "Least integer not below x.", "The identity on integers and bool.", kReals, unary::kSame,
               unary::kExact, Trait::idempotent),
    unary::row("floor", "Greatest integer not above x.", "The identity on integers and bool.", kReals, unary::kSame,
               unary::kExact, Trait::idempotent),
    unary::row("round", "Nearest integer, ties away from zero.",
               "0.5 gives 1, 2.5 gives 3, -0.5 gives -1. complex64 rounds both parts.", kAllDTypes, unary::kSame,
               unary::kExact, Trait::idempotent),
    unary::row("negate", "-x.", "Unsigned integers wrap.", static_cast<DTypeSet>(kAllDTypes & ~kBool), unary::kSame),
    unary::row("sign", "-1, 0 or 1.",
               "Unsigned integers give 0 or 1, complex64 gives x/|x| (0 at 0, NaN at infinity), NaN gives NaN.",
               kAllDTypes, unary::kSame, Tolerance{2, 0, "exact for real dtypes; complex numbers are divided by |x|"},
               Trait::idempotent),
    unary::row("real", "Real part.", "A real x is returned as it is.", kAllDTypes, unary::kMagnitude),
    unary::row("imag", "Imaginary part.", "A real x gives 0.", kAllDTypes, unary::kMagnitude),
    unary::row("conjugate", "Complex conjugate.", "The identity on real dtypes.", kAllDTypes, unary::kSame),
    unary::row("is_nan", "True where x is NaN.", "Integers give false; complex64: either part.", kAllDTypes,
               unary::kPredicate),
    unary::row("is_infinity", "True where x is infinite.",
               "Both signs count; integers give false; complex64: either part.", kAllDTypes, unary::kPredicate),
    unary::row("bitwise_not", "All bits flipped.", "bool is logical not.", kIntegers | kBool, unary::kSame),
    unary::row("logical_not", "True where x is 0.", "NaN gives false.", kAllDTypes, unary::kPredicate),
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
                "Bool and integers are computed in float32. -1 and 1 give infinities; "
                "beyond them the result is NaN.",
                Tolerance{6, 1e-37, "rational approximations; measured at most 3 on the CPU"}),
    unary::math(
        "erfc", "1 - erf(x), accurate for large x.", kReals,
        "Bool and integers are computed in float32. erfc(4) = 1.5417258e-08.",
        Tolerance{6, 1e-37, "exp(-x*x), its argument in two parts, times a polynomial; measured at most 3 on the CPU"}),
    unary::math("cbrt", "Real cube root.", kReals,
                "Bool and integers are computed in float32. Negative x has a negative root."),
};

}  // namespace reprise::ops
