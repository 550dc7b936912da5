// Applies one lowering to concrete arrays, and reads results exactly.
//
//   const array y = apply("reverse", ops::AxesAttrs{{1}}, {x});
//   EXPECT_TRUE(equals(y, {2, 3}, {2, 1, 0, 5, 4, 3}));
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <functional>
#include <limits>

#include "backends/mlx/lowering.hpp"
#include "ops/registry.hpp"
#include "program/array_access.hpp"

namespace reprise::movement {

using mlx_backend::array;
namespace mx = mlx::core;

using enum DType;
inline constexpr DType kEveryDType[] = {bool_, uint8, uint16,  uint32,  uint64,  int8,     int16,
                                        int32, int64, float16, float32, float64, bfloat16, complex64};
inline constexpr DType kEveryFloat[] = {float16, float32, float64, bfloat16};
inline constexpr DType kEveryInteger[] = {uint8, uint16, uint32, uint64, int8, int16, int32, int64};
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

__extension__ using Int128 = __int128;

/// One element, exactly: integers and bool in `i`, the others in `re` and `im`.
struct Num {
  Int128 i = 0;
  double re = 0;
  double im = 0;
  bool is_nan() const { return std::isnan(re) || std::isnan(im); }
};

/// Equal, with NaN equal to NaN. -0.0 equals 0.0.
bool same(const Num& a, const Num& b);

/// As std::complex's order by real, then imaginary part; integers by value.
bool less(const Num& a, const Num& b);

/// A real number as an element of `d`.
Num num(double value, DType d);

/// Elements in row-major order, whatever the layout.
std::vector<Num> elements(const array& x);

/// A dense array of `values` converted to `d`; the imaginary parts of complex64 are those of `imag`, or 0.
array make(const Shape& shape, const std::vector<double>& values, DType d = float32,
           const std::vector<double>& imag = {});
array make_ints(const Shape& shape, const std::vector<std::int64_t>& values, DType d);
array make_unsigned(const Shape& shape, const std::vector<std::uint64_t>& values, DType d);
array iota(const Shape& shape, DType d = float32);

/// Small pseudo-random values that `d` holds exactly: -9..9, or 0..18 where there is no sign.
array sample(const Shape& shape, DType d, unsigned seed = 1);

/// The same values in other layouts: dense, axes stored in reverse order, stored backwards, every other element of a
/// larger array, and with 1 in front of what the buffer begins with.
std::vector<array> layouts(const array& dense);

std::int64_t count(const Shape& shape);
/// Calls `f` with each index and its row-major position.
void each(const Shape& shape, const std::function<void(const Shape& index, std::size_t at)>& f);
std::size_t position(const Shape& index, const Shape& shape);

/// Types of the results, or the error.
Result<ops::Types> infer_types(std::string_view name, const void* attrs_type, const void* attrs,
                               const std::vector<TensorType>& operands);

/// Runs the op's lowering on the CPU and forces the result. Checks that the lowering reads no placeholder, that it
/// keeps to its stream and that it returns the inferred types.
array apply_erased(std::string_view name, const void* attrs_type, const void* attrs, std::vector<array> operands);

template <typename Attrs>
array apply(std::string_view name, const Attrs& attrs, std::vector<array> operands) {
  return apply_erased(name, ops::type_tag<Attrs>(), &attrs, std::move(operands));
}
inline array apply(std::string_view name, std::vector<array> operands) {
  return apply_erased(name, nullptr, nullptr, std::move(operands));
}

template <typename Attrs>
Result<ops::Types> types_of(std::string_view name, const Attrs& attrs, const std::vector<TensorType>& operands) {
  return infer_types(name, ops::type_tag<Attrs>(), &attrs, operands);
}

/// Shape and values are as given; floats to within `tolerance` relative to the greater of 1 and the value.
testing::AssertionResult equals(const array& x, const Shape& shape, const std::vector<double>& values,
                                double tolerance = 0);
testing::AssertionResult matches(const array& x, const Shape& shape, const std::vector<Num>& values,
                                 double tolerance = 0);
// A template so that a braced list of numbers is never taken for one of Num.
template <std::same_as<Num> N>
testing::AssertionResult equals(const array& x, const Shape& shape, const std::vector<N>& values,
                                double tolerance = 0) {
  return matches(x, shape, values, tolerance);
}

}  // namespace reprise::movement
