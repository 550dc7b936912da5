// Applies lowerings to concrete arrays on the calling thread and compares with references in long double, which holds
// every value of every dtype.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "backends/mlx/lowering.hpp"
#include "ops/binary/binary.hpp"
#include "ops/binary/binary.mlx.hpp"
#include "ops/cast/cast.hpp"
#include "ops/cast/cast.mlx.hpp"
#include "ops/registry.hpp"
#include "ops/unary/unary.hpp"
#include "ops/unary/unary.mlx.hpp"

namespace reprise::mlx_backend {

using Real = long double;
using Complex = std::complex<Real>;

inline constexpr Real kInf = std::numeric_limits<Real>::infinity();
inline constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

inline std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

inline std::vector<DType> dtypes_of(const ops::OpDef& op) {
  std::vector<DType> out;
  for (const DType d : all_dtypes()) {
    if ((op.dtypes & ops::set_of(d)) != 0) out.push_back(d);
  }
  return out;
}

/// Calls f with a value of the C++ type of `d`.
template <typename F>
auto with_type(DType d, F f) {
  switch (d) {
    case DType::bool_: return f(bool{});
    case DType::uint8: return f(std::uint8_t{});
    case DType::uint16: return f(std::uint16_t{});
    case DType::uint32: return f(std::uint32_t{});
    case DType::uint64: return f(std::uint64_t{});
    case DType::int8: return f(std::int8_t{});
    case DType::int16: return f(std::int16_t{});
    case DType::int32: return f(std::int32_t{});
    case DType::int64: return f(std::int64_t{});
    case DType::float16: return f(mx::float16_t{});
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::bfloat16: return f(mx::bfloat16_t{});
    default: return f(mx::complex64_t{});
  }
}

/// The value as the nearest of dtype `d`; in range for integers.
inline Complex rounded(Complex v, DType d) {
  return with_type(d, [&](auto tag) -> Complex {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, mx::complex64_t>) {
      return {static_cast<float>(v.real()), static_cast<float>(v.imag())};
    } else if constexpr (std::is_same_v<T, bool>) {
      return v != Complex{} ? 1 : 0;
    } else if constexpr (std::is_same_v<T, mx::float16_t> || std::is_same_v<T, mx::bfloat16_t>) {
      return static_cast<Real>(static_cast<float>(T(static_cast<float>(v.real()))));
    } else {
      return static_cast<Real>(static_cast<T>(v.real()));
    }
  });
}

inline array make(DType d, const std::vector<Complex>& values, mx::Shape shape) {
  return with_type(d, [&](auto tag) {
    using T = decltype(tag);
    auto typed = std::make_unique<T[]>(values.size() + 1);  // vector<bool> has no data()
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Complex v = rounded(values[i], d);
      if constexpr (std::is_same_v<T, mx::complex64_t>) {
        typed[i] = T(static_cast<float>(v.real()), static_cast<float>(v.imag()));
      } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
        typed[i] = static_cast<T>(v.real());
      } else {
        typed[i] = T(static_cast<float>(v.real()));
      }
    }
    return array(typed.get(), std::move(shape), to_mlx(d));
  });
}

inline array make(DType d, const std::vector<Complex>& values) {
  return make(d, values, {static_cast<int>(values.size())});
}

inline std::vector<Complex> read(const array& a) {
  array dense = mx::contiguous(a, false, mx::default_stream(mx::Device::cpu));
  dense.eval();
  return with_type(from_mlx(a.dtype()), [&](auto tag) {
    using T = decltype(tag);
    std::vector<Complex> out;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      const T v = dense.data<T>()[i];
      if constexpr (std::is_same_v<T, mx::complex64_t>) {
        out.emplace_back(v.real(), v.imag());
      } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
        out.emplace_back(static_cast<Real>(v));
      } else {
        out.emplace_back(static_cast<Real>(static_cast<float>(v)));
      }
    }
    return out;
  });
}

inline TensorType type_of(const array& a) { return {from_mlx(a.dtype()), Shape(a.shape().begin(), a.shape().end())}; }

inline const Lowering& find_lowering(std::string_view name) {
  for (std::span<const Lowering> family :
       {std::span<const Lowering>(kUnaryLowerings), std::span<const Lowering>(kBinaryLowerings),
        std::span<const Lowering>(kCastLowerings)}) {
    for (const Lowering& l : family) {
      if (l.name == name) return l;
    }
  }
  throw std::out_of_range(std::string(name));
}

inline Result<ops::Types> infer_types(std::string_view name, const std::vector<array>& operands,
                                      const void* attrs = nullptr) {
  const ops::OpDef& op = *ops::find_def(name);
  std::vector<TensorType> types;
  for (const array& a : operands) types.push_back(type_of(a));
  const ops::InferContext context{op, types};
  for (std::size_t i = 0; i < types.size(); ++i) REPRISE_RETURN_IF_ERROR(context.require_dtype(i, op.dtypes));
  return op.infer(context, attrs);
}

/// The op's result, evaluated; its type is checked against the row's inference.
inline array apply(std::string_view name, const std::vector<array>& operands, const void* attrs = nullptr) {
  const ops::Types types = infer_types(name, operands, attrs).value();
  const LowerContext context{*ops::find_def(name), operands, types, mx::default_stream(mx::Device::cpu)};
  std::vector<array> results = find_lowering(name).lower(context, attrs);
  EXPECT_EQ(results.size(), 1u);
  results[0].eval();
  EXPECT_EQ(to_string(type_of(results[0])), to_string(types[0])) << name;
  return results[0];
}

inline array cast_to(std::string_view name, const array& x, DType to) {
  const ops::DTypeAttrs attrs{to};
  return apply(name, {x}, &attrs);
}

