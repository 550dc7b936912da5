// Arrays as plain data, so that programs can be made and changed in a process that runs nothing of MLX (and may fork).
//
//   ArraySpec spec = random_array(random, {DType::float32, {2, 3}}, {.wild = true});
//   mx::array x = make_array(spec);           // in the layout that the spec asks for
//   assert(bytes_of(x) == spec.bytes);
#pragma once

#include <mlx/mlx.h>

#include <complex>
#include <string>
#include <vector>

#include "fuzz/random.hpp"
#include "reprise/dtype.hpp"

namespace reprise::fuzz {

namespace mx = mlx::core;

/// How the elements lie in memory.
enum class Layout : std::uint8_t {
  dense,
  reversed_axes,  ///< column-major
  backwards,      ///< last element first: negative strides
  every_other,    ///< gaps between elements
  offset,         ///< dense, but not at the buffer's beginning
  repeated,       ///< the first axis has stride 0: the content must be that of its first row
};
inline constexpr int kLayoutCount = 6;

struct ArraySpec {
  TensorType type;
  std::string bytes;  ///< row-major, native byte order
  Layout layout = Layout::dense;
};

/// What the values are for.
enum class Purpose : std::uint8_t {
  general,
  index,       ///< integers around [-bound, bound), some beyond
  small,       ///< integers in [0, bound)
  positive,    ///< definite matrices on the last two axes
  regular,     ///< matrices on the last two axes that are not singular, their triangles neither
  flags,       ///< mostly 1, some 0
  codes,       ///< any bits of integers
  exponent,    ///< uint8 scales of the microscaling modes that are neither huge nor tiny
  magnitudes,  ///< above 0
};

struct Values {
  Purpose purpose = Purpose::general;
  std::int64_t bound = 0;
  bool wild = false;  ///< infinities, NaN, extreme integers among them
};

ArraySpec random_array(Random& random, const TensorType& type, const Values& values);

/// All elements `value`, converted.
ArraySpec filled(const TensorType& type, double value);

mx::array make_array(const ArraySpec& spec);
/// Without regard to the layout. Calls no MLX operation, so that no thread starts.
mx::array make_dense(const ArraySpec& spec);

/// Row-major.
std::string bytes_of(const mx::array& x);
ArraySpec spec_of(const mx::array& x);

std::size_t element_total(const TensorType& type);
std::size_t byte_total(const TensorType& type);

/// Elements as complex numbers; meant for floating and complex dtypes, 64-bit integers are rounded.
std::vector<std::complex<double>> numbers(const TensorType& type, const std::string& bytes);

/// Puts a number, or the bits of an integer, at the end of `bytes`.
void append(std::string& bytes, DType dtype, std::complex<double> value);
void append_integer(std::string& bytes, DType dtype, std::uint64_t bits);

}  // namespace reprise::fuzz
