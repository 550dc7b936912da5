// All rows. The families are joined here and nowhere else.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/op_def.hpp"

namespace reprise::ops {

/// The row of the op called `name`, or null.
const OpDef* find_def(std::string_view name);

/// "; did you mean 'sum'?" for a mistyped name; empty when no op is near.
std::string nearest_name(std::string_view name);

/// All rows, family by family.
std::span<const OpDef* const> all_defs();

}  // namespace reprise::ops
