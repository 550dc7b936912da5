#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/transpose.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "backends/native/kernels/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// Blocks of four words, `apart` from each other.
template <class D>
HWY_INLINE hn::Vec<D> blocks_at(D d, const std::uint32_t* at, std::int64_t apart) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, at);
  } else {
    const hn::Half<D> half;
    const std::int64_t blocks = static_cast<std::int64_t>(hn::MaxLanes(D())) / 8;
    return hn::Combine(d, blocks_at(half, at + blocks * apart, apart), blocks_at(half, at, apart));
  }
}
#endif

void transpose_part(const std::uint32_t* HWY_RESTRICT from, std::int64_t from_stride, std::uint32_t* HWY_RESTRICT to,
                    std::int64_t to_stride, std::int64_t r0, std::int64_t r1, std::int64_t columns) {
  std::int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  // Four rows of as many columns as a vector holds: each block of four lanes comes from four columns, of which each
  // gives four words that lie together.
  const hn::ScalableTag<std::uint32_t> d;
  const hn::RepartitionToWide<decltype(d)> dw;
  constexpr auto kWidth = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<std::uint32_t>()));
  const auto gather = [&](const std::uint32_t* at) { return blocks_at(d, at, 4 * from_stride); };
  for (; c + kWidth <= columns; c += kWidth) {
    const std::uint32_t* line = from + c * from_stride;
    std::int64_t r = r0;
    for (; r + 4 <= r1; r += 4) {
      const auto v0 = gather(line + r), v1 = gather(line + r + from_stride);
      const auto v2 = gather(line + r + 2 * from_stride), v3 = gather(line + r + 3 * from_stride);
      const auto a0 = hn::BitCast(dw, hn::InterleaveLower(d, v0, v1));
      const auto a1 = hn::BitCast(dw, hn::InterleaveUpper(d, v0, v1));
      const auto b0 = hn::BitCast(dw, hn::InterleaveLower(d, v2, v3));
      const auto b1 = hn::BitCast(dw, hn::InterleaveUpper(d, v2, v3));
      std::uint32_t* out = to + r * to_stride + c;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, a0, b0)), d, out);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, a0, b0)), d, out + to_stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, a1, b1)), d, out + 2 * to_stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, a1, b1)), d, out + 3 * to_stride);
    }
    for (; r < r1; ++r) {
      for (std::int64_t j = 0; j < kWidth; ++j) to[r * to_stride + c + j] = line[j * from_stride + r];
    }
  }
#endif
  constexpr std::int64_t kBlock = 32;
  for (; c < columns; c += kBlock) {
    const std::int64_t c1 = std::min(c + kBlock, columns);
    for (std::int64_t r = r0; r < r1; ++r) {
      for (std::int64_t j = c; j < c1; ++j) to[r * to_stride + j] = from[j * from_stride + r];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(transpose_part);

}  // namespace

void transpose_words(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to, std::int64_t to_stride,
                     std::int64_t rows, std::int64_t columns) {
  // So many rows of the result that the page table's cache holds all their pages.
  constexpr std::int64_t kRows = 32;
  const auto part = HWY_DYNAMIC_DISPATCH(transpose_part);
  for (std::int64_t r = 0; r < rows; r += kRows) {
    part(from, from_stride, to, to_stride, r, std::min(r + kRows, rows), columns);
  }
}

}  // namespace reprise::native
#endif
