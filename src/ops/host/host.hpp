// Calls back into the host.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct RuntimeCallAttrs {
  std::int64_t callback = 0;
  std::vector<TensorType> results;
  bool operator==(const RuntimeCallAttrs&) const = default;
};
inline constexpr Field kRuntimeCallFields[] = {
    integer<&RuntimeCallAttrs::callback>("callback", "the number that the host's callback is given"),
    types<&RuntimeCallAttrs::results>("results", "dtype and shape of each result")};
inline constexpr Schema kRuntimeCallSchema = schema<RuntimeCallAttrs>(kRuntimeCallFields);

Result<Types> infer_runtime_call(const InferContext& context, const RuntimeCallAttrs& attrs);
std::size_t count_runtime_call_results(const void* attrs, std::size_t operands);

inline constexpr Operand kHostOperands[] = {{"x...*", "any", kAllDTypes}};

inline constexpr std::array kHostOps{
    OpDef{.name = "runtime_call",
          .family = "host",
          .summary = "Hands its operands to the host's callback and takes its results.",
          .result = "As attribute `results` declares them, in number, shapes and dtypes.",
          .rule =
              "Any number of operands, none included. The callback gets its number and the operands, dense and "
              "row-major, and gives one array for each declared result. It fires once for each evaluation of the "
              "instruction, in order along data dependencies, never while compiling; a call that no output depends on "
              "never fires. Two equal calls fire twice.",
          .errors = "No host (RunOptions::host) when the call is met; a host that fails, throws, or gives other arrays "
                    "than declared.",
          .operands = kHostOperands,
          .attrs = &kRuntimeCallSchema,
          .count_results = count_runtime_call_results,
          .infer = infer_as<RuntimeCallAttrs, infer_runtime_call>,
          .traits = Trait::host | Trait::side_effect},
};

}  // namespace reprise::ops
