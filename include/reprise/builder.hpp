// Writes programs by hand.
//
//   Builder b;
//   Value x = b.input();
//   Value w = b.capture(weights, "w");
//   Value y = b.tanh(x * w + b.constant(1.0f));
//   Value z = b.op("sum", {y}, {{"axes", {0}}, {"keep_axes", false}});  // any op of the table, attributes by name
//   std::vector<Value> qr = b.ops("qr", {y});                           // an op with several results
//   Result<Program> program = b.build({z, qr[1]});
//
// Nothing fails before build(): the first mistake is remembered with the instruction that made it, what follows goes on
// with placeholders, and build() returns the error. The operators and named functions only spell op() shorter.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "reprise/program.hpp"

namespace reprise {

namespace detail {
struct BuilderState;
}

/// An array of the program being built. Copies mean the same array. An input, a result and a loop slot can be used in
/// the list that they belong to; captures and constants anywhere. A default Value means nothing and may not be used.
class Value {
 public:
  Value() = default;

 private:
  friend class Builder;
  friend struct detail::BuilderState;
  friend Value apply(std::string_view name, const Value& a, const Value* b);
  Value(std::shared_ptr<detail::BuilderState> state, std::uint32_t list, Ref ref)
      : state_(std::move(state)), list_(list), ref_(ref) {}

  std::shared_ptr<detail::BuilderState> state_;
  std::uint32_t list_ = 0;  // which instruction list of its builder
  Ref ref_;
};

/// An attribute's value: 3, true, 1e-5, DType::float16, "affine", {0, 1}, or a list of tensor types.
class AttrValue {
 public:
  using Integers = std::vector<std::int64_t>;
  using Any = std::variant<std::int64_t, bool, double, DType, Name, Integers, std::vector<TensorType>>;

  AttrValue() : value_(Integers{}) {}  // {} is an empty list
  AttrValue(bool b) : value_(b) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) AttrValue(T i) : value_(static_cast<std::int64_t>(i)) {}
  template <std::floating_point T>
  AttrValue(T d) : value_(static_cast<double>(d)) {}
  AttrValue(DType d) : value_(d) {}
  AttrValue(const char* name) : value_(Name{name}) {}
  AttrValue(std::string name) : value_(Name{std::move(name)}) {}
  AttrValue(std::initializer_list<std::int64_t> list) : value_(Integers(list)) {}
  AttrValue(Integers list) : value_(std::move(list)) {}
  AttrValue(std::vector<TensorType> types) : value_(std::move(types)) {}

  const Any& get() const { return value_; }

 private:
  Any value_;
};

struct NamedAttr {
  std::string name;
  AttrValue value;
};

class Builder {
 public:
  using Values = std::vector<Value>;
  using Attrs = std::vector<NamedAttr>;
  using Axes = std::vector<std::int64_t>;
  /// The functions that write a loop's lists get this same builder and the values of the loop's slots.
  using CondFn = std::function<Value(Builder&, std::span<const Value> carry)>;
  using BodyFn = std::function<Values(Builder&, std::span<const Value> carry)>;

  Builder();
  Builder(Builder&&) noexcept = default;
  Builder& operator=(Builder&&) noexcept = default;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() = default;

  /// The next input. Not inside a loop.
  Value input();
  /// An array that is closed over; it is evaluated now. Each call makes a capture.
  Value capture(const mlx::core::array& array, std::string name = {});

  /// A scalar of the dtype that its C++ type names: bool, the integers by width, float and double as float32,
  /// std::complex as complex64. Equal constants share one entry.
  template <typename T>
  Value constant(T value) {
    return constant(constant_of(value));
  }
  /// A scalar of another dtype; the value is kept exactly and converted once.
  template <typename T>
  Value constant(T value, DType dtype) {
    Constant c = constant_of(value);
    c.dtype = dtype;
    return constant(c);
  }
  Value constant(const Constant& constant);

  /// One instruction of any op that has one result. Attributes that have defaults may be left out.
  Value op(std::string_view name, const Values& operands, const Attrs& attrs = {});
  /// One instruction of any op; as many values as it has results.
  Values ops(std::string_view name, const Values& operands, const Attrs& attrs = {});

