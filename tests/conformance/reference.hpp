// What the tests share that compare fused kernels with plain loops in double precision.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "conformance/case_run.hpp"
#include "movement/movement.hpp"
#include "reprise/builder.hpp"

namespace reprise::conformance {

using mlx::core::array;

/// A dense array and its elements; they are equal, since values are rounded to the dtype first.
struct Tensor {
  Shape shape;
  std::vector<double> values;
  array data;

  double operator()(const Shape& index) const { return values[movement::position(index, shape)]; }
  DType dtype() const { return type_of(data).dtype; }
};

/// From values, and pseudo-random ones in [low, high).
Tensor tensor(const Shape& shape, const std::vector<double>& values, DType d);
Tensor random_tensor(const Shape& shape, DType d, unsigned seed, double low = -1, double high = 1);

/// Runs one instruction on the device of the running test; its results. The operands come in the `layout`-th layout
/// that they have.
std::vector<array> run_op(std::string_view name, const Builder::Attrs& attrs, const std::vector<Tensor>& operands,
                          std::size_t layout = 0);

/// Dtype, shape and values in row-major order, to within the op's tolerance. `extra` is for operands whose rounding the
/// tolerance's reason names: it is added, relative to the greater of 1 and the value.
testing::AssertionResult agrees(std::string_view op, const array& seen, DType d, const Shape& shape,
                                const std::vector<double>& wanted, double extra = 0);
testing::AssertionResult agrees(std::string_view op, const array& seen, DType d, const Shape& shape,
                                const std::function<double(const Shape& index)>& wanted, double extra = 0);

/// The floating dtypes that the device of the running test has.
std::vector<DType> floats();

}  // namespace reprise::conformance
