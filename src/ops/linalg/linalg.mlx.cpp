#include "ops/linalg/linalg.mlx.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "backends/mlx/convert.hpp"
#include "backends/mlx/host_primitive.hpp"
#include "ops/linalg/kernels.hpp"

namespace reprise::mlx_backend {
namespace {

// MLX's factorisations, and ours, exist on the CPU only.
mx::Stream cpu_stream(const LowerContext& context) {
  return on_cpu(context) ? context.stream : mx::default_stream(mx::Device::cpu);
}

mx::ShapeElem rows(const array& a) { return a.shape(-2); }
mx::ShapeElem columns(const array& a) { return a.shape(-1); }

bool all_empty(const LowerContext& context) {
  return std::all_of(context.results.begin(), context.results.end(),
                     [](const TensorType& type) { return element_count(type.shape) == 0; });
}

std::vector<array> zeros_of_all(const LowerContext& context, mx::Stream s) {
  std::vector<array> out;
  for (std::size_t i = 0; i < context.results.size(); ++i) {
    out.push_back(mx::full(context.shape(i), scalar(0, context.dtype(i)), context.dtype(i), s));
  }
  return out;
}

array any(const array& x, mx::Stream s) { return mx::any(x, false, s); }

// LAPACK neither ends in good order nor keeps to its arrays when it meets NaN. So it gets matrices of finite numbers,
// and what was not finite is put into the results or refused.
struct Finite {
  array matrices;  // zeros where elements were not finite
  array spoilt;    // (..., 1, 1), bool: the matrix had such elements
};

Finite finite(const array& a, mx::Stream s) {
  const array zero = scalar(0, a.dtype());
  const array good = mx::equal(mx::subtract(a, a, s), zero, s);
  return {mx::where(good, a, zero, s), mx::logical_not(mx::all(good, std::vector<int>{-2, -1}, true, s), s)};
}

array nan_where(const array& spoilt, const array& x, mx::Stream s) {
  return mx::where(spoilt, scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype()), x, s);
}

// LAPACK's iterations overflow on matrices near the greatest numbers, and then end without result, which MLX throws. So
// these are made smaller, by a power of two; `times` (..., 1) brings values back.
struct Moderate {
  array matrices;
  array times;
};

Moderate moderate(const array& a, mx::Stream s) {
  const bool wide = a.dtype() == mx::float64;
  const mx::Dtype real = wide ? mx::float64 : mx::float32;
  const array greatest = mx::max(mx::abs(a, s), std::vector<int>{-2, -1}, true, s);
  const array large = mx::greater(greatest, scalar(std::ldexp(1.0, wide ? 200 : 30), real), s);
  const double factor = std::ldexp(1.0, wide ? 800 : 100);
  const array one = scalar(1, real);
  const array down = mx::where(large, scalar(1 / factor, real), one, s);
  return {mx::multiply(a, mx::astype(down, a.dtype(), s), s),
          mx::squeeze(mx::where(large, scalar(factor, real), one, s), -1, s)};
}

constexpr const char* kNotFinite = "a has elements that are not finite";

// Which triangles of `a` a system is solved with, one after the other.
struct System {
  bool upper = false;
  bool factored = false;  // both: `a` holds the factors of a general matrix, and operand 2 the rows exchanged
};

template <typename T>
void solve_all(System system, std::size_t n, std::size_t k, const std::vector<HostBuffer>& operands,
               const std::vector<HostBuffer>& results) {
  const T* a = operands[0].as<T>();
  const T* b = operands[1].as<T>();
  T* x = results[0].as<T>();
  bool* singular = results[1].as<bool>();
  std::vector<double> work(n * k);
  for (std::size_t i = 0; i < results[1].size; ++i) {
    std::copy_n(b, n * k, work.begin());
    if (system.factored) {
      const std::uint32_t* exchanged = operands[2].as<std::uint32_t>() + i * n;
      for (std::size_t r = 0; r < n; ++r) {
        if (exchanged[r] == r) continue;
        std::swap_ranges(&work[r * k], &work[r * k] + k, &work[exchanged[r] * k]);
      }
      substitute(a, n, work.data(), k, false, true);
    }
    singular[i] = !substitute(a, n, work.data(), k, system.factored || system.upper, false);
    std::transform(work.begin(), work.end(), x, [](double v) { return static_cast<T>(v); });
    a += n * n;
    b += n * k;
    x += n * k;
  }
}

// The results x and, for each matrix, whether it is singular: (...), bool.
std::vector<array> solved(const LowerContext& context, System system, std::vector<array> operands, mx::Stream s) {
  const array& a = operands[0];
  const auto n = static_cast<std::size_t>(rows(a));
  const std::size_t k = context[1].ndim() == a.ndim() ? static_cast<std::size_t>(columns(context[1])) : 1;
  const mx::Shape batch(a.shape().begin(), a.shape().end() - 2);
  const bool wide = context.dtype() == mx::float64;
  return host_operation(
      "Solve",
      [=](const std::vector<HostBuffer>& in, const std::vector<HostBuffer>& out) {
        wide ? solve_all<double>(system, n, k, in, out) : solve_all<float>(system, n, k, in, out);
      },
      std::move(operands), {context.shape(), batch}, {context.dtype(), mx::bool_}, s);
}

// True for matrices that are empty in one direction only: their factors are not empty.
bool flat(const array& a) { return rows(a) == 0 || columns(a) == 0; }

// One square identity for each matrix.
array identities(const LowerContext& context, std::size_t result, mx::Stream s) {
  const mx::Shape shape = context.shape(result);
  return mx::broadcast_to(mx::eye(shape.back(), shape.back(), 0, context.dtype(result), s), shape, s);
}

std::vector<array> jacobi_svd(const LowerContext& context, const array& a, mx::Stream s) {
  const auto m = static_cast<std::size_t>(rows(a));
  const auto n = static_cast<std::size_t>(columns(a));
  return host_operation(
      "ComplexSVD",
      [m, n](const std::vector<HostBuffer>& in, const std::vector<HostBuffer>& out) {
        using C = std::complex<float>;
        const std::size_t k = std::min(m, n);
        for (std::size_t i = 0; i < in[0].size / (m * n); ++i) {
          complex_svd(in[0].as<C>() + i * m * n, m, n, out[0].as<C>() + i * m * m, out[1].as<float>() + i * k,
                      out[2].as<C>() + i * n * n);
        }
      },
      {a}, {context.shape(0), context.shape(1), context.shape(2)}, {mx::complex64, mx::float32, mx::complex64}, s);
}

// Where each row of the matrix went: LAPACK's exchanges, undone from the last.
array permutation(const LowerContext& context, const array& exchanged, int m, int k, mx::Stream s) {
  const auto rows_of = static_cast<std::size_t>(m);
  const auto exchanges = static_cast<std::size_t>(k);
  return host_operation(
      "Permutation",
      [rows_of, exchanges](const std::vector<HostBuffer>& in, const std::vector<HostBuffer>& out) {
        for (std::size_t i = 0; i < out[0].size / rows_of; ++i) {
          const std::uint32_t* exchange = in[0].as<std::uint32_t>() + i * exchanges;
          std::uint32_t* row = out[0].as<std::uint32_t>() + i * rows_of;
          std::iota(row, row + rows_of, 0u);
          for (std::size_t j = exchanges; j-- > 0;) std::swap(row[j], row[exchange[j]]);
        }
      },
      {exchanged}, {context.shape(0)}, {mx::uint32}, s)[0];
}

// MLX gives LAPACK 5k^2 + 5k numbers of work space. For complex matrices that are neither near to square nor twice as
// long as wide LAPACK writes beyond them.
bool lapack_overflows(const array& a) {
  if (a.dtype() != mx::complex64) return false;
  const auto less = static_cast<std::int64_t>(std::min(rows(a), columns(a)));
  const auto more = static_cast<std::int64_t>(std::max(rows(a), columns(a)));
  return 2 * more * less + 2 * less * less + less > 5 * less * less + 5 * less && more <= 2 * less;
}

}  // namespace

