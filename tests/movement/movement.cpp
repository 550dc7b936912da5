#include "movement/movement.hpp"

#include <fmt/format.h>
#include <mlx/primitives.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace reprise::movement {
namespace {

mx::Stream cpu() { return mx::default_stream(mx::Device::cpu); }

template <typename T>
void read(const array& x, std::vector<Num>& out) {
  const T* data = x.data<T>();
  for (std::size_t k = 0; k < x.size(); ++k) {
    Num n;
    if constexpr (std::is_same_v<T, mx::complex64_t>) {
      n.re = data[k].real();
      n.im = data[k].imag();
    } else if constexpr (std::is_integral_v<T>) {
      n.i = data[k];
    } else {
      n.re = static_cast<double>(data[k]);
    }
    out.push_back(n);
  }
}

array forced(array x) {
  x.eval();
  return x;
}

array cast(const array& x, DType d) { return forced(mx::astype(x, to_mlx(d), cpu())); }

// Every operation that leads to x runs on `stream`, not on some thread's default.
void expect_stream(const array& x, mx::Stream stream, std::set<std::uintptr_t>& seen, std::string_view name) {
  if (!x.has_primitive() || !seen.insert(x.id()).second) return;
  EXPECT_EQ(x.primitive().stream().index, stream.index) << x.primitive().name() << " of " << name;
  for (const array& input : x.inputs()) expect_stream(input, stream, seen, name);
}

std::string text(const Num& n, DType d) {
  if (is_floating(d)) return fmt::format("{}", n.re);
  if (is_complex(d)) return fmt::format("{}+{}i", n.re, n.im);
  return n.i < 0 ? fmt::format("{}", static_cast<long long>(n.i)) : fmt::format("{}", static_cast<std::uint64_t>(n.i));
}

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

}  // namespace

bool same(const Num& a, const Num& b) {
  if (a.is_nan() || b.is_nan()) return a.is_nan() && b.is_nan();
  return a.i == b.i && a.re == b.re && a.im == b.im;
}

bool less(const Num& a, const Num& b) {
  if (a.i != b.i) return a.i < b.i;
  if (a.re != b.re) return a.re < b.re;
  return a.im < b.im;
}

Num num(double value, DType d) {
  Num n;
  if (d == bool_) {
    n.i = value != 0 ? 1 : 0;
  } else if (is_integer(d)) {
    n.i = static_cast<Int128>(value);
  } else {
    n.re = value;
  }
  return n;
}

std::vector<Num> elements(const array& x) {
  array dense = mx::contiguous(x, false, cpu());
  dense.eval();
  std::vector<Num> out;
  switch (from_mlx(x.dtype())) {
    case bool_: read<bool>(dense, out); break;
    case uint8: read<std::uint8_t>(dense, out); break;
    case uint16: read<std::uint16_t>(dense, out); break;
    case uint32: read<std::uint32_t>(dense, out); break;
    case uint64: read<std::uint64_t>(dense, out); break;
    case int8: read<std::int8_t>(dense, out); break;
    case int16: read<std::int16_t>(dense, out); break;
    case int32: read<std::int32_t>(dense, out); break;
    case int64: read<std::int64_t>(dense, out); break;
    case float16: read<mx::float16_t>(dense, out); break;
    case float32: read<float>(dense, out); break;
    case float64: read<double>(dense, out); break;
    case bfloat16: read<mx::bfloat16_t>(dense, out); break;
    case complex64: read<mx::complex64_t>(dense, out); break;
  }
  return out;
}

array make(const Shape& shape, const std::vector<double>& values, DType d, const std::vector<double>& imag) {
  if (is_complex(d)) {
    std::vector<mx::complex64_t> parts;
    for (std::size_t k = 0; k < values.size(); ++k) {
      parts.emplace_back(static_cast<float>(values[k]), imag.empty() ? 0.0f : static_cast<float>(imag[k]));
    }
    return array(parts.begin(), to_mlx(shape), mx::complex64);
  }
  const array wide(values.begin(), to_mlx(shape), mx::float64);
  return cast(d == bool_ || is_integer(d) ? cast(wide, int64) : wide, d);
}

array make_ints(const Shape& shape, const std::vector<std::int64_t>& values, DType d) {
  return cast(array(values.begin(), to_mlx(shape), mx::int64), d);
}

array make_unsigned(const Shape& shape, const std::vector<std::uint64_t>& values, DType d) {
  return cast(array(values.begin(), to_mlx(shape), mx::uint64), d);
}

array iota(const Shape& shape, DType d) {
  std::vector<double> values(static_cast<std::size_t>(count(shape)));
  std::iota(values.begin(), values.end(), 0.0);
  return make(shape, values, d);
}

array sample(const Shape& shape, DType d, unsigned seed) {
  const bool has_sign = is_floating(d) || is_complex(d) || kind(d) == DTypeKind::signed_integer;
  std::uint32_t state = seed * 2654435761u + 12345;
  const auto next = [&]() -> double {
    state = state * 1664525u + 1013904223u;
    const auto v = static_cast<int>((state >> 16) % 19);
    return d == bool_ ? v % 2 : has_sign ? v - 9 : v;
  };
  std::vector<double> re, im;
  for (std::int64_t k = 0; k < count(shape); ++k) {
    re.push_back(next());
    im.push_back(next());
  }
  return make(shape, re, d, im);
}

