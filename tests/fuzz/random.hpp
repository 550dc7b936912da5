// Random choices that are the same on every machine for the same seed.
//
//   Random random(seed, 17);  // the 17th stream of `seed`
//   if (random.percent(30)) x = random.pick(list);
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <utility>

namespace reprise::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
    engine_.seed(mixed);
  }

  std::uint64_t bits() { return engine_(); }

  /// From 0 to n - 1; 0 for n < 1.
  std::int64_t below(std::int64_t n) {
    return n < 1 ? 0 : static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool percent(int p) { return below(100) < p; }
  bool coin() { return below(2) == 0; }

  template <typename List>
  auto& pick(List& from) {
    return *(std::begin(from) + below(static_cast<std::int64_t>(std::size(from))));
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return *(from.begin() + below(static_cast<std::int64_t>(from.size())));
  }
  template <typename List>
  void shuffle(List& list) {
    for (auto i = static_cast<std::int64_t>(std::size(list)) - 1; i > 0; --i) {
      std::swap(*(std::begin(list) + i), *(std::begin(list) + below(i + 1)));
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace reprise::fuzz
