// One op is one row: its name, operands, attributes, dtypes, inference rule, traits, tolerance and documentation.
// Verifier, inference, text form, builder, `reprise ops`, manual and conformance suite are loops over these rows.
//
//   inline constexpr std::array kReduceOps{OpDef{.name = "sum", .family = "reduce", .summary = "Adds the elements along
//   `axes`.", .operands = kX, .attrs = &kReduceSchema, .infer = infer_as<ReduceAttrs, infer_sum>, ...}};
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "ops/schema.hpp"

namespace reprise::ops {

// Sets of dtypes, one bit each.
using DTypeSet = std::uint16_t;
constexpr DTypeSet set_of(DType d) { return static_cast<DTypeSet>(1u << static_cast<unsigned>(d)); }
template <typename... D>
constexpr DTypeSet set_of(DType first, D... rest) {
  return static_cast<DTypeSet>(set_of(first) | set_of(rest...));
}
inline constexpr DTypeSet kBool = set_of(DType::bool_);
inline constexpr DTypeSet kUnsigned = set_of(DType::uint8, DType::uint16, DType::uint32, DType::uint64);
inline constexpr DTypeSet kSigned = set_of(DType::int8, DType::int16, DType::int32, DType::int64);
inline constexpr DTypeSet kFloats = set_of(DType::float16, DType::float32, DType::float64, DType::bfloat16);
inline constexpr DTypeSet kComplex = set_of(DType::complex64);
inline constexpr DTypeSet kIntegers = kUnsigned | kSigned;
inline constexpr DTypeSet kReals = kBool | kIntegers | kFloats;
inline constexpr DTypeSet kAllDTypes = kReals | kComplex;

/// "float16, float32": for messages and docs.
std::string describe(DTypeSet set);

/// What passes may rely on.
enum class Trait : std::uint16_t {
  none = 0,
  elementwise = 1 << 0,  ///< each result element depends on the operands' elements at the same (broadcast) place
  commutative = 1 << 1,
  idempotent = 1 << 2,  ///< f(f(x)) = f(x)
  view = 1 << 3,        ///< moves or relabels elements, computes none
  reduction = 1 << 4,
  side_effect = 1 << 5,  ///< never merged, dropped while reachable, or reordered
  control = 1 << 6,      ///< has sub-programs
  extension = 1 << 7,    ///< not an op of the reference system
  host = 1 << 8,         ///< calls back into the host
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr bool has(Trait set, Trait one) {
  return (static_cast<std::uint16_t>(set) & static_cast<std::uint16_t>(one)) != 0;
}

/// An axis attribute, which inference has checked, counted from the front.
inline std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}
std::vector<std::size_t> axes_of(const Ints& axes, std::size_t rank);

/// One unit in the last place of 1: 2^-10 for float16, 2^-7 for bfloat16, 2^-52 for float64, 2^-23 for the others.
double epsilon(DType d);

/// How far a floating result may be from the exact one; integers and bool are always equal. `reprise ops`, the manual
/// and the conformance tests read it here.
struct Tolerance {
  double epsilons = 0;  ///< relative to the size of the result, in units of the dtype's epsilon
  double absolute = 0;  ///< added to that
  std::string_view reason = "exact";
  double half_epsilons = 0;      ///< the same for float16 and bfloat16
  bool relative_to_one = false;  ///< relative to the greater of 1 and the size
  bool float32_inside = false;   ///< float64 is no closer than float32

  constexpr Tolerance() = default;
  constexpr Tolerance(double all, double absolute_part, std::string_view why)
      : epsilons(all), absolute(absolute_part), reason(why), half_epsilons(all) {}

  /// What is computed in float32 and rounded at the end has fewer epsilons in 16 bits.
  constexpr Tolerance halves(double count) const {
    Tolerance out = *this;
    out.half_epsilons = count;
    return out;
  }
  /// Differences of numbers about 1: the error of a small result is theirs.
  constexpr Tolerance near_one() const {
    Tolerance out = *this;
    out.relative_to_one = true;
    return out;
  }
  constexpr Tolerance in_float32() const {
    Tolerance out = *this;
    out.float32_inside = true;
    return out;
  }

