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

inline constexpr Operand kA[] = {{"a", "(B, ..., T, D), rank 3 or more"}};
inline constexpr Operand kIds[] = {{"a", "(B, T, H, D), or of another rank from 3 on"},
                                   {"positions", "(B, T)", kReals}};
inline constexpr Operand kIdsFreqs[] = {{"a", "(B, T, H, D), or of another rank from 3 on"},
                                        {"positions", "(B, T)", kReals},
                                        {"freqs", "(dims / 2)", kFloats}};
inline constexpr Operand kPositions[] = {{"a", "(B, T, H, D)"}, {"positions", "(B, T)", kReals}};
inline constexpr Operand kPositionsFreqs[] = {
    {"a", "(B, T, H, D)"}, {"positions", "(B, T)", kReals}, {"freqs", "(dims / 2)", kFloats}};
inline constexpr std::string_view kErrors =
    "Ranks and shapes that do not fit; dims odd or larger than the last axis; a base that is not positive and finite.";
inline constexpr std::string_view kIdsErrors =
    "As fast_rope; traditional with more than one head; positions that are no integers for a of another rank than 4.";
inline constexpr std::string_view kPositionsErrors = "As fast_rope; traditional.";
// Measured on the CPU for positions up to 60: 27 in float32, 1.4 in 16 bits. GPU kernels round angles otherwise.
inline constexpr Tolerance kTolerance =
    Tolerance(
        168, 0,
        "angles are float32 products of positions and frequencies: positions of thousands add their own rounding, "
        "position * 2^-23")
        .halves(4)
        .near_one()
        .in_float32();

consteval OpDef row(std::string_view name, std::string_view summary, std::string_view rule, std::string_view errors,
                    std::span<const Operand> operands, const Schema* attrs, InferFn infer) {
  return {.name = name,
          .family = "rope",
          .summary = summary,
          .result = "Shape and dtype of a.",
          .rule = rule,
          .errors = errors,
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
        "Time is the second-to-last axis, the position of step t is offset + t. Feature pairs are (i, i + dims/2), or "
        "(2i, 2i + 1) when traditional; pair i, (u, v), turns by scale * position * base^(-2i/dims) to (u cos - v sin, "
        "u sin + v cos). Features from dims on stay.",
        rope::kErrors, rope::kA, &kRopeSchema, infer_as<RopeAttrs, infer_rope>),
    rope::row(
        "fast_rope_ids", "Rotates features by given positions.",
        "Each token turns by its own position, as in fast_rope_positions. For a of another rank than 4, time is the "
        "second-to-last axis and step t of batch row b has position positions[b, 0] + t.",
        rope::kIdsErrors, rope::kIds, &kRopeIdsSchema, infer_as<RopeAttrs, infer_rope_ids>),
    rope::row("fast_rope_with_freqs", "Rotates features by given positions and frequencies.",
              "As fast_rope_ids; pair i turns by scale * position / freqs[i].", rope::kIdsErrors, rope::kIdsFreqs,
              &kRopeFreqsSchema, infer_as<RopeAttrs, infer_rope_ids>),
    rope::row("fast_rope_positions", "Rotates features by a position for each token.",
              "As fast_rope with traditional = false, but token t of batch row b has position positions[b, t].",
              rope::kPositionsErrors, rope::kPositions, &kRopeIdsSchema, infer_as<RopeAttrs, infer_rope_positions>),
    rope::row("fast_rope_with_freqs_positions", "Rotates features by a position for each token and given frequencies.",
              "As fast_rope_positions; pair i turns by scale * position / freqs[i].", rope::kPositionsErrors,
              rope::kPositionsFreqs, &kRopeFreqsSchema, infer_as<RopeAttrs, infer_rope_positions>),
};

}  // namespace reprise::ops
