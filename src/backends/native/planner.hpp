// TypedProgram -> Plan.
#pragma once

#include <memory>

#include "backends/native/plan.hpp"
#include "program/infer.hpp"

namespace reprise::native {

/// Errors: what the MLX side says of the instructions that are left to it.
Result<std::unique_ptr<const Plan>> make_plan(std::shared_ptr<const TypedProgram> typed);

}  // namespace reprise::native
