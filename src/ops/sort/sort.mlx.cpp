#include "ops/sort/sort.mlx.hpp"

#include "backends/mlx/convert.hpp"
#include "backends/mlx/term.hpp"

namespace reprise::mlx_backend {
namespace {

// An unsigned integer from the bits of a real number, in the order of the numbers: -0.0 and 0.0 alike, NaN last.
Term real_key(const Term& x) {
  const DType d = from_mlx(x.dtype());
  if (d == DType::bool_) return x.astype(mx::uint8);
  if (kind(d) == DTypeKind::unsigned_integer) return x;
  const mx::Dtype unsigned_dtype = unsigned_like(x.dtype());
  const Term bits = x.view(unsigned_dtype);
  const std::uint64_t top = std::uint64_t{1} << (8 * x.dtype().size() - 1);
  const auto constant = [&](std::uint64_t value) {
    return Term(scalar_of(Constant::of(value, from_mlx(unsigned_dtype))), x.stream());
  };
  if (is_integer(d)) return bits ^ constant(top);
  const std::uint64_t infinity = d == DType::float16    ? 0x7C00
                                 : d == DType::bfloat16 ? 0x7F80
                                 : d == DType::float32  ? 0x7F800000
                                                        : 0x7FF0000000000000;
  const Term size = bits & constant(top - 1);
  const Term magnitude_order = select(bits >= constant(top), constant(top) - size, constant(top) + size);
  return select(size > constant(infinity), constant(2 * top - 1), magnitude_order);
}

// The keys of x, the most significant last.
std::vector<Term> keys(const Term& x) {
  if (x.dtype() != mx::complex64) return {real_key(x)};
  // One NaN makes a number NaN; all of those are alike.
  const Term re{mx::real(x, x.stream()), x.stream()};
  const Term im{mx::imag(x, x.stream()), x.stream()};
  const Term nan = is_nan(re) | is_nan(im);
  const Term last{scalar_of(Constant::of(std::int64_t{0xFFFFFFFF}, DType::uint32)), x.stream()};
  return {select(nan, last, real_key(im)), select(nan, last, real_key(re))};
}

Term along(const Term& x, const Term& positions, int axis) {
  return {mx::take_along_axis(x, positions, axis, x.stream()), x.stream()};
}

// The positions that order a key of up to 32 bits: the key and the position in one integer, so that no two are equal
// and any sort is stable.
Term order_of_digit(const Term& digit, int axis) {
  const mx::Stream stream = digit.stream();
  const array& d = digit;
  mx::Shape shape(d.ndim(), 1);
  shape[static_cast<std::size_t>(axis)] = d.shape(axis);
  const Term position{mx::reshape(mx::arange(0, d.shape(axis), 1, mx::uint64, stream), shape, stream), stream};
  const Term packed = (digit.astype(mx::uint64) << std::int64_t{32}) | position;
  // The cast cuts the key off.
  return Term(mx::sort(packed, axis, stream), stream).astype(mx::uint32);
}

}  // namespace

array stable_order(const array& x, int axis, bool ascending, bool stable_argsort, mx::Stream stream) {
  std::optional<Term> order;
  // From the least significant key on, each sort keeps the order of the ones before among what is equal to it.
  const auto refine = [&](const Term& key, const auto& sort) {
    const Term by_key = sort(order ? along(key, *order, axis) : key);
    order = order ? along(*order, by_key, axis) : by_key;
  };
  for (Term key : keys({x, stream})) {
    if (!ascending) key = {mx::bitwise_invert(key, stream), stream};
    if (key.dtype().size() <= 4) {
      refine(key, [&](const Term& k) { return order_of_digit(k, axis); });
    } else if (stable_argsort) {
      refine(key, [&](const Term& k) { return Term(mx::argsort(k, axis, stream), stream); });
    } else {
      for (const std::int64_t shift : {0, 32}) {
        refine((key >> shift).astype(mx::uint32), [&](const Term& k) { return order_of_digit(k, axis); });
      }
    }
  }
  return order->value();
}

array lower_sort(const LowerContext& context, const ops::SortAttrs& attrs) {
  const array& x = context[0];
  const int axis = to_axis(attrs.axis, x.ndim());
  // MLX divides by the length of the axis.
  if (x.size() == 0 || x.shape(axis) == 1) return x;
  const array order = stable_order(x, axis, attrs.ascending, on_cpu(context), context.stream);
  return mx::take_along_axis(x, order, axis, context.stream);
}

array lower_argsort(const LowerContext& context, const ops::SortAttrs& attrs) {
  const array& x = context[0];
  const int axis = to_axis(attrs.axis, x.ndim());
  if (x.size() == 0 || x.shape(axis) == 1) return zeros_of(context);
  return stable_order(x, axis, attrs.ascending, on_cpu(context), context.stream);
}

}  // namespace reprise::mlx_backend
