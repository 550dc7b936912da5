// How many results an instruction has, as far as it says so itself. The text form and the builder number results by it.
//
//   count_results(ops::find_def("qr"), {}, 1);  // 2
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "ops/op_def.hpp"

namespace reprise {

/// Nothing when the op is unknown (null), or when the number depends on attributes or operands that do not fit the row.
std::optional<std::size_t> count_results(const ops::OpDef* op, std::span<const Attr> attrs, std::size_t operands);

}  // namespace reprise
