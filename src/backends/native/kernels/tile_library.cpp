// Functions as the C library has them, one element after the other: float64, and what is rare in float32.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "backends/native/kernels/tile.hpp"
#include "ops/unary/coefficients.hpp"

namespace reprise::native {
namespace {

template <auto F, typename T>
void each1(const void* const* in, void* out, std::size_t n) {
  const T* a = static_cast<const T*>(in[0]);
  T* r = static_cast<T*>(out);
  for (std::size_t i = 0; i < n; ++i) r[i] = F(a[i]);
}

template <auto F, typename T>
void each2(const void* const* in, void* out, std::size_t n) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  T* r = static_cast<T*>(out);
  for (std::size_t i = 0; i < n; ++i) r[i] = F(a[i], b[i]);
}

template <typename T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
template <typename T>
T swiglu(T gate, T up) {
  return gate * sigmoid(gate) * up;
}

double horner(std::span<const double> coefficients, double x) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// Wichura's AS 241; see the coefficients.
double erf_inv(double x) {
  using namespace mlx_backend;
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::nan("");
  const double q = x * 0.5;
  double out;
  if (a <= 0.85) {
    const double z = 0.180625 - q * q;
    out = q * (horner(kInverseCentreTop, z) / horner(kInverseCentreBottom, z));
  } else {
    const double r = std::sqrt(-std::log((1 - a) * 0.5));
    const double end = r <= 5 ? horner(kInverseMiddleTop, r - 1.6) / horner(kInverseMiddleBottom, r - 1.6)
                              : horner(kInverseTailTop, r - 5) / horner(kInverseTailBottom, r - 5);
    out = std::copysign(end, x);
  }
  return out * 0.70710678118654752440;
}
float erf_inv_single(float x) { return static_cast<float>(erf_inv(x)); }

struct Entry {
  std::string_view op;
  TileFn kernel;
};

// A template's instance as a value.
#define REPRISE_LIBRARY(name)                           \
  {                                                     \
#name, each1 < [](T x) { return std::name(x); }, T> \
  }
template <typename T>
constexpr auto kFunctions = std::to_array<Entry>({
    REPRISE_LIBRARY(exp),
    REPRISE_LIBRARY(expm1),
    REPRISE_LIBRARY(log),
    REPRISE_LIBRARY(log1p),
    REPRISE_LIBRARY(sin),
    REPRISE_LIBRARY(cos),
    REPRISE_LIBRARY(tan),
    REPRISE_LIBRARY(asin),
    REPRISE_LIBRARY(acos),
    REPRISE_LIBRARY(atan),
    REPRISE_LIBRARY(sinh),
    REPRISE_LIBRARY(cosh),
    REPRISE_LIBRARY(tanh),
    REPRISE_LIBRARY(asinh),
    REPRISE_LIBRARY(acosh),
    REPRISE_LIBRARY(atanh),
    REPRISE_LIBRARY(erf),
    REPRISE_LIBRARY(erfc),
    REPRISE_LIBRARY(cbrt),
    {"sigmoid", each1<sigmoid<T>, T>},
    {"pow", each2<[](T a, T b) { return std::pow(a, b); }, T>},
    {"atan2", each2<[](T a, T b) { return std::atan2(a, b); }, T>},
    {"remainder", each2<[](T a, T b) { return std::fmod(a, b); }, T>},
    {"fast_swiglu", each2<swiglu<T>, T>},
});
#undef REPRISE_LIBRARY

}  // namespace

TileFn library_tile(std::string_view op, DType dtype) {
  const auto find = [&](const auto& table) -> TileFn {
    for (const Entry& entry : table) {
      if (entry.op == op) return entry.kernel;
    }
    return nullptr;
  };
  if (dtype == DType::float32) return op == "erf_inv" ? each1<erf_inv_single, float> : find(kFunctions<float>);
  if (dtype == DType::float64) return op == "erf_inv" ? each1<erf_inv, double> : find(kFunctions<double>);
  return nullptr;
}

}  // namespace reprise::native