array lower_cholesky(const LowerContext& context) {
  const mx::Stream s = cpu_stream(context);
  if (all_empty(context)) return zeros_of_all(context, s)[0];
  // LAPACK stops at the first pivot that is not positive and leaves it on the diagonal, or goes on with NaN.
  const Finite a = finite(mx::tril(context[0], 0, s), s);
  const array factor = mx::linalg::cholesky(a.matrices, false, s);
  const array pivots = mx::diagonal(factor, 0, -2, -1, s);
  const array positive = mx::greater(pivots, scalar(0, pivots.dtype()), s);
  context.check(any(mx::logical_not(positive, s), s), "a is not positive definite");
  context.check(any(a.spoilt, s), kNotFinite);
  return factor;
}

array lower_solve(const LowerContext& context) {
  const mx::Stream s = cpu_stream(context);
  if (all_empty(context)) return zeros_of_all(context, s)[0];
  const Finite a = finite(mx::astype(context[0], context.dtype(), s), s);
  const auto [factors, exchanged] = mx::linalg::lu_factor(a.matrices, s);
  const auto x =
      solved(context, {.factored = true}, {factors, mx::astype(context[1], context.dtype(), s), exchanged}, s);
  const array spoilt = mx::reshape(a.spoilt, x[1].shape(), s);
  context.check(any(mx::greater(x[1], spoilt, s), s), "a is singular");
  const array for_each = mx::reshape(
      a.spoilt,
      [&] {
        mx::Shape shape = context.shape();
        std::fill(shape.begin() + static_cast<std::ptrdiff_t>(spoilt.ndim()), shape.end(), 1);
        return shape;
      }(),
      s);
  return nan_where(for_each, x[0], s);
}

