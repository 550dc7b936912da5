#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/floats.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "backends/native/kernels/floats.hpp"
#include "backends/native/kernels/floats.inl.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {

void load_part(const void* from, DType type, float* to, std::int64_t n) { load_floats(from, type, to, n); }
void store_part(const float* from, DType type, void* to, std::int64_t n) { store_floats(from, type, to, n); }

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(load_part);
HWY_EXPORT(store_part);

}  // namespace

void to_floats(const void* from, DType type, float* to, std::int64_t n, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(load_part);
  const auto width = static_cast<std::int64_t>(size_of(type));
  parallel_for(threads, n, kParallelGrain, [&](std::int64_t begin, std::int64_t end) {
    part(static_cast<const char*>(from) + begin * width, type, to + begin, end - begin);
  });
}

void from_floats(const float* from, DType type, void* to, std::int64_t n, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(store_part);
  const auto width = static_cast<std::int64_t>(size_of(type));
  parallel_for(threads, n, kParallelGrain, [&](std::int64_t begin, std::int64_t end) {
    part(from + begin, type, static_cast<char*>(to) + begin * width, end - begin);
  });
}

}  // namespace reprise::native
#endif
