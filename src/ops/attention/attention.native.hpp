// Native planners of attention.
#pragma once

#include <array>

#include "backends/native/native.hpp"
#include "ops/attention/attention.hpp"

namespace reprise::native {

/// What a row's name says.
enum class Masking : std::uint8_t { none, array, causal };

Decision plan_sdpa(OpPlanner& op, const ops::ScaleAttrs& attrs, Masking masking);
template <Masking M>
Decision plan_sdpa_as(OpPlanner& op, const ops::ScaleAttrs& attrs) {
  return plan_sdpa(op, attrs, M);
}
Decision plan_sdpa_key_masked(OpPlanner& op, const ops::KeyMaskedAttrs& attrs);
Decision plan_kv_cache_sdpa_update(OpPlanner& op, const ops::KeyMaskedAttrs& attrs);

inline constexpr std::array kAttentionNatives{
    native<ops::ScaleAttrs, plan_sdpa_as<Masking::none>>("fast_sdpa"),
    native<ops::ScaleAttrs, plan_sdpa_as<Masking::none>>("fast_sdpa_sinks"),
    native<ops::ScaleAttrs, plan_sdpa_as<Masking::array>>("fast_sdpa_masked"),
    native<ops::ScaleAttrs, plan_sdpa_as<Masking::array>>("fast_sdpa_masked_sinks"),
    native<ops::ScaleAttrs, plan_sdpa_as<Masking::causal>>("fast_sdpa_causal"),
    native<ops::ScaleAttrs, plan_sdpa_as<Masking::causal>>("fast_sdpa_causal_sinks"),
    native<ops::KeyMaskedAttrs, plan_sdpa_key_masked>("fast_sdpa_causal_key_masked"),
    native<ops::KeyMaskedAttrs, plan_sdpa_key_masked>("fast_sdpa_causal_key_masked_sinks"),
    native<ops::KeyMaskedAttrs, plan_kv_cache_sdpa_update>("kv_cache_sdpa_update"),
};

}  // namespace reprise::native