array lower_solve_triangular(const LowerContext& context, const ops::TriangularAttrs& attrs) {
  const mx::Stream s = cpu_stream(context);
  if (all_empty(context)) return zeros_of_all(context, s)[0];
  const auto operand = [&](std::size_t i) { return mx::astype(context[i], context.dtype(), s); };
  const auto x = solved(context, {.upper = attrs.upper}, {operand(0), operand(1)}, s);
  context.check(any(x[1], s), "a is singular: its diagonal has a zero");
  return x[0];
}

std::vector<array> lower_qr(const LowerContext& context) {
  const mx::Stream s = cpu_stream(context);
  if (all_empty(context)) return zeros_of_all(context, s);
  const auto [q, r] = mx::linalg::qr(context[0], s);
  return {q, r};
}

std::vector<array> lower_eigh(const LowerContext& context) {
  const mx::Stream s = cpu_stream(context);
  if (all_empty(context)) return zeros_of_all(context, s);
  // Mirrored, since MLX has read the upper triangle.
  const array below = mx::tril(context[0], -1, s);
  const array mirrored = mx::swapaxes(context.dtype(1) == mx::complex64 ? mx::conjugate(below, s) : below, -1, -2, s);
  const Finite a = finite(mx::add(mx::tril(context[0], 0, s), mirrored, s), s);
  context.check(any(a.spoilt, s), kNotFinite);
  const Moderate m = moderate(a.matrices, s);
  const auto [values, vectors] = mx::linalg::eigh(m.matrices, "L", s);
  return {mx::multiply(values, m.times, s), mx::contiguous(vectors, false, s)};
}

std::vector<array> lower_svd(const LowerContext& context) {
  const mx::Stream s = cpu_stream(context);
  if (all_empty(context)) return zeros_of_all(context, s);
  if (flat(context[0])) return {identities(context, 0, s), zeros_of_all(context, s)[1], identities(context, 2, s)};
  const Finite a = finite(context[0], s);
  context.check(any(a.spoilt, s), kNotFinite);
  const Moderate m = moderate(a.matrices, s);
  std::vector<array> out =
      lapack_overflows(a.matrices) ? jacobi_svd(context, m.matrices, s) : mx::linalg::svd(m.matrices, true, s);
  out[1] = mx::multiply(out[1], m.times, s);
  return out;
}

std::vector<array> lower_lu(const LowerContext& context) {
  const mx::Stream s = cpu_stream(context);
  std::vector<array> out = zeros_of_all(context, s);
  if (all_empty(context)) return out;
  if (flat(context[0])) {
    out[0] = mx::broadcast_to(mx::arange(0, rows(context[0]), mx::uint32, s), context.shape(0), s);
    return out;
  }
  const Finite a = finite(context[0], s);
  const auto [packed, exchanged] = mx::linalg::lu_factor(a.matrices, s);
  // MLX says that its factors hold as many elements as they have bytes, so an element-wise operation on them, as in its
  // own lu(), writes beyond its result. A copy by shape does not go by that number.
  const array factors = mx::contiguous(packed, false, s);
  const int m = rows(factors);
  const int n = columns(factors);
  const int k = std::min(m, n);
  const auto part = [&](const array& x, int r, int c) {
    mx::Shape stop = x.shape();
    stop[stop.size() - 2] = r;
    stop[stop.size() - 1] = c;
    return mx::slice(x, mx::Shape(stop.size(), 0), stop, s);
  };
  const array ones = mx::eye(m, k, 0, factors.dtype(), s);
  const array lower = mx::add(part(mx::tril(factors, -1, s), m, k), ones, s);
  const array upper = part(mx::triu(factors, 0, s), k, n);
  return {permutation(context, exchanged, m, k, s), lower, nan_where(a.spoilt, upper, s)};
}

}  // namespace reprise::mlx_backend
