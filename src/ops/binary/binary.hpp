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

inline constexpr std::string_view kBitErrors =
    "Shapes that do not broadcast; uint64 with a signed integer, whose promotion is float32.";
inline constexpr ResultRule kPromoted{infer_plain<infer_binary>, "Broadcast shape; promoted dtype.", kBroadcastErrors};
inline constexpr ResultRule kFloating{infer_plain<infer_binary_floating>,
                                      "Broadcast shape; promoted dtype, but float32 for bool and integers.",
                                      kBroadcastErrors};
inline constexpr ResultRule kPredicate{infer_plain<infer_binary_predicate>, "Broadcast shape; bool.", kBroadcastErrors};
inline constexpr ResultRule kBitwise{infer_plain<infer_bits>, "Broadcast shape; promoted dtype.", kBitErrors};
inline constexpr ResultRule kShifted{infer_plain<infer_shift>, "Broadcast shape; promoted dtype, but uint8 for bool.",
                                     kBitErrors};

consteval OpDef row(std::string_view name, std::string_view family, std::string_view summary, std::string_view rule,
                    DTypeSet dtypes, ResultRule result, Tolerance tolerance = kExact, Trait more = Trait::none) {
  return {.name = name,
          .family = family,
          .summary = summary,
          .result = result.text,
          .rule = rule,
          .errors = result.errors,
          .operands = kAB,
          .dtypes = dtypes,
          .infer = result.infer,
          .traits = Trait::elementwise | more,
          .tolerance = tolerance};
}

inline constexpr DTypeSet kBits = kIntegers | kBool;
inline constexpr DTypeSet kNotComplex = kReals;

}  // namespace binary

inline constexpr std::array kBinaryOps{
    binary::row("add", "binary", "a + b.", "Integers wrap; bool is or.", kAllDTypes, binary::kPromoted,
                binary::kRounded, Trait::commutative),
    binary::row("subtract", "binary", "a - b.", "Integers wrap; bool is exclusive or.", kAllDTypes, binary::kPromoted,
                binary::kRounded),
    binary::row("multiply", "binary", "a * b.", "Integers wrap; bool is and.", kAllDTypes, binary::kPromoted,
                binary::kRounded, Trait::commutative),
    binary::row("divide", "binary", "a / b, true division.", "x / 0 is infinite or NaN.", kAllDTypes, binary::kFloating,
                binary::kRounded),
    binary::row(
        "pow", "binary", "a to the power b.",
        "Integers stay integers and wrap. A negative integer exponent gives 0, but 1 for base 1 "
        "and 1 or -1 for base -1. bool is a or not b. x^0 is 1, for complex64 too.",
        kAllDTypes, binary::kPromoted,
        Tolerance{64, 1e-37,
                  "complex powers are exp(b log(a)), which magnifies rounding by |b log(a)|; real ones are good to 2"}),
    binary::row("atan2", "binary", "Angle of the point (b, a), in radians.",
                "From -pi to pi: the quadrant is that of the point, the sign that of a.", binary::kNotComplex,
                binary::kFloating, binary::kFewUlp),
    binary::row("min", "binary", "The lesser operand.",
                "NaN if either operand is NaN. complex64 is ordered by real part, then imaginary.", kAllDTypes,
                binary::kPromoted, binary::kExact, Trait::commutative),
    binary::row("max", "binary", "The greater operand.",
                "NaN if either operand is NaN. complex64 is ordered by real part, then imaginary.", kAllDTypes,
                binary::kPromoted, binary::kExact, Trait::commutative),
    binary::row("quotient", "binary", "a / b, truncated toward zero.",
                "-7 by 2 gives -3. Integers: division by 0 gives 0, the least value by -1 wraps. bool "
                "is a and b. Floats: the rounded quotient, truncated; 16-bit floats divide in float32.",
                binary::kNotComplex, binary::kPromoted),
    binary::row("remainder", "binary", "What truncated division leaves; its sign is a's.",
                "C's remainder. -7 by 3 gives -1, 7 by -3 gives 1. Integers by 0 give a; floats by 0 "
                "give NaN. bool is a and not b. Exact for floats; a zero keeps a's sign.",
                binary::kNotComplex, binary::kPromoted),
    binary::row("left_shift", "binary", "a shifted left by b bits.",
                "A negative amount or one of the width or more gives 0.", binary::kBits, binary::kShifted),
    binary::row("right_shift", "binary", "a shifted right by b bits.",
                "Arithmetic for signed integers. A negative amount or one of the width "
                "or more gives 0, or -1 for negative signed a.",
                binary::kBits, binary::kShifted),
    binary::row("bitwise_and", "binary", "Bits set in both.", "Bit by bit; of bool it is and.", binary::kBits,
                binary::kBitwise, binary::kExact, Trait::commutative),
    binary::row("bitwise_or", "binary", "Bits set in either.", "Bit by bit; of bool it is or.", binary::kBits,
                binary::kBitwise, binary::kExact, Trait::commutative),
    binary::row("bitwise_xor", "binary", "Bits set in one of the two.", "Bit by bit; of bool it is exclusive or.",
                binary::kBits, binary::kBitwise, binary::kExact, Trait::commutative),
    binary::row("equal", "compare", "a == b.", "NaN equals nothing.", kAllDTypes, binary::kPredicate, binary::kExact,
                Trait::commutative),
    binary::row("not_equal", "compare", "a != b.", "NaN differs from everything.", kAllDTypes, binary::kPredicate,
                binary::kExact, Trait::commutative),
    binary::row("less", "compare", "a < b.",
                "False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                binary::kPredicate),
    binary::row("less_equal", "compare", "a <= b.",
                "False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                binary::kPredicate),
    binary::row("greater", "compare", "a > b.",
                "False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                binary::kPredicate),
    binary::row("greater_equal", "compare", "a >= b.",
                "False with NaN in any part. complex64 compares real parts, then imaginary.", kAllDTypes,
                binary::kPredicate),
    binary::row("logical_and", "logical", "Both non-zero.", "NaN counts as non-zero.", kAllDTypes, binary::kPredicate,
                binary::kExact, Trait::commutative),
    binary::row("logical_or", "logical", "Either non-zero.", "NaN counts as non-zero.", kAllDTypes, binary::kPredicate,
                binary::kExact, Trait::commutative),
    binary::row("logical_xor", "logical", "Exactly one non-zero.", "NaN counts as non-zero.", kAllDTypes,
                binary::kPredicate, binary::kExact, Trait::commutative),
};

}  // namespace reprise::ops
