// Ops that hold sub-programs.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

// Never called: inference handles sub-programs itself, since the rule needs more than operand types.
Result<Types> infer_control(const InferContext& context);

inline constexpr Operand kCarryOperands[] = {{"carry...*", "any", kAllDTypes}};

inline constexpr std::array kControlOps{
    OpDef{.name = "while",
          .family = "control",
          .summary = "Repeats a body while a condition holds.",
          .result = "Those of the operands, one result each.",
          .rule = "The operands are the initial carry, the results the final one. Sub-program cond maps the carry to "
                  "one value of one element, true when non-zero in its own dtype; "
                  "body maps the carry to the next one, slot by slot of unchanged shape and dtype. Sub-programs see "
                  "captures, constants, their own results and their own carry, nothing of the list outside.",
          .errors =
              "A condition of more than one element; a body that changes a slot's shape or dtype, or gives another "
              "number of slots; more turns than RunOptions::max_loop_turns allows.",
          .operands = kCarryOperands,
          .count_results = [](const void*, std::size_t operands) { return operands; },
          .infer = infer_plain<infer_control>,
          .traits = Trait::control},
};

}  // namespace reprise::ops
