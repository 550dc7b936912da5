#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/rope.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/native/kernels/floats.inl.hpp"
#include "backends/native/kernels/rope.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's sine and cosine lose their precision beyond about 39000.
constexpr float kMaxAngle = 30000;

void table_part(const float* positions, const float* turns, std::int64_t half, float scale, float* table,
                std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t p = begin; p < end; ++p) {
    const float position = scale * positions[p];
    float* cosines = table + p * 2 * half;
    float* sines = cosines + half;
    std::int64_t i = 0;
    for (; i + n <= half; i += n) {
      const auto angle = hn::Mul(hn::Set(d, position), hn::LoadU(d, turns + i));
      if (!hn::AllTrue(d, hn::Lt(hn::Abs(angle), hn::Set(d, kMaxAngle)))) break;
      hn::StoreU(hn::Cos(d, angle), d, cosines + i);
      hn::StoreU(hn::Sin(d, angle), d, sines + i);
    }
    for (; i < half; ++i) {
      const float angle = position * turns[i];
      cosines[i] = std::cos(angle);
      sines[i] = std::sin(angle);
    }
  }
}

void rotate_rows(const Rotation& r, std::int64_t begin, std::int64_t end) {
  thread_local std::vector<float> from, to;
  const bool direct = r.type == DType::float32;
  if (!direct && from.size() < static_cast<std::size_t>(r.width)) {
    from.resize(static_cast<std::size_t>(r.width));
    to.resize(static_cast<std::size_t>(r.width));
  }
  const std::int64_t half = r.dims / 2;
  const auto bytes = static_cast<std::int64_t>(size_of(r.type));
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t turn = row / r.inner;
    const std::int64_t entry = turn % r.period + turn / r.period / r.outer * r.period;
    const float* HWY_RESTRICT cosines = r.table + entry * r.dims;
    const float* HWY_RESTRICT sines = cosines + half;
    const char* source = static_cast<const char*>(r.x) + row * r.width * bytes;
    char* target = static_cast<char*>(r.out) + row * r.width * bytes;
    if (!direct) load_floats(source, r.type, from.data(), r.width);
    const float* HWY_RESTRICT x = direct ? reinterpret_cast<const float*>(source) : from.data();
    float* HWY_RESTRICT y = direct ? reinterpret_cast<float*>(target) : to.data();
    if (r.neighbours) {
      for (std::int64_t i = 0; i < half; ++i) {
        y[2 * i] = x[2 * i] * cosines[i] - x[2 * i + 1] * sines[i];
        y[2 * i + 1] = x[2 * i] * sines[i] + x[2 * i + 1] * cosines[i];
      }
    } else {
      for (std::int64_t i = 0; i < half; ++i) {
        y[i] = x[i] * cosines[i] - x[half + i] * sines[i];
        y[half + i] = x[i] * sines[i] + x[half + i] * cosines[i];
      }
    }
    std::copy(x + r.dims, x + r.width, y + r.dims);
    if (!direct) store_floats(to.data(), r.type, target, r.width);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(table_part);
HWY_EXPORT(rotate_rows);

}  // namespace

void rotation_table(const float* positions, std::int64_t count, const float* turns, std::int64_t half, float scale,
                    float* table, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(table_part);
  parallel_for(threads, count, std::max<std::int64_t>(1, kParallelGrain / 16 / std::max<std::int64_t>(1, half)),
               [&](std::int64_t begin, std::int64_t end) { part(positions, turns, half, scale, table, begin, end); });
}

void rotate(const Rotation& r, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(rotate_rows);
  parallel_for(threads, r.rows, std::max<std::int64_t>(1, kParallelGrain / r.width),
               [&](std::int64_t begin, std::int64_t end) { part(r, begin, end); });
}

}  // namespace reprise::native
#endif