std::vector<array> layouts(const array& dense) {
  std::vector<array> out{dense};
  if (dense.ndim() == 0 || dense.size() == 0) return out;
  const mx::Stream s = cpu();
  const auto dims = static_cast<int>(dense.ndim());

  std::vector<int> backwards;
  for (int a = dims - 1; a >= 0; --a) backwards.push_back(a);
  out.push_back(mx::transpose(forced(mx::contiguous(mx::transpose(dense, backwards, s), false, s)), backwards, s));

  mx::Shape last, before, down;
  for (int a = 0; a < dims; ++a) {
    last.push_back(dense.shape(a) - 1);
    before.push_back(-dense.shape(a) - 1);
    down.push_back(-1);
  }
  const array flipped = forced(mx::contiguous(mx::slice(dense, last, before, down, s), false, s));
  out.push_back(mx::slice(flipped, last, before, down, s));

  mx::Shape twice = dense.shape();
  for (auto& n : twice) n *= 2;
  const array zeros = mx::full(twice, mlx_backend::scalar(0, dense.dtype()), dense.dtype(), s);
  const mx::Shape odd(dense.ndim(), 1), steps(dense.ndim(), 2);
  const array spread = forced(mx::slice_update(zeros, dense, odd, twice, steps, s));
  out.push_back(mx::slice(spread, odd, twice, steps, s));

  const array longer = forced(mx::concatenate({mx::ones({1}, dense.dtype(), s), mx::flatten(dense, s)}, 0, s));
  out.push_back(mx::reshape(mx::slice(longer, {1}, longer.shape(), s), dense.shape(), s));

  for (array& x : out) x.eval();
  return out;
}

std::int64_t count(const Shape& shape) { return *element_count(shape); }

void each(const Shape& shape, const std::function<void(const Shape&, std::size_t)>& f) {
  Shape index(shape.size(), 0);
  const auto n = static_cast<std::size_t>(count(shape));
  for (std::size_t at = 0; at < n; ++at) {
    f(index, at);
    for (std::size_t a = shape.size(); a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
}

std::size_t position(const Shape& index, const Shape& shape) {
  std::int64_t at = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) at = at * shape[a] + index[a];
  return static_cast<std::size_t>(at);
}

Result<ops::Types> infer_types(std::string_view name, const void* attrs_type, const void* attrs,
                               const std::vector<TensorType>& operands) {
  const ops::OpDef* op = ops::find_def(name);
  EXPECT_NE(op, nullptr) << name;
  EXPECT_EQ(op->attrs_type(), attrs_type) << name;
  const ops::InferContext context{*op, operands};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    REPRISE_RETURN_IF_ERROR(context.require_dtype(k, op->dtypes_of(op->operand(k))));
  }
  return op->infer(context, attrs);
}

array apply_erased(std::string_view name, const void* attrs_type, const void* attrs, std::vector<array> operands) {
  std::vector<TensorType> types;
  std::vector<array> placeholders;
  for (array& x : operands) {
    x.eval();
    types.push_back(type_of(x));
    placeholders.emplace_back(x.shape(), x.dtype(), nullptr, std::vector<array>{});
  }
  const ops::Types results = infer_types(name, attrs_type, attrs, types).value();
  const ops::OpDef& op = *ops::find_def(name);
  const mlx_backend::Lowering& lowering = mlx_backend::lowering_of(op);
  EXPECT_EQ(lowering.attrs_type, attrs_type) << name;

  const auto run = [&](const std::vector<array>& given, mx::Stream stream) {
    array out = lowering.lower({op, given, results, stream}, attrs).at(0);
    EXPECT_EQ(type_of(out), results[0]) << name << ": " << to_string(type_of(out)) << ", inferred "
                                        << to_string(results[0]);
    return out;
  };
  static const mx::Stream other = mx::new_stream(mx::Device::cpu);
  std::set<std::uintptr_t> seen;
  expect_stream(run(placeholders, other), other, seen, name);
  return forced(run(operands, cpu()));
}

testing::AssertionResult equals(const array& x, const Shape& shape, const std::vector<double>& values,
                                double tolerance) {
  std::vector<Num> wanted;
  for (const double v : values) wanted.push_back(num(v, from_mlx(x.dtype())));
  return matches(x, shape, wanted, tolerance);
}

testing::AssertionResult matches(const array& x, const Shape& shape, const std::vector<Num>& values, double tolerance) {
  const TensorType type = type_of(x);
  if (type.shape != shape) return testing::AssertionFailure() << to_string(type) << ", wanted " << to_string(shape);
  const auto seen = elements(x);
  if (seen.size() != values.size()) return testing::AssertionFailure() << seen.size() << " elements";
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const bool fits = tolerance == 0 ? same(seen[k], values[k])
                                     : seen[k].i == values[k].i && close(seen[k].re, values[k].re, tolerance) &&
                                           close(seen[k].im, values[k].im, tolerance);
    if (!fits) {
      return testing::AssertionFailure() << to_string(type) << ": element " << k << " is " << text(seen[k], type.dtype)
                                         << ", wanted " << text(values[k], type.dtype);
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace reprise::movement
