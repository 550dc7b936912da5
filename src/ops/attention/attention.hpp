// Scaled dot-product attention, alone and with a key/value cache.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct ScaleAttrs {
  double scale = 1;
  bool operator==(const ScaleAttrs&) const = default;
};
inline constexpr Field kScaleFields[] = {real<&ScaleAttrs::scale>("scale", "multiplies the scores")};
inline constexpr Schema kScaleSchema = schema<ScaleAttrs>(kScaleFields);

struct KeyMaskedAttrs {
  double scale = 1;
  std::int64_t kv_offset = 0;
  bool operator==(const KeyMaskedAttrs&) const = default;
};
inline constexpr Field kKeyMaskedFields[] = {
    real<&KeyMaskedAttrs::scale>("scale", "multiplies the scores"),
    integer<&KeyMaskedAttrs::kv_offset>("kv_offset", "query i sees keys j <= i + kv_offset")};
inline constexpr Schema kKeyMaskedSchema = schema<KeyMaskedAttrs>(kKeyMaskedFields);
inline constexpr Field kCacheFields[] = {
    real<&KeyMaskedAttrs::scale>("scale", "multiplies the scores"),
    integer<&KeyMaskedAttrs::kv_offset>(
        "kv_offset", "query i sees keys j <= i + kv_offset; -1: keys j <= start + i, the rows written so far",
        {.min = -1})};
inline constexpr Schema kCacheSchema = schema<KeyMaskedAttrs>(kCacheFields);

/// What follows q, k, v in the operand list.
enum class SdpaExtras : std::uint8_t { none, sinks, mask, mask_sinks };

Result<Types> infer_sdpa(const InferContext& context, SdpaExtras extras);
Result<Types> infer_sdpa_key_masked(const InferContext& context, bool sinks);
Result<Types> infer_kv_cache_sdpa_update(const InferContext& context, const KeyMaskedAttrs& attrs);

namespace attention {

inline constexpr Tolerance kTolerance{256, 1e-5, "two contractions and a softmax, in float32"};
inline constexpr std::string_view kQkv[] = {"q", "k", "v"};
inline constexpr std::string_view kQkvSinks[] = {"q", "k", "v", "sinks"};
inline constexpr std::string_view kQkvMask[] = {"q", "k", "v", "mask"};
inline constexpr std::string_view kQkvMaskSinks[] = {"q", "k", "v", "mask", "sinks"};
inline constexpr std::string_view kQkvKeyMask[] = {"q", "k", "v", "key_mask"};
inline constexpr std::string_view kQkvKeyMaskSinks[] = {"q", "k", "v", "key_mask", "sinks"};
inline constexpr std::string_view kCache[] = {"q", "new_k", "new_v", "k_cache", "v_cache", "offset", "key_mask"};

template <SdpaExtras E>
Result<Types> infer_plain_sdpa(const InferContext& context) {
  return infer_sdpa(context, E);
}
template <bool Sinks>
Result<Types> infer_key_masked(const InferContext& context) {
  return infer_sdpa_key_masked(context, Sinks);
}

inline constexpr std::string_view kRule =
    "q is (B, Nq, Tq, D), k (B, Nkv, Tkv, D), v (B, Nkv, Tkv, Dv); the result is (B, Nq, Tq, Dv) of their promoted, "
    "floating dtype. Nq is a multiple of Nkv: head h uses key/value head h / (Nq / Nkv). Softmax in float32. sinks "
    "(Nq) "
    "joins each head's denominator. A query that sees no key gives 0. ";

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule,
                    std::span<const std::string_view> operands, const Schema* attrs, InferFn infer) {
  return {.name = name,
          .family = "attention",
          .summary = summary,
          .rule = rule,
          .operands = operands,
          .attrs = attrs,
          .dtypes = kReals,
          .checked = 3,
          .infer = infer,
          .tolerance = kTolerance};
}

}  // namespace attention

inline constexpr std::array kAttentionOps{
    attention::row("fast_sdpa", "softmax(scale * q * k^T) * v.", attention::kRule, attention::kQkv, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::none>>),
    attention::row("fast_sdpa_sinks", "Attention with one extra logit a head in the denominator.", attention::kRule,
                   attention::kQkvSinks, &kScaleSchema, infer_plain<attention::infer_plain_sdpa<SdpaExtras::sinks>>),
    attention::row("fast_sdpa_masked",
                   "Attention with a mask: bool hides where false, other dtypes are added to scores.",
                   "mask broadcasts to (B, Nq, Tq, Tkv); a floating one promotes to the dtype of the result.",
                   attention::kQkvMask, &kScaleSchema, infer_plain<attention::infer_plain_sdpa<SdpaExtras::mask>>),
    attention::row("fast_sdpa_masked_sinks", "Attention with a mask and sinks.",
                   "mask broadcasts to (B, Nq, Tq, Tkv); a floating one promotes to the dtype of the result.",
                   attention::kQkvMaskSinks, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::mask_sinks>>),
    attention::row("fast_sdpa_causal", "Attention to keys up to the query's own place.",
                   "Query i sees keys j <= i + (Tkv - Tq): aligned to the end.", attention::kQkv, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::none>>),
    attention::row("fast_sdpa_causal_sinks", "Causal attention with sinks.",
                   "Query i sees keys j <= i + (Tkv - Tq): aligned to the end.", attention::kQkvSinks, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::sinks>>),
    attention::row("fast_sdpa_causal_key_masked", "Causal attention to keys that a mask allows.",
                   "Query i sees keys j <= i + kv_offset with key_mask[b, j] non-zero; key_mask is (B, Tkv).",
                   attention::kQkvKeyMask, &kKeyMaskedSchema, infer_plain<attention::infer_key_masked<false>>),
    attention::row("fast_sdpa_causal_key_masked_sinks", "Causal attention to keys that a mask allows, with sinks.",
                   "Query i sees keys j <= i + kv_offset with key_mask[b, j] non-zero; key_mask is (B, Tkv).",
                   attention::kQkvKeyMaskSinks, &kKeyMaskedSchema, infer_plain<attention::infer_key_masked<true>>),
    OpDef{.name = "kv_cache_sdpa_update",
          .family = "attention",
          .summary = "Writes new keys and values into caches and attends over them.",
          .rule =
              "q is (B, Tq, Nq, D), new_k and new_v (B, Tq, Nkv, D), the caches (B, Tmax, Nkv, D), offset one integer, "
              "key_mask (B, Tmax). Rows start .. start + Tq of the caches are replaced, start being offset clamped to "
              "[0, Tmax - Tq]; then query i sees keys j <= i + kv_offset (kv_offset -1: j <= start + i) with "
              "key_mask[b, j] non-zero; one that sees none gives 0. Results: attention (B, Nq, Tq, D), heads first, "
              "and both caches, updated in place when nobody else holds them.",
          .operands = attention::kCache,
          .attrs = &kCacheSchema,
          .results = 3,
          .dtypes = kFloats,
          .checked = 3,
          .infer = infer_as<KeyMaskedAttrs, infer_kv_cache_sdpa_update>,
          .tolerance = attention::kTolerance},
};

}  // namespace reprise::ops
