#pragma once

#include <array>

#include "backends/mlx/lowering.hpp"
#include "ops/attention/attention.hpp"

namespace reprise::mlx_backend {

enum class Masking : std::uint8_t { none, array, causal };

array lower_sdpa(const LowerContext& context, const ops::ScaleAttrs& attrs, Masking masking);
template <Masking M>
array lower_sdpa_as(const LowerContext& context, const ops::ScaleAttrs& attrs) {
  return lower_sdpa(context, attrs, M);
}
array lower_sdpa_key_masked(const LowerContext& context, const ops::KeyMaskedAttrs& attrs);
std::vector<array> lower_kv_cache_sdpa_update(const LowerContext& context, const ops::KeyMaskedAttrs& attrs);

inline constexpr std::array kAttentionLowerings{
    lowering<ops::ScaleAttrs, lower_sdpa_as<Masking::none>>("fast_sdpa"),
    lowering<ops::ScaleAttrs, lower_sdpa_as<Masking::none>>("fast_sdpa_sinks"),
    lowering<ops::ScaleAttrs, lower_sdpa_as<Masking::array>>("fast_sdpa_masked"),
    lowering<ops::ScaleAttrs, lower_sdpa_as<Masking::array>>("fast_sdpa_masked_sinks"),
    lowering<ops::ScaleAttrs, lower_sdpa_as<Masking::causal>>("fast_sdpa_causal"),
    lowering<ops::ScaleAttrs, lower_sdpa_as<Masking::causal>>("fast_sdpa_causal_sinks"),
    lowering<ops::KeyMaskedAttrs, lower_sdpa_key_masked>("fast_sdpa_causal_key_masked"),
    lowering<ops::KeyMaskedAttrs, lower_sdpa_key_masked>("fast_sdpa_causal_key_masked_sinks"),
    lowering<ops::KeyMaskedAttrs, lower_kv_cache_sdpa_update>("kv_cache_sdpa_update"),
};

}  // namespace reprise::mlx_backend
