// Element-wise functions of two operands: arithmetic, bits, comparisons, logic.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

Result<Types> infer_binary(const InferContext& context);            // broadcast shape, promoted dtype
Result<Types> infer_binary_floating(const InferContext& context);   // booleans and integers give float32
Result<Types> infer_binary_predicate(const InferContext& context);  // bool
Result<Types> infer_bits(const InferContext& context);              // promoted dtype, which must be an integer or bool
Result<Types> infer_shift(const InferContext& context);             // as infer_bits; bool gives uint8

namespace binary {

inline constexpr Tolerance kExact{};
inline constexpr Tolerance kRounded{2, 0, "one rounding; complex products and quotients take several"};
inline constexpr Tolerance kFewUlp{4, 1e-37, "library functions of a few units in the last place"};

consteval OpDef row(std::string_view name, std::string_view family, std::string_view summary, std::string_view rule,
                    DTypeSet dtypes, InferFn infer, Tolerance tolerance = kExact, Trait more = Trait::none) {
  return {.name = name,
          .family = family,
          .summary = summary,
          .rule = rule,
          .operands = kAB,
          .dtypes = dtypes,
          .checked = 2,
          .infer = infer,
          .traits = Trait::elementwise | more,
          .tolerance = tolerance};
}

inline constexpr DTypeSet kBits = kIntegers | kBool;
inline constexpr DTypeSet kNotComplex = kReals;

}  // namespace binary

inline constexpr std::array kBinaryOps{
    binary::row("add", "binary", "a + b.", "Promoted dtype; integers wrap; bool is or.", kAllDTypes,
                infer_plain<infer_binary>, binary::kRounded, Trait::commutative),
    binary::row("subtract", "binary", "a - b.", "Promoted dtype; integers wrap; bool is exclusive or.", kAllDTypes,
                infer_plain<infer_binary>, binary::kRounded),
    binary::row("multiply", "binary", "a * b.", "Promoted dtype; integers wrap; bool is and.", kAllDTypes,
                infer_plain<infer_binary>, binary::kRounded, Trait::commutative),
    binary::row("divide", "binary", "a / b, true division.",
                "Promoted dtype, float32 for booleans and integers. x / 0 is infinite or NaN.", kAllDTypes,
                infer_plain<infer_binary_floating>, binary::kRounded),
    binary::row(
        "pow", "binary", "a to the power b.",
        "Promoted dtype; integers stay integers and wrap. A negative integer exponent gives 0, but 1 for base 1 "
        "and 1 or -1 for base -1. bool is a or not b. x^0 is 1, for complex64 too.",
        kAllDTypes, infer_plain<infer_binary>,
        Tolerance{64, 1e-37,
                  "complex powers are exp(b log(a)), which magnifies rounding by |b log(a)|; real ones are good to 2"}),
    binary::row("atan2", "binary", "Angle of the point (b, a), in radians.",
                "Promoted dtype, float32 for booleans and integers.", binary::kNotComplex,
                infer_plain<infer_binary_floating>, binary::kFewUlp),
    binary::row("min", "binary", "The lesser operand.",
                "Promoted dtype. NaN if either operand is NaN. complex64 is ordered by real part, then imaginary.",
                kAllDTypes, infer_plain<infer_binary>, binary::kExact, Trait::commutative),
    binary::row("max", "binary", "The greater operand.",
                "Promoted dtype. NaN if either operand is NaN. complex64 is ordered by real part, then imaginary.",
                kAllDTypes, infer_plain<infer_binary>, binary::kExact, Trait::commutative),
    binary::row("quotient", "binary", "a / b, truncated toward zero.",
                "Promoted dtype. -7 by 2 gives -3. Integers: division by 0 gives 0, the least value by -1 wraps. bool "
                "is a and b. Floats: the rounded quotient, truncated.",
                binary::kNotComplex, infer_plain<infer_binary>),
    binary::row("remainder", "binary", "What truncated division leaves; its sign is a's.",
                "Promoted dtype; C's remainder. -7 by 3 gives -1, 7 by -3 gives 1. Integers by 0 give a; floats by 0 "
                "give NaN. bool is a and not b. Exact for floats; a zero keeps a's sign.",
                binary::kNotComplex, infer_plain<infer_binary>),
    binary::row("left_shift", "binary", "a shifted left by b bits.",
                "Promoted dtype; bool gives uint8. A negative amount or one of the width or more gives 0.",
                binary::kBits, infer_plain<infer_shift>),
    binary::row(
        "right_shift", "binary", "a shifted right by b bits.",
        "Promoted dtype; bool gives uint8. Arithmetic for signed integers. A negative amount or one of the width "
        "or more gives 0, or -1 for negative signed a.",
        binary::kBits, infer_plain<infer_shift>),
    binary::row("bitwise_and", "binary", "Bits set in both.",
                "Promoted dtype, which must be an integer or bool (uint64 with a signed integer is refused).",
                binary::kBits, infer_plain<infer_bits>, binary::kExact, Trait::commutative),
    binary::row("bitwise_or", "binary", "Bits set in either.",
                "Promoted dtype, which must be an integer or bool (uint64 with a signed integer is refused).",
                binary::kBits, infer_plain<infer_bits>, binary::kExact, Trait::commutative),
    binary::row("bitwise_xor", "binary", "Bits set in one of the two.",
                "Promoted dtype, which must be an integer or bool (uint64 with a signed integer is refused).",
                binary::kBits, infer_plain<infer_bits>, binary::kExact, Trait::commutative),
    binary::row("equal", "compare", "a == b.", "bool. NaN equals nothing.", kAllDTypes,
                infer_plain<infer_binary_predicate>, binary::kExact, Trait::commutative),
    binary::row("not_equal", "compare", "a != b.", "bool. NaN differs from everything.", kAllDTypes,
                infer_plain<infer_binary_predicate>, binary::kExact, Trait::commutative),
    binary::row("less", "compare", "a < b.",
                "bool. False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                infer_plain<infer_binary_predicate>),
    binary::row("less_equal", "compare", "a <= b.",
                "bool. False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                infer_plain<infer_binary_predicate>),
    binary::row("greater", "compare", "a > b.",
                "bool. False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                infer_plain<infer_binary_predicate>),
    binary::row("greater_equal", "compare", "a >= b.",
                "bool. False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                infer_plain<infer_binary_predicate>),
    binary::row("logical_and", "logical", "Both non-zero.", "bool; NaN counts as non-zero.", kAllDTypes,
                infer_plain<infer_binary_predicate>, binary::kExact, Trait::commutative),
    binary::row("logical_or", "logical", "Either non-zero.", "bool; NaN counts as non-zero.", kAllDTypes,
                infer_plain<infer_binary_predicate>, binary::kExact, Trait::commutative),
    binary::row("logical_xor", "logical", "Exactly one non-zero.", "bool; NaN counts as non-zero.", kAllDTypes,
                infer_plain<infer_binary_predicate>, binary::kExact, Trait::commutative),
};

}  // namespace reprise::ops