  /// The part that is relative to the size of the result.
  double relative(DType d) const;
  /// The part that is not. What is rounded may be off by the least positive number too.
  double fixed(DType d) const;
  /// Greatest distance from an exact result of size `magnitude`.
  double allowed(DType d, double magnitude) const;
};

struct OpDef;

/// What an inference rule sees. Its errors name the operand; the driver puts the instruction in front.
struct InferContext {
  const OpDef& op;
  std::span<const TensorType> operands;

  const TensorType& operator[](std::size_t i) const { return operands[i]; }
  std::size_t size() const { return operands.size(); }
  std::string_view operand_name(std::size_t i) const;

  template <typename... Args>
  Error error(fmt::format_string<Args...> text, Args&&... args) const {
    // Attributes of a faulty program may have any length; a message has not.
    constexpr std::size_t kMaxMessage = 1000;
    std::string message = fmt::format(text, std::forward<Args>(args)...);
    if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage) + "...";
    return Error(ErrorCode::infer, std::move(message));
  }

  /// Operand i has one of `allowed`'s dtypes.
  Status require_dtype(std::size_t i, DTypeSet allowed) const;
  /// Operand i has rank `rank` exactly, or at least.
  Status require_rank(std::size_t i, int rank) const;
  Status require_min_rank(std::size_t i, int rank) const;
  /// An axis attribute, counted from the front, or from the end when negative.
  Result<std::size_t> axis(std::string_view attribute, std::int64_t value, int rank) const;
  /// Several axes, distinct.
  Result<std::vector<std::size_t>> axes(std::string_view attribute, const Ints& values, int rank) const;
  /// The right-aligned broadcast of the operands' shapes.
  Result<Shape> broadcast() const;
};

using Types = std::vector<TensorType>;
using InferFn = Result<Types> (*)(const InferContext&, const void* attrs);

/// Number of results of an instruction before types are known.
using ResultCountFn = std::size_t (*)(const void* attrs, std::size_t operands);

struct Operand {
  std::string_view name;   ///< "x..." repeats (one or more), "x...*" (any number), "biases?" may be left out
  std::string_view shape;  ///< in words
  DTypeSet dtypes = 0;     ///< 0: the row's
};

inline constexpr std::string_view kNoErrors = "None of its own.";
inline constexpr std::string_view kBroadcastErrors = "Shapes that do not broadcast.";

/// An inference rule and what it says, in words.
struct ResultRule {
  InferFn infer = nullptr;
  std::string_view text;
  std::string_view errors = kNoErrors;
};

// Every row states all that has no default here, and `errors`: registry.cpp does not compile otherwise.
struct OpDef {
  std::string_view name;
  std::string_view family;
  std::string_view summary;
  std::string_view result;  ///< shape and dtype of the results
  std::string_view rule;    ///< exact semantics
  std::string_view errors;  ///< what is refused beside operands of other dtypes and attributes out of their range
  std::span<const Operand> operands;
  const Schema* attrs = nullptr;  ///< null: none
  std::uint8_t results = 1;
  ResultCountFn count_results = nullptr;  ///< when the number depends on the instruction
  DTypeSet dtypes = kAllDTypes;           ///< of the operands that name none, and of what ops without operands make
  InferFn infer = nullptr;
  Trait traits = Trait::none;
  Tolerance tolerance;

  constexpr const void* attrs_type() const { return attrs ? attrs->type : nullptr; }

  /// The operand at position i of an instruction: the last one may repeat.
  constexpr const Operand& operand(std::size_t i) const {
    return operands[i < operands.size() ? i : operands.size() - 1];
  }
  constexpr DTypeSet dtypes_of(const Operand& o) const { return o.dtypes != 0 ? o.dtypes : dtypes; }
};

/// Least and greatest number of operands that the names say.
struct Arity {
  std::size_t min = 0;
  std::size_t max = 0;
};
Arity arity(const OpDef& op);

/// Adapts a rule that takes the op's attribute struct.
template <typename Attrs, auto Rule>
Result<Types> infer_as(const InferContext& context, const void* attrs) {
  return Rule(context, *static_cast<const Attrs*>(attrs));
}
/// Adapts a rule of an op without attributes.
template <auto Rule>
Result<Types> infer_plain(const InferContext& context, const void*) {
  return Rule(context);
}

// What many rows share.
inline constexpr Operand kX[] = {{"x", "any"}};
inline constexpr Operand kAB[] = {{"a", "any"}, {"b", "broadcasts with a"}};

}  // namespace reprise::ops
