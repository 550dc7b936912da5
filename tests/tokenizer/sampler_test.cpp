#include "models/sampler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

// Counts the allocations of the whole program, the library included. Inlined, GCC would take new and free for a
// mismatch.
static std::atomic<int> allocations{0};
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace reprise {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Logits = std::vector<float>;

std::vector<int> count(SamplerOptions options, const Logits& logits, int draws) {
  Sampler sampler = Sampler::make(options).value();
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(sampler.sample(logits).value())];
  return counts;
}

TEST(Sampler, B160TemperatureZeroIsTheBestToken) {
  Sampler sampler = Sampler::make({.temperature = 0}).value();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampler.sample(Logits{1, 3, 2}).value(), 1);
  EXPECT_EQ(sampler.sample(Logits{2, 5, 5, 1}).value(), 1);
  EXPECT_EQ(sampler.sample(Logits{-kInf, -3}).value(), 1);
  Sampler negative_zero = Sampler::make({.temperature = -0.0f}).value();
  EXPECT_EQ(negative_zero.sample(Logits{1, 3, 2}).value(), 1);
}

TEST(Sampler, B161TopKZeroIsOff) {
  for (const int n : count({.temperature = 1, .top_k = 0, .seed = 1}, {0, 0, 0, 0}, 4000)) EXPECT_NEAR(n, 1000, 120);
}

TEST(Sampler, FollowsTheLogits) {
  const Logits logits = {std::log(1.0f), std::log(2.0f), std::log(7.0f)};
  const auto plain = count({.temperature = 1, .seed = 2}, logits, 10000);
  EXPECT_NEAR(plain[0], 1000, 150);
  EXPECT_NEAR(plain[1], 2000, 200);
  const auto cool = count({.temperature = 0.5f, .seed = 2}, logits, 10000);  // 1 : 4 : 49
  EXPECT_NEAR(cool[1], 741, 130);
  EXPECT_EQ(count({.temperature = 1e-38f}, logits, 100)[2], 100);
}

TEST(Sampler, TopKKeepsTheBestByIndexAmongEquals) {
  const auto counts = count({.temperature = 1, .top_k = 2}, {1, 2, 1, 1}, 1000);
  EXPECT_GT(counts[0], 0);
  EXPECT_GT(counts[1], 0);
  EXPECT_EQ(counts[2] + counts[3], 0);
  EXPECT_EQ(count({.temperature = 1, .top_k = 1}, {1, 2, 1}, 100)[1], 100);
  EXPECT_GT(count({.temperature = 1, .top_k = 100}, {1, 2, 1}, 1000)[2], 0);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  const Logits logits = {std::log(0.1f), std::log(0.5f), std::log(0.3f), std::log(0.1f)};
  const auto counts = count({.temperature = 1, .top_p = 0.7f}, logits, 1000);
  EXPECT_EQ(counts[0] + counts[3], 0);
  EXPECT_NEAR(counts[1], 625, 60);
  EXPECT_EQ(count({.temperature = 1, .top_p = 0}, logits, 100)[1], 100);
  // Of the two best, renormalised to 0.625 and 0.375, the first reaches 0.6.
  EXPECT_EQ(count({.temperature = 1, .top_k = 2, .top_p = 0.6f}, logits, 100)[1], 100);
}

TEST(Sampler, InfiniteLogits) {
  EXPECT_EQ(count({.temperature = 1}, {-kInf, 0, -kInf}, 200)[1], 200);
  EXPECT_EQ(count({.temperature = 1, .top_k = 2, .top_p = 0.99f}, {-kInf, 0, -kInf}, 200)[1], 200);
  const auto sure = count({.temperature = 1}, {kInf, 3, kInf}, 1000);
  EXPECT_EQ(sure[1], 0);
  EXPECT_GT(sure[2], 0);
}

TEST(Sampler, RefusesLogitsWithoutAChoice) {
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler = Sampler::make({.temperature = temperature}).value();
    EXPECT_EQ(sampler.sample(Logits{1, kNan, 2}).error().message(), "sampler: logit 1 is NaN");
    EXPECT_FALSE(sampler.sample(Logits{kNan}).ok());
    EXPECT_EQ(sampler.sample(Logits{-kInf, -kInf}).error().message(),
              "sampler: none of 2 logits is above -inf, one at least is wanted");
    EXPECT_FALSE(sampler.sample({}).ok());
  }
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  for (const float t : {-0.1f, kNan, kInf, -kInf}) EXPECT_FALSE(Sampler::make({.temperature = t}).ok()) << t;
  for (const float p : {-0.1f, 1.1f, kNan, kInf}) EXPECT_FALSE(Sampler::make({.top_p = p}).ok()) << p;
  EXPECT_EQ(Sampler::make({.top_k = -1}).error().message(), "sampler: top_k is -1, 0 (off) or more is wanted");
  EXPECT_EQ(Sampler::make({.top_p = 1.5f}).error().message(), "sampler: top_p is 1.5, 0 to 1 (off) is wanted");
}

TEST(Sampler, OnlyTheFirstCallAllocates) {
  const Logits logits(5000, 0.5f);
  Sampler sampler = Sampler::make({.temperature = 1, .top_k = 700, .top_p = 0.9f}).value();
  EXPECT_TRUE(sampler.sample(logits).ok());
  const int before = allocations;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(sampler.sample(logits).ok());
  EXPECT_EQ(allocations - before, 0);
}

TEST(Sampler, TheSeedDecidesTheDraws) {
  const Logits logits(1000, 0.0f);
  const auto draw = [&](std::uint64_t seed) {
    Sampler sampler = Sampler::make({.temperature = 1, .top_k = 500, .top_p = 0.9f, .seed = seed}).value();
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(sampler.sample(logits).value());
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Random, IsTheSameOnEveryPlatform) {
  // The first outputs of xoshiro256** seeded by splitmix64 from 0, computed apart in Python.
  Random random(0);
  EXPECT_EQ(random.next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(random.next(), 0xbf6e1f784956452au);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    EXPECT_TRUE(u >= 0 && u < 1);
  }
}

}  // namespace
}  // namespace reprise