  /// Repeats `body` while `cond` holds. Both see the loop's slots, captures, constants and nothing else of the program:
  /// what they need of it is passed in `initial`. The results are the final slots.
  Values while_loop(const Values& initial, const CondFn& cond, const BodyFn& body);

  /// The first mistake so far, which build() will return, or null.
  const Error* error() const;

  /// The program with these outputs, and with values that are only kept alive. The result has passed verification.
  Result<Program> build(const Values& outputs, const Values& keep = {});

  // Element-wise, one operand.
  Value abs(const Value& x) { return op("abs", {x}); }
  Value negate(const Value& x) { return op("negate", {x}); }
  Value sign(const Value& x) { return op("sign", {x}); }
  Value ceil(const Value& x) { return op("ceil", {x}); }
  Value floor(const Value& x) { return op("floor", {x}); }
  Value round(const Value& x) { return op("round", {x}); }
  Value sqrt(const Value& x) { return op("sqrt", {x}); }
  Value rsqrt(const Value& x) { return op("rsqrt", {x}); }
  Value exp(const Value& x) { return op("exp", {x}); }
  Value expm1(const Value& x) { return op("expm1", {x}); }
  Value log(const Value& x) { return op("log", {x}); }
  Value log1p(const Value& x) { return op("log1p", {x}); }
  Value sin(const Value& x) { return op("sin", {x}); }
  Value cos(const Value& x) { return op("cos", {x}); }
  Value tanh(const Value& x) { return op("tanh", {x}); }
  Value sigmoid(const Value& x) { return op("sigmoid", {x}); }
  Value erf(const Value& x) { return op("erf", {x}); }
  Value is_nan(const Value& x) { return op("is_nan", {x}); }
  Value logical_not(const Value& x) { return op("logical_not", {x}); }

  // Element-wise, two operands that broadcast.
  Value add(const Value& a, const Value& b) { return op("add", {a, b}); }
  Value subtract(const Value& a, const Value& b) { return op("subtract", {a, b}); }
  Value multiply(const Value& a, const Value& b) { return op("multiply", {a, b}); }
  Value divide(const Value& a, const Value& b) { return op("divide", {a, b}); }
  Value pow(const Value& a, const Value& b) { return op("pow", {a, b}); }
  Value quotient(const Value& a, const Value& b) { return op("quotient", {a, b}); }
  Value remainder(const Value& a, const Value& b) { return op("remainder", {a, b}); }
  Value minimum(const Value& a, const Value& b) { return op("min", {a, b}); }
  Value maximum(const Value& a, const Value& b) { return op("max", {a, b}); }
  Value equal(const Value& a, const Value& b) { return op("equal", {a, b}); }
  Value not_equal(const Value& a, const Value& b) { return op("not_equal", {a, b}); }
  Value less(const Value& a, const Value& b) { return op("less", {a, b}); }
  Value less_equal(const Value& a, const Value& b) { return op("less_equal", {a, b}); }
  Value greater(const Value& a, const Value& b) { return op("greater", {a, b}); }
  Value greater_equal(const Value& a, const Value& b) { return op("greater_equal", {a, b}); }
  Value logical_and(const Value& a, const Value& b) { return op("logical_and", {a, b}); }
  Value logical_or(const Value& a, const Value& b) { return op("logical_or", {a, b}); }
  Value select(const Value& predicate, const Value& yes, const Value& no) { return op("select", {predicate, yes, no}); }
  Value clip(const Value& x, const Value& low, const Value& high) { return op("clip", {x, low, high}); }
  Value astype(const Value& x, DType dtype) { return op("astype", {x}, {{"dtype", dtype}}); }

  // Reductions over the axes that are named.
  Value sum(const Value& x, Axes axes, bool keep = false) { return reduce("sum", x, std::move(axes), keep); }
  Value product(const Value& x, Axes axes, bool keep = false) { return reduce("product", x, std::move(axes), keep); }
  Value all(const Value& x, Axes axes, bool keep = false) { return reduce("all", x, std::move(axes), keep); }
  Value any(const Value& x, Axes axes, bool keep = false) { return reduce("any", x, std::move(axes), keep); }
  Value max(const Value& x, Axes axes, bool keep = false) { return reduce("reduce_max", x, std::move(axes), keep); }
  Value min(const Value& x, Axes axes, bool keep = false) { return reduce("reduce_min", x, std::move(axes), keep); }
  Value argmax(const Value& x, std::int64_t axis, bool keep = false) {
    return op("argmax", {x}, {{"axis", axis}, {"keep_axis", keep}});
  }
  Value argmin(const Value& x, std::int64_t axis, bool keep = false) {
    return op("argmin", {x}, {{"axis", axis}, {"keep_axis", keep}});
  }

