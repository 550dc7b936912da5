#include "backends/native/isa.hpp"

#include <hwy/targets.h>

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/format.hpp"

namespace reprise::native {
namespace {

Status apply() {
  constexpr const char* kName = "REPRISE_ISA";
  const char* value = std::getenv(kName);  // NOLINT(concurrency-mt-unsafe): nothing here sets the environment
  if (!value || !*value) return {};
  const std::string_view name(value);
  constexpr std::int64_t kAvx512 = HWY_AVX3 | HWY_AVX3_DL;
  if (name == "avx512") {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::isa_default);
  } else if (name == "avx2") {
    hwy::DisableTargets(kAvx512);
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  } else if (name == "sse2") {
    hwy::DisableTargets(kAvx512 | HWY_AVX2 | HWY_SSE4 | HWY_SSSE3);
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
  } else {
    return make_error(ErrorCode::invalid_argument, "environment variable {} is '{}'; wanted sse2, avx2 or avx512",
                      kName, name.substr(0, 64));
  }
  return {};
}

}  // namespace

Status apply_isa_limit() {
  static const Status status = apply();
  return status;
}

}  // namespace reprise::native