struct Format {
  Real epsilon = 0;
  Real least = 0;  // spacing of the subnormal numbers
};
inline Format format_of(DType d) {
  switch (d) {
    case DType::float16: return {0x1p-10L, 0x1p-24L};
    case DType::bfloat16: return {0x1p-7L, 0x1p-133L};
    case DType::float32:
    case DType::complex64: return {0x1p-23L, 0x1p-149L};
    case DType::float64: return {0x1p-52L, 0x1p-1074L};
    default: return {};
  }
}

inline bool same(Real a, Real b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Error of `got` in epsilons of the dtype beyond `absolute`; infinite when one is special and the other is not.
inline Real error_in_epsilons(Complex got, Complex exact, DType d, Real absolute) {
  const Complex want = rounded(exact, d);
  if (same(got.real(), want.real()) && same(got.imag(), want.imag())) return 0;
  const Format f = format_of(d);
  if (f.epsilon == 0) return kInf;
  const Real size = std::abs(exact);
  // Next to overflow both the greatest number and infinity are right.
  if (std::isinf(want.real()) != std::isinf(got.real()) && std::isfinite(size) && !std::isnan(got.real())) {
    const Complex inward = rounded(exact * (1 - 4 * f.epsilon), d);
    return std::isfinite(inward.real()) && got.real() * want.real() > 0 ? 4 : kInf;
  }
  if (!std::isfinite(size)) {
    // One part decides: the other one of an infinite complex number is not compared unless both are finite.
    return same(got.real(), want.real()) && std::abs(got.imag() - want.imag()) <= 8 * f.epsilon * std::abs(want.imag())
               ? 0
               : kInf;
  }
  const Real off = std::abs(got - exact);
  if (std::isnan(off)) return kInf;
  if (off <= absolute + f.least) return 0;
  return (off - absolute - f.least) / (size * f.epsilon);
}

struct Worst {
  Real epsilons = 0;
  std::string where = "";
};

inline std::string show(Complex v) {
  return fmt::format("{}{:+}i", static_cast<double>(v.real()), static_cast<double>(v.imag()));
}

/// Compares all elements by the row's tolerance; gives the worst error.
inline Worst expect_close(std::string_view op, DType operand, const array& result, const std::vector<Complex>& want,
                          const std::vector<std::string>& inputs) {
  const ops::Tolerance& tolerance = ops::find_def(op)->tolerance;
  const std::vector<Complex> got = read(result);
  EXPECT_EQ(got.size(), want.size());
  Worst worst;
  int shown = 0;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    const Real error = error_in_epsilons(got[i], want[i], from_mlx(result.dtype()), tolerance.absolute);
    if (error > worst.epsilons) worst = {error, inputs[i]};
    if (error > tolerance.epsilons && shown++ < 5) {
      ADD_FAILURE() << op << " of " << name(operand) << " " << inputs[i] << ": got " << show(got[i]) << ", wanted "
                    << show(want[i]) << ", off by " << static_cast<double>(error) << " epsilons";
    }
  }
  return worst;
}

/// "Exactly these values", NaN equal to NaN; `signed_zeros` tells -0.0 from 0.0.
inline void expect_values(const array& got, const std::vector<Complex>& want, bool signed_zeros = false) {
  const std::vector<Complex> values = read(got);
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(same(values[i].real(), want[i].real()) && same(values[i].imag(), want[i].imag()))
        << "element " << i << ": got " << show(values[i]) << ", wanted " << show(want[i]);
    if (signed_zeros && !std::isnan(want[i].real())) {
      EXPECT_EQ(std::signbit(values[i].real()), std::signbit(want[i].real())) << "element " << i;
    }
  }
}

/// Values worth trying in each dtype, exactly representable.
inline std::vector<Complex> samples(DType d) {
  std::vector<Complex> out;
  const auto add = [&](std::initializer_list<Real> values) {
    for (const Real v : values) out.push_back(rounded(v, d));
  };
  if (d == DType::bool_) {
    add({0, 1});
  } else if (is_integer(d)) {
    const Real least =
        with_type(d, [](auto tag) { return static_cast<Real>(std::numeric_limits<decltype(tag)>::min()); });
    const Real most =
        with_type(d, [](auto tag) { return static_cast<Real>(std::numeric_limits<decltype(tag)>::max()); });
    add({0, 1, 2, 3, 5, 7, 8, 15, 63, 100, most, most - 1, least, least + 1});
    if (least < 0) add({-1, -2, -3, -7, -8, -100});
  } else if (is_complex(d)) {
    for (const Real re : {-2.5L, -1.0L, -0.5L, -0.0L, 0.0L, 0.25L, 1.0L, 3.0L}) {
      for (const Real im : {-2.0L, -0.5L, -0.0L, 0.0L, 0.75L, 1.0L}) out.emplace_back(re, im);
    }
  } else {
    const Real most = d == DType::float16    ? 65504.0L
                      : d == DType::float64  ? 0x1.fffffffffffffp1023L
                      : d == DType::bfloat16 ? 0x1.fep127L
                                             : 0x1.fffffep127L;
    const Real normal = d == DType::float16 ? 0x1p-14L : d == DType::float64 ? 0x1p-1022L : 0x1p-126L;
    const Format f = format_of(d);
    add({0, -0.0L, 1, -1, 0.5L, -0.5L, 1.5L, 2.5L, -2.5L, 3, -3, 7, -7.5L, 0.1L, -0.3L, 100, 1e-3L, kInf, -kInf, kNan});
    add({most, -most, normal, f.least, -3 * f.least, 1 + f.epsilon, 1 - f.epsilon / 2, 0.5L - f.epsilon / 4,
         1 / f.epsilon + 1});
  }
  return out;
}

}  // namespace reprise::mlx_backend