  // Shapes.
  Value reshape(const Value& x, Shape shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
  Value squeeze(const Value& x, Axes axes) { return op("squeeze", {x}, {{"axes", std::move(axes)}}); }
  Value transpose(const Value& x, Axes axes) { return op("transpose", {x}, {{"axes", std::move(axes)}}); }
  /// Axis i of x becomes axis `axes[i]` of the result; the others repeat.
  Value broadcast(const Value& x, Shape shape, Axes axes) {
    return op("broadcast", {x}, {{"shape", std::move(shape)}, {"axes", std::move(axes)}});
  }
  Value reverse(const Value& x, Axes axes) { return op("reverse", {x}, {{"axes", std::move(axes)}}); }
  Value concatenate(const Values& parts, std::int64_t axis) { return op("concatenate", parts, {{"axis", axis}}); }
  Value stack(const Values& parts, std::int64_t axis) { return op("stack", parts, {{"axis", axis}}); }
  Value iota(DType dtype, std::int64_t axis, Shape shape) {
    return op("iota", {}, {{"dtype", dtype}, {"axis", axis}, {"shape", std::move(shape)}});
  }

  // Indexing.
  Value take(const Value& x, const Value& indices, std::int64_t axis) {
    return op("take", {x, indices}, {{"axis", axis}});
  }
  /// x[start : start + length : stride] by axis; `shape` is x's. No strides means all 1.
  Value slice(const Value& x, Shape shape, Axes starts, Axes lengths, Axes strides = {});

  // Contractions.
  /// Sums products over the paired axes `contract_a`, `contract_b`; batch axes are paired too and come first.
  Value dot(const Value& a, const Value& b, Axes contract_a, Axes contract_b, Axes batch_a = {}, Axes batch_b = {});
  /// Matrix product of two rank-2 arrays.
  Value matmul(const Value& a, const Value& b) { return dot(a, b, {1}, {0}); }

 private:
  template <typename T>
  struct IsComplex : std::false_type {};
  template <typename T>
  struct IsComplex<std::complex<T>> : std::true_type {};

  template <typename T>
  static Constant constant_of(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return Constant::of(std::int64_t{value}, DType::bool_);
    } else if constexpr (std::is_floating_point_v<T>) {
      return Constant::of(static_cast<double>(value), DType::float32);
    } else if constexpr (IsComplex<T>::value) {
      return Constant::of(std::complex<double>(value), DType::complex64);
    } else {
      static_assert(std::is_integral_v<T>, "a constant is a bool, an integer, a float or a complex number");
      constexpr int kWidth = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      constexpr DType kSigned[] = {DType::int8, DType::int16, DType::int32, DType::int64};
      constexpr DType kUnsigned[] = {DType::uint8, DType::uint16, DType::uint32, DType::uint64};
      if constexpr (std::is_signed_v<T>) {
        return Constant::of(static_cast<std::int64_t>(value), kSigned[kWidth]);
      } else {
        return Constant::of(static_cast<std::uint64_t>(value), kUnsigned[kWidth]);
      }
    }
  }

  Value reduce(std::string_view name, const Value& x, Axes axes, bool keep) {
    return op(name, {x}, {{"keep_axes", keep}, {"axes", std::move(axes)}});
  }

  friend Value apply(std::string_view name, const Value& a, const Value* b);

  explicit Builder(std::shared_ptr<detail::BuilderState> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::BuilderState> state_;
};

// Operators, for values of one builder.
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator-(const Value& x);
Value operator<(const Value& a, const Value& b);
Value operator<=(const Value& a, const Value& b);
Value operator>(const Value& a, const Value& b);
Value operator>=(const Value& a, const Value& b);

}  // namespace reprise
