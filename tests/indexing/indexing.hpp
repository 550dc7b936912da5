// What the tests of gather, scatter, sort, window and scan share: operands in many layouts and exact arithmetic.
#pragma once

#include <random>

#include "movement/movement.hpp"

namespace reprise::movement {

/// The layouts of `dense`, and one with its first block along the first axis repeated in no memory of its own.
std::vector<array> operands_like(const array& dense);

/// Brings an integer to what `d` holds, modulo 2^bits; bool is anything but 0. Others stay.
Num wrapped(Num n, DType d);

Num plus(const Num& a, const Num& b, DType d);
Num times(const Num& a, const Num& b, DType d);
/// NaN if either is, else the greater (lesser).
Num extreme(const Num& a, const Num& b, bool greatest);

/// What `function` makes of each case of a fixed sequence of random numbers; a failure tells the seed.
template <typename F>
void with_seeds(unsigned n, F function) {
  for (unsigned seed = 1; seed <= n; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    function(random);
  }
}

inline std::int64_t pick(std::mt19937& random, std::int64_t low, std::int64_t high) {
  // Not std::uniform_int_distribution, whose numbers differ between libraries.
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// An extent of up to 1, or of up to `high` at random.
inline Shape pick_shape(std::mt19937& random, std::int64_t rank, std::int64_t low, std::int64_t high) {
  Shape shape;
  for (std::int64_t a = 0; a < rank; ++a) shape.push_back(pick(random, low, high));
  return shape;
}

inline DType pick_dtype(std::mt19937& random) { return kEveryDType[random() % std::size(kEveryDType)]; }

inline double epsilon(DType d) {
  switch (d) {
    case float16: return 0x1p-10;
    case bfloat16: return 0x1p-7;
    case float32:
    case complex64: return 0x1p-23;
    case float64: return 0x1p-52;
    default: return 0;
  }
}

inline mx::Stream cpu_stream() { return mx::default_stream(mx::Device::cpu); }

}  // namespace reprise::movement
