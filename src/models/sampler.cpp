#include "models/sampler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/format.hpp"

namespace reprise {

Random::Random(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15u;
    word = seed;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    word ^= word >> 31;
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Result<Sampler> Sampler::make(SamplerOptions options) {
  if (!(options.temperature >= 0.0f) || std::isinf(options.temperature)) {
    return make_error(ErrorCode::invalid_argument, "sampler: temperature is {}, a finite number from 0 up is wanted",
                      options.temperature);
  }
  if (options.top_k < 0) {
    return make_error(ErrorCode::invalid_argument, "sampler: top_k is {}, 0 (off) or more is wanted", options.top_k);
  }
  if (!(options.top_p >= 0.0f && options.top_p <= 1.0f)) {
    return make_error(ErrorCode::invalid_argument, "sampler: top_p is {}, 0 to 1 (off) is wanted", options.top_p);
  }
  return Sampler(options);
}

namespace {

// A total order, so that what is kept does not depend on the library's algorithms.
constexpr auto kBetter = [](const auto& a, const auto& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.index < b.index;
};

}  // namespace

std::span<Sampler::Candidate> Sampler::keep_top_k() {
  const std::span<Candidate> all(candidates_);
  const auto k = static_cast<std::size_t>(options_.top_k);
  if (k == 0 || k >= all.size()) return all;
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(all.begin(), end, all.end(), kBetter);
  // nth_element leaves the kept ones in an order of its own.
  std::sort(all.begin(), end, kBetter);
  return all.first(k);
}

std::span<Sampler::Candidate> Sampler::keep_top_p(std::span<Candidate> candidates) {
  if (options_.top_p >= 1.0f) return candidates;
  double total = 0;
  for (const Candidate& c : candidates) total += c.weight;
  const double wanted = total * static_cast<double>(options_.top_p);
  // Usually a few tokens hold most of the weight: a heap gives them without sorting the whole vocabulary.
  const auto worse = [](const Candidate& a, const Candidate& b) { return kBetter(b, a); };
  std::make_heap(candidates.begin(), candidates.end(), worse);
  auto heap_end = candidates.end();
  double sum = 0;
  do {
    std::pop_heap(candidates.begin(), heap_end, worse);
    --heap_end;
    sum += heap_end->weight;
  } while (sum < wanted && heap_end != candidates.begin());
  return {heap_end, candidates.end()};
}

std::int32_t Sampler::draw(std::span<const Candidate> candidates) {
  double total = 0;
  for (const Candidate& c : candidates) total += c.weight;
  double left = random_.uniform() * total;
  // Rounding can leave a crumb at the end: then the last one with any weight is it.
  std::int32_t chosen = -1;
  for (const Candidate& c : candidates) {
    if (c.weight == 0) continue;
    chosen = c.index;
    left -= c.weight;
    if (left < 0) break;
  }
  return chosen;
}

Result<std::int32_t> Sampler::sample(std::span<const float> logits) {
  if (logits.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return make_error(ErrorCode::limit, "sampler: {} logits, at most 2147483647 are taken", logits.size());
  }
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return make_error(ErrorCode::invalid_argument, "sampler: logit {} is NaN", i);
    if (logits[i] > logits[best]) best = i;
  }
  if (logits.empty() || logits[best] == -std::numeric_limits<float>::infinity()) {
    return make_error(ErrorCode::invalid_argument, "sampler: none of {} logits is above -inf, one at least is wanted",
                      logits.size());
  }
  if (options_.temperature == 0.0f) return static_cast<std::int32_t>(best);
  candidates_.clear();
  candidates_.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) candidates_.push_back({logits[i], static_cast<std::int32_t>(i), 0});
  const std::span<Candidate> kept = keep_top_k();
  const double scale = 1.0 / static_cast<double>(options_.temperature);
  for (Candidate& c : kept) {
    // The best weighs 1 without a subtraction, which for +inf would give NaN.
    const double below = static_cast<double>(c.logit) - static_cast<double>(logits[best]);
    c.weight = c.logit == logits[best] ? 1.0 : std::exp(below * scale);
  }
  return draw(keep_top_p(kept));
}

}  // namespace reprise
