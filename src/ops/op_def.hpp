// One op is one row: its name, operands, attributes, dtypes, inference rule, traits, tolerance and documentation.
// Verifier, inference, text form, builder, `reprise ops`, manual and conformance suite are loops over these rows.
//
//   inline constexpr std::array kReduceOps{OpDef{.name = "sum", .family = "reduce", .summary = "Adds the elements along
//   `axes`.", .operands = kX, .attrs = &kReduceSchema, .dtypes = kAllDTypes, .infer = infer_as<ReduceAttrs,
//   infer_sum>}};
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

/// How far a result may be from the exact one, relative to its magnitude (`relative`, in units of the dtype's epsilon)
/// or absolutely. Zero means equal. `reason` is part of the documentation.
struct Tolerance {
  double epsilons = 0;
  double absolute = 0;
  std::string_view reason = "exact";
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

struct OpDef {
  std::string_view name;
  std::string_view family;
  std::string_view summary;
  std::string_view rule;                       ///< shapes, dtypes and exact semantics, for the manual
  std::span<const std::string_view> operands;  ///< names; "x..." repeats (one or more), "biases?" may be left out
  const Schema* attrs = nullptr;               ///< null: none
  std::uint8_t results = 1;
  ResultCountFn count_results = nullptr;  ///< when the number depends on the instruction
  DTypeSet dtypes = kAllDTypes;           ///< of the operands that `checked` covers
  std::uint8_t checked = 1;               ///< how many leading operands must be of `dtypes`; 255: all
  InferFn infer = nullptr;
  Trait traits = Trait::none;
  Tolerance tolerance;

  constexpr const void* attrs_type() const { return attrs ? attrs->type : nullptr; }
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

// Operand names shared by many rows.
inline constexpr std::string_view kX[] = {"x"};
inline constexpr std::string_view kAB[] = {"a", "b"};

}  // namespace reprise::ops
