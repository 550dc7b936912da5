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

// Measured on the CPU over the sizes of attention_test: 20 in float32, 3.1 in 16 bits. GPU kernels add up in other
// orders.
inline constexpr Tolerance kTolerance =
    Tolerance(336, 0, "two contractions and a softmax, in float32; scores are rounded to 16 bits before the softmax")
        .halves(8)
        .near_one()
        .in_float32();
inline constexpr Operand kQ{"q", "(B, Nq, Tq, D)"};
inline constexpr Operand kK{"k", "(B, Nkv, Tkv, D)"};
inline constexpr Operand kV{"v", "(B, Nkv, Tkv, Dv)"};
inline constexpr Operand kSinks{"sinks", "(Nq)"};
inline constexpr Operand kMask{"mask", "broadcasts to (B, Nq, Tq, Tkv)", kReals};
inline constexpr Operand kKeyMask{"key_mask", "(B, Tkv)", kReals};
inline constexpr Operand kQkv[] = {kQ, kK, kV};
inline constexpr Operand kQkvSinks[] = {kQ, kK, kV, kSinks};
inline constexpr Operand kQkvMask[] = {kQ, kK, kV, kMask};
inline constexpr Operand kQkvMaskSinks[] = {kQ, kK, kV, kMask, kSinks};
inline constexpr Operand kQkvKeyMask[] = {kQ, kK, kV, kKeyMask};
inline constexpr Operand kQkvKeyMaskSinks[] = {kQ, kK, kV, kKeyMask, kSinks};
inline constexpr Operand kCache[] = {{"q", "(B, Tq, Nq, D)"},          {"new_k", "(B, Tq, Nkv, D)"},
                                     {"new_v", "(B, Tq, Nkv, D)"},     {"k_cache", "(B, Tmax, Nkv, D)"},
                                     {"v_cache", "(B, Tmax, Nkv, D)"}, {"offset", "one element", kIntegers},
                                     {"key_mask", "(B, Tmax)", kReals}};

template <SdpaExtras E>
Result<Types> infer_plain_sdpa(const InferContext& context) {
  return infer_sdpa(context, E);
}
template <bool Sinks>
Result<Types> infer_key_masked(const InferContext& context) {
  return infer_sdpa_key_masked(context, Sinks);
}

inline constexpr std::string_view kRule =
    "Head h of q uses head h / (Nq / Nkv) of k and v. Softmax in float32. A query that sees no key gives 0.";
inline constexpr std::string_view kSinksRule =
    "As fast_sdpa; sinks[h] joins the softmax denominator of head h and contributes no value.";
inline constexpr std::string_view kMaskRule =
    "As fast_sdpa. A bool mask hides where it is false, one of another dtype is added to the scores, integers too.";
inline constexpr std::string_view kCausalRule =
    "As fast_sdpa; query i sees keys j <= i + (Tkv - Tq): aligned to the end.";
inline constexpr std::string_view kKeyMaskRule =
    "As fast_sdpa; query i of batch row b sees keys j <= i + kv_offset with key_mask[b, j] non-zero.";
inline constexpr std::string_view kErrors =
    "Shapes that do not fit each other; Nq no multiple of Nkv; a promoted dtype that is not floating.";
inline constexpr std::string_view kSinksErrors =
    "As fast_sdpa; sinks of another shape, or of a dtype that does not promote to that of the result.";
inline constexpr std::string_view kMaskErrors =
    "As fast_sdpa; a mask that does not broadcast, or a floating one that does not promote to the dtype of the result; "
    "the same for sinks.";
inline constexpr std::string_view kKeyMaskErrors =
    "As fast_sdpa; a key_mask of another shape; sinks as in fast_sdpa_sinks.";

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, std::string_view errors,
                    std::span<const Operand> operands, const Schema* attrs, InferFn infer) {
  return {.name = name,
          .family = "attention",
          .summary = summary,
          .result = "(B, Nq, Tq, Dv); promoted dtype of q, k and v.",
          .rule = rule,
          .errors = errors,
          .operands = operands,
          .attrs = attrs,
          .dtypes = kReals,
          .infer = infer,
          .tolerance = kTolerance};
}

}  // namespace attention

inline constexpr std::array kAttentionOps{
    attention::row("fast_sdpa", "softmax(scale * q * k^T) * v.", attention::kRule, attention::kErrors, attention::kQkv,
                   &kScaleSchema, infer_plain<attention::infer_plain_sdpa<SdpaExtras::none>>),
    attention::row("fast_sdpa_sinks", "Attention with one extra logit a head in the denominator.",
                   attention::kSinksRule, attention::kSinksErrors, attention::kQkvSinks, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::sinks>>),
    attention::row("fast_sdpa_masked", "Attention with a mask.", attention::kMaskRule, attention::kMaskErrors,
                   attention::kQkvMask, &kScaleSchema, infer_plain<attention::infer_plain_sdpa<SdpaExtras::mask>>),
    attention::row("fast_sdpa_masked_sinks", "Attention with a mask and sinks.",
                   "As fast_sdpa_masked, with the sinks of fast_sdpa_sinks.", attention::kMaskErrors,
                   attention::kQkvMaskSinks, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::mask_sinks>>),
    attention::row("fast_sdpa_causal", "Attention to keys up to the query's own place.", attention::kCausalRule,
                   attention::kErrors, attention::kQkv, &kScaleSchema,
                   infer_plain<attention::infer_plain_sdpa<SdpaExtras::none>>),
    attention::row("fast_sdpa_causal_sinks", "Causal attention with sinks.",
                   "As fast_sdpa_causal, with the sinks of fast_sdpa_sinks.", attention::kSinksErrors,
                   attention::kQkvSinks, &kScaleSchema, infer_plain<attention::infer_plain_sdpa<SdpaExtras::sinks>>),
    attention::row("fast_sdpa_causal_key_masked", "Causal attention to keys that a mask allows.",
                   attention::kKeyMaskRule, attention::kKeyMaskErrors, attention::kQkvKeyMask, &kKeyMaskedSchema,
                   infer_plain<attention::infer_key_masked<false>>),
    attention::row("fast_sdpa_causal_key_masked_sinks", "Causal attention to keys that a mask allows, with sinks.",
                   "As fast_sdpa_causal_key_masked, with the sinks of fast_sdpa_sinks.", attention::kKeyMaskErrors,
                   attention::kQkvKeyMaskSinks, &kKeyMaskedSchema, infer_plain<attention::infer_key_masked<true>>),
    OpDef{.name = "kv_cache_sdpa_update",
          .family = "attention",
          .summary = "Writes new keys and values into caches and attends over them.",
          .result =
              "Attention, heads first: (B, Nq, Tq, D) of the promoted dtype of q and the caches. Both caches: shape "
              "and dtype as they came.",
          .rule =
              "Rows start .. start + Tq of the caches are replaced, start being offset clamped to [0, Tmax - Tq]; new "
              "values are cast. Then query i sees keys j <= i + kv_offset (kv_offset -1: j <= start + i) with "
              "key_mask[b, j] non-zero; one that sees none gives 0. Heads and softmax as in fast_sdpa. The caches are "
              "updated in place when nobody else holds them.",
          .errors =
              "Shapes that do not fit each other; Nq no multiple of Nkv; more rows than the caches have; an offset "
              "of more than one element.",
          .operands = attention::kCache,
          .attrs = &kCacheSchema,
          .results = 3,
          .dtypes = kFloats,
          .infer = infer_as<KeyMaskedAttrs, infer_kv_cache_sdpa_update>,
          .tolerance = attention::kTolerance},
};

}  // namespace reprise::ops
