// Formulas over arrays that read as formulas.
//
//   Term y = (x * x + 1.0) / 2.0;  // each operation runs on x's stream, each literal is of x's dtype
#pragma once

#include <span>
#include <utility>

#include "backends/mlx/lowering.hpp"

namespace reprise::mlx_backend {

/// An array together with the stream that operations on it run on. Comparisons give Terms of bool.
class Term {
 public:
  Term(array value, mx::Stream stream) : value_(std::move(value)), stream_(stream) {}

  const array& value() const { return value_; }
  mx::Stream stream() const { return stream_; }
  mx::Dtype dtype() const { return value_.dtype(); }
  operator const array&() const { return value_; }  // not through array(term): that is the constructor from a scalar

  Term constant(double value) const { return {scalar(value, dtype()), stream_}; }
  Term constant(std::int64_t value) const { return {scalar_of(Constant::of(value, from_mlx(dtype()))), stream_}; }
  Term astype(mx::Dtype to) const { return {mx::astype(value_, to, stream_), stream_}; }
  Term view(mx::Dtype to) const { return {mx::view(value_, to, stream_), stream_}; }

  /// F(*this) and F(*this, other) for an MLX operation F.
  template <typename F>
  Term apply(F f) const {
    return {f(value_, mx::StreamOrDevice(stream_)), stream_};
  }
  template <typename F>
  Term apply(F f, const Term& other) const {
    return {f(value_, other.value_, mx::StreamOrDevice(stream_)), stream_};
  }

 private:
  array value_;
  mx::Stream stream_;
};

#define REPRISE_TERM_OPERATOR(symbol, function)                                           \
  inline Term operator symbol(const Term& a, const Term& b) {                             \
    return {mx::function(a.value(), b.value(), a.stream()), a.stream()};                  \
  }                                                                                       \
  inline Term operator symbol(const Term& a, double b) { return a symbol a.constant(b); } \
  inline Term operator symbol(double a, const Term& b) { return b.constant(a) symbol b; } \
  inline Term operator symbol(const Term& a, std::int64_t b) { return a symbol a.constant(b); }
REPRISE_TERM_OPERATOR(+, add)
REPRISE_TERM_OPERATOR(-, subtract)
REPRISE_TERM_OPERATOR(*, multiply)
REPRISE_TERM_OPERATOR(/, divide)
REPRISE_TERM_OPERATOR(<, less)
REPRISE_TERM_OPERATOR(<=, less_equal)
REPRISE_TERM_OPERATOR(>, greater)
REPRISE_TERM_OPERATOR(>=, greater_equal)
REPRISE_TERM_OPERATOR(==, equal)
REPRISE_TERM_OPERATOR(!=, not_equal)
// Of integers and of bool.
REPRISE_TERM_OPERATOR(&, bitwise_and)
REPRISE_TERM_OPERATOR(|, bitwise_or)
REPRISE_TERM_OPERATOR(^, bitwise_xor)
REPRISE_TERM_OPERATOR(<<, left_shift)
REPRISE_TERM_OPERATOR(>>, right_shift)
#undef REPRISE_TERM_OPERATOR

inline Term operator-(const Term& a) { return {mx::negative(a.value(), a.stream()), a.stream()}; }
inline Term operator!(const Term& a) { return {mx::logical_not(a.value(), a.stream()), a.stream()}; }

/// `a` where `condition` is true, else `b`.
inline Term select(const Term& condition, const Term& a, const Term& b) {
  return {mx::where(condition.value(), a.value(), b.value(), a.stream()), a.stream()};
}

inline Term magnitude(const Term& a) { return {mx::abs(a.value(), a.stream()), a.stream()}; }
inline Term lesser(const Term& a, double b) { return {mx::minimum(a.value(), a.constant(b), a.stream()), a.stream()}; }
inline Term greater_of(const Term& a, double b) {
  return {mx::maximum(a.value(), a.constant(b), a.stream()), a.stream()};
}
inline Term is_nan(const Term& a) { return a != a; }

/// c[0] + c[1] x + c[2] x^2 + ...
inline Term polynomial(std::span<const double> c, const Term& x) {
  Term sum = x * c.back() + c[c.size() - 2];
  for (std::size_t i = c.size() - 2; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

/// The unsigned or signed integer dtype of as many bytes.
inline mx::Dtype unsigned_like(mx::Dtype d) {
  return d.size() == 1 ? mx::uint8 : d.size() == 2 ? mx::uint16 : d.size() == 4 ? mx::uint32 : mx::uint64;
}
inline mx::Dtype signed_like(mx::Dtype d) {
  return d.size() == 1 ? mx::int8 : d.size() == 2 ? mx::int16 : d.size() == 4 ? mx::int32 : mx::int64;
}

inline bool is_half(mx::Dtype d) { return d == mx::float16 || d == mx::bfloat16; }

/// Half types to float32, others as they are: for formulas of more than one rounding.
inline Term widen(const Term& x) { return is_half(x.dtype()) ? x.astype(mx::float32) : x; }

/// `size` (not negative) with the sign bit of `sign`, zeros included.
inline Term copy_sign(const Term& size, const Term& sign) {
  const mx::Dtype bits = unsigned_like(size.dtype());
  const auto top = static_cast<std::int64_t>(8 * bits.size() - 1);
  const Term taken = (sign.view(bits) >> top) << top;
  return (size.view(bits) | taken).view(size.dtype());
}

}  // namespace reprise::mlx_backend
