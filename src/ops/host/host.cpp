#include "ops/host/host.hpp"

namespace reprise::ops {

Result<Types> infer_runtime_call(const InferContext&, const RuntimeCallAttrs& attrs) { return attrs.results; }

std::size_t count_runtime_call_results(const void* attrs, std::size_t) {
  return static_cast<const RuntimeCallAttrs*>(attrs)->results.size();
}

}  // namespace reprise::ops
