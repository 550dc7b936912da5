// complex64, one element after the other. Functions are computed in double precision, which leaves one rounding each.
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "backends/native/kernels/tile.hpp"

namespace reprise::native {
namespace {

using Complex = std::complex<float>;
using Wide = std::complex<double>;

template <auto F, typename R = Complex>
void each1(const void* const* in, void* out, std::size_t n) {
  const Complex* a = static_cast<const Complex*>(in[0]);
  R* r = static_cast<R*>(out);
  for (std::size_t i = 0; i < n; ++i) r[i] = F(a[i]);
}

template <auto F, typename R = Complex>
void each2(const void* const* in, void* out, std::size_t n) {
  const Complex* a = static_cast<const Complex*>(in[0]);
  const Complex* b = static_cast<const Complex*>(in[1]);
  R* r = static_cast<R*>(out);
  for (std::size_t i = 0; i < n; ++i) r[i] = F(a[i], b[i]);
}

bool is_nan(Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); }

// Real parts decide, then imaginary ones; a NaN in any part makes it false.
bool less(Complex a, Complex b) {
  if (is_nan(a) || is_nan(b)) return false;
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
bool less_equal(Complex a, Complex b) {
  if (is_nan(a) || is_nan(b)) return false;
  return a.real() < b.real() || (a.real() == b.real() && a.imag() <= b.imag());
}
Complex min(Complex a, Complex b) { return is_nan(a) ? a : is_nan(b) ? b : less(a, b) ? a : b; }
Complex max(Complex a, Complex b) { return is_nan(a) ? a : is_nan(b) ? b : less(b, a) ? a : b; }

Complex add(Complex a, Complex b) { return a + b; }
Complex subtract(Complex a, Complex b) { return a - b; }
Complex multiply(Complex a, Complex b) { return a * b; }
Complex divide(Complex a, Complex b) { return Complex(Wide(a) / Wide(b)); }

Complex clip(Complex x, Complex low, Complex high) { return min(max(x, low), high); }

void clip_tile(const void* const* in, void* out, std::size_t n) {
  const Complex* x = static_cast<const Complex*>(in[0]);
  const Complex* low = static_cast<const Complex*>(in[1]);
  const Complex* high = static_cast<const Complex*>(in[2]);
  Complex* r = static_cast<Complex*>(out);
  for (std::size_t i = 0; i < n; ++i) r[i] = clip(x[i], low[i], high[i]);
}

// Neither overflows nor vanishes on the way in double precision.
double magnitude(Complex x) { return std::hypot(double{x.real()}, double{x.imag()}); }
Complex sign(Complex x) {
  if (x == Complex(0)) return 0;
  const double size = magnitude(x);
  return {static_cast<float>(x.real() / size), static_cast<float>(x.imag() / size)};
}
Complex log1p(Complex x) {
  const double a = x.real(), b = x.imag();
  // The square of the magnitude of 1 + x is 1 + a (2 + a) + b b.
  const double square = a * (2 + a) + b * b;
  const double real = std::isinf(square) ? std::log(std::hypot(1 + a, b)) : 0.5 * std::log1p(square);
  return {static_cast<float>(real), static_cast<float>(std::atan2(b, 1 + a))};
}

struct Entry {
  std::string_view op;
  TileFn kernel;
};

#define REPRISE_COMPLEX(name, function)                                       \
  {                                                                           \
#name, each1 < [](Complex x) { return Complex(std::function(Wide(x))); }> \
  }
constexpr auto kComplex = std::to_array<Entry>({
    {"add", each2<add>},
    {"subtract", each2<subtract>},
    {"multiply", each2<multiply>},
    {"divide", each2<divide>},
    {"min", each2<min>},
    {"max", each2<max>},
    {"clip", clip_tile},
    {"equal", each2<[](Complex a, Complex b) { return a == b; }, std::uint8_t>},
    {"not_equal", each2<[](Complex a, Complex b) { return a != b; }, std::uint8_t>},
    {"less", each2<less, std::uint8_t>},
    {"less_equal", each2<less_equal, std::uint8_t>},
    {"greater", each2<[](Complex a, Complex b) { return less(b, a); }, std::uint8_t>},
    {"greater_equal", each2<[](Complex a, Complex b) { return less_equal(b, a); }, std::uint8_t>},
    {"abs", each1<[](Complex x) { return static_cast<float>(magnitude(x)); }, float>},
    {"real", each1<[](Complex x) { return x.real(); }, float>},
    {"imag", each1<[](Complex x) { return x.imag(); }, float>},
    {"conjugate", each1<[](Complex x) { return std::conj(x); }>},
    {"negate", each1<[](Complex x) { return -x; }>},
    {"round", each1<[](Complex x) { return Complex(std::round(x.real()), std::round(x.imag())); }>},
    {"sign", each1<sign>},
    {"is_nan", each1<is_nan, std::uint8_t>},
    {"is_infinity", each1<[](Complex x) { return std::isinf(x.real()) || std::isinf(x.imag()); }, std::uint8_t>},
    {"logical_not", each1<[](Complex x) { return x == Complex(0); }, std::uint8_t>},
    {"log1p", each1<log1p>},
    {"rsqrt", each1<[](Complex x) { return Complex(1.0 / std::sqrt(Wide(x))); }>},
    REPRISE_COMPLEX(sqrt, sqrt),
    REPRISE_COMPLEX(exp, exp),
    REPRISE_COMPLEX(log, log),
    REPRISE_COMPLEX(sin, sin),
    REPRISE_COMPLEX(cos, cos),
    REPRISE_COMPLEX(tan, tan),
    REPRISE_COMPLEX(asin, asin),
    REPRISE_COMPLEX(acos, acos),
    REPRISE_COMPLEX(atan, atan),
    REPRISE_COMPLEX(sinh, sinh),
    REPRISE_COMPLEX(cosh, cosh),
    REPRISE_COMPLEX(tanh, tanh),
    REPRISE_COMPLEX(asinh, asinh),
    REPRISE_COMPLEX(acosh, acosh),
    REPRISE_COMPLEX(atanh, atanh),
});
#undef REPRISE_COMPLEX

}  // namespace

TileFn complex_tile(std::string_view op, DType dtype) {
  if (dtype != DType::complex64) return nullptr;
  for (const Entry& entry : kComplex) {
    if (entry.op == op) return entry.kernel;
  }
  return nullptr;
}

}  // namespace reprise::native
