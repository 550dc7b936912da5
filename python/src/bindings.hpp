// What the parts of the module offer each other.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "array.hpp"
#include "reprise/builder.hpp"
#include "reprise/program.hpp"

namespace reprise::python {

/// From reprise.TensorType, an array, or a pair (dtype, shape).
TensorType to_tensor_type(nb::handle object);
std::vector<TensorType> to_tensor_types(nb::handle objects);
/// A tuple of integers: Python's and whatever has __index__.
std::vector<std::int64_t> to_integers(nb::handle object);

void bind_program(nb::module_& module);
void bind_builder(nb::module_& module);
void bind_executable(nb::module_& module);
void bind_ops(nb::module_& module);
void bind_text_model(nb::module_& module);

}  // namespace reprise::python
