// Rotary position embedding.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

/// Shared by the five variants; each row's schema names the fields that it has.
struct RopeAttrs {
  std::int64_t dims = 0;
  bool traditional = false;
  double base = 10000;
  double scale = 1;
  std::int64_t offset = 0;
  bool operator==(const RopeAttrs&) const = default;
};

namespace rope {
inline constexpr Field kDims =
    integer<&RopeAttrs::dims>("dims", "how many leading features to rotate; even, at most the last axis", kNonNegative);
inline constexpr Field kTraditional = flag<&RopeAttrs::traditional>("traditional", "pair neighbours instead of halves");
inline constexpr Field kBase = real<&RopeAttrs::base>("base", "base of the frequencies");
inline constexpr Field kScale = real<&RopeAttrs::scale>("scale", "multiplies the positions");
inline constexpr Field kOffset = integer<&RopeAttrs::offset>("offset", "position of the first step", kAnyInt32, 0);
}  // namespace rope

inline constexpr Field kRopeFields[] = {rope::kDims, rope::kTraditional, rope::kBase, rope::kScale, rope::kOffset};
inline constexpr Schema kRopeSchema = schema<RopeAttrs>(kRopeFields);
inline constexpr Field kRopeIdsFields[] = {rope::kDims, rope::kTraditional, rope::kBase, rope::kScale};
inline constexpr Schema kRopeIdsSchema = schema<RopeAttrs>(kRopeIdsFields);
inline constexpr Field kRopeFreqsFields[] = {rope::kDims, rope::kTraditional, rope::kScale};
inline constexpr Schema kRopeFreqsSchema = schema<RopeAttrs>(kRopeFreqsFields);

Result<Types> infer_rope(const InferContext& context, const RopeAttrs& attrs);
Result<Types> infer_rope_ids(const InferContext& context, const RopeAttrs& attrs);
Result<Types> infer_rope_positions(const InferContext& context, const RopeAttrs& attrs);

namespace rope {

inline constexpr std::string_view kA[] = {"a"};
inline constexpr std::string_view kAPos[] = {"a", "positions"};
inline constexpr std::string_view kAPosFreqs[] = {"a", "positions", "freqs"};
inline constexpr Tolerance kTolerance{
    64, 2e-5, "angles are float32 products of positions and frequencies, whose rounding grows with the position"};

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule,
                    std::span<const std::string_view> operands, const Schema* attrs, InferFn infer) {
  return {.name = name,
          .family = "rope",
          .summary = summary,
          .rule = rule,
          .operands = operands,
          .attrs = attrs,
          .dtypes = kFloats,
          .infer = infer,
          .tolerance = kTolerance};
}

}  // namespace rope

inline constexpr std::array kRopeOps{
    rope::row(
        "fast_rope", "Rotates features by consecutive positions.",
        "a is (B, ..., T, D): time is the second-to-last axis, the position of step t is offset + t. Feature pairs "
        "are (i, i + dims/2), or (2i, 2i + 1) when traditional; pair i turns by scale * position * "
        "base^(-2i/dims). Shape and dtype of a.",
        rope::kA, &kRopeSchema, infer_as<RopeAttrs, infer_rope>),
    rope::row(
        "fast_rope_ids", "Rotates features by given positions.",
        "a is (B, T, H, D) and positions (B, T): each token turns by its own position, as fast_rope_positions. For "
        "a of another rank, time is the second-to-last axis and step t of batch row b has position "
        "positions[b, 0] + t.",
        rope::kAPos, &kRopeIdsSchema, infer_as<RopeAttrs, infer_rope_ids>),
    rope::row("fast_rope_with_freqs", "Rotates features by given positions and frequencies.",
              "As fast_rope_ids; pair i turns by scale * position / freqs[i].", rope::kAPosFreqs, &kRopeFreqsSchema,
              infer_as<RopeAttrs, infer_rope_ids>),
    rope::row("fast_rope_positions", "Rotates features by a position for each token.",
              "a is (B, T, H, D), positions (B, T) of any real dtype; not traditional.", rope::kAPos, &kRopeIdsSchema,
              infer_as<RopeAttrs, infer_rope_positions>),
    rope::row("fast_rope_with_freqs_positions", "Rotates features by a position for each token and given frequencies.",
              "As fast_rope_positions; pair i turns by scale * position / freqs[i].", rope::kAPosFreqs,
              &kRopeFreqsSchema, infer_as<RopeAttrs, infer_rope_positions>),
};

}  // namespace reprise::ops
