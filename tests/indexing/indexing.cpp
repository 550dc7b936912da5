#include "indexing/indexing.hpp"

namespace reprise::movement {

std::vector<array> operands_like(const array& dense) {
  std::vector<array> out = layouts(dense);
  if (dense.ndim() > 0 && dense.size() > 0) {
    mx::Shape first = dense.shape();
    first[0] = 1;
    const array block = mx::slice(dense, mx::Shape(dense.ndim(), 0), first, cpu_stream());
    out.push_back(mx::broadcast_to(block, dense.shape(), cpu_stream()));
    out.back().eval();
  }
  return out;
}

Num wrapped(Num n, DType d) {
  if (d == bool_) {
    n.i = n.i != 0 ? 1 : 0;
  } else if (is_integer(d)) {
    const auto bits = static_cast<int>(8 * size_of(d));
    const Int128 range = Int128{1} << bits;
    n.i %= range;
    if (n.i < 0) n.i += range;
    if (kind(d) == DTypeKind::signed_integer && n.i >= range / 2) n.i -= range;
  }
  return n;
}

Num plus(const Num& a, const Num& b, DType d) { return wrapped({a.i + b.i, a.re + b.re, a.im + b.im}, d); }

Num times(const Num& a, const Num& b, DType d) {
  // Of 64-bit integers only the lower half counts.
  const auto low = static_cast<std::uint64_t>(a.i) * static_cast<std::uint64_t>(b.i);
  if (!is_complex(d)) return wrapped({low, a.re * b.re, 0}, d);
  return {0, a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

Num extreme(const Num& a, const Num& b, bool greatest) {
  if (a.is_nan()) return a;
  if (b.is_nan()) return b;
  return less(a, b) == greatest ? b : a;
}

}  // namespace reprise::movement
