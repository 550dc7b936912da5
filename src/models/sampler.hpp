// Picks the next token from a model's logits.
//
//   REPRISE_ASSIGN(Sampler sampler, Sampler::make({.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .seed = 7}));
//   REPRISE_ASSIGN(const std::int32_t id, sampler.sample(logits));
//
// The logits are divided by the temperature; then the top_k best stay; then, best first, as many as together reach the
// share top_p of what is left (the order of Hugging Face). Equal logits rank by index. The generator is our own, so the
// same seed draws the same numbers on every platform; only a last-bit difference of exp() could still tell two apart.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reprise/status.hpp"

namespace reprise {

struct SamplerOptions {
  float temperature = 0.0f;  ///< 0: always the best token, whatever the rest says
  std::int32_t top_k = 0;    ///< 0: off
  float top_p = 1.0f;        ///< 1: off; 0: only the best
  std::uint64_t seed = 0;
};

/// xoshiro256** by Blackman and Vigna, seeded by splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();

 private:
  std::array<std::uint64_t, 4> state_;
};

class Sampler {
 public:
  static Result<Sampler> make(SamplerOptions options);

  /// The index of the chosen logit. A logit of -inf is never chosen, one of +inf rules out the finite ones. NaN, or
  /// nothing to choose from, is an error. Allocates only in the first call, or if there are more logits than before.
  Result<std::int32_t> sample(std::span<const float> logits);

  const SamplerOptions& options() const { return options_; }

 private:
  struct Candidate {
    float logit;
    std::int32_t index;
    double weight;
  };

  explicit Sampler(SamplerOptions options) : options_(options), random_(options.seed) {}

  std::span<Candidate> keep_top_k();
  std::span<Candidate> keep_top_p(std::span<Candidate> candidates);
  std::int32_t draw(std::span<const Candidate> candidates);

  SamplerOptions options_;
  Random random_;
  std::vector<Candidate> candidates_;
};

}  // namespace reprise
