// Sorting against std::stable_sort with the comparison that the op reference states.
#include "backends/native/kernels/sort.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "backends/native/isa.hpp"
#include "backends/native/kernels/half.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DType kAll[] = {DType::bool_,   DType::uint8,   DType::uint16,   DType::uint32,   DType::uint64,
                          DType::int8,    DType::int16,   DType::int32,    DType::int64,    DType::float16,
                          DType::float32, DType::float64, DType::bfloat16, DType::complex64};

enum class Kind { any, few, constant };  // bits at random; specials and a few values that repeat; one value

Bytes elements(DType dtype, std::int64_t n, Kind kind) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n) * 31 + static_cast<std::uint64_t>(dtype));
  const std::size_t size = size_of(dtype);
  Bytes out(static_cast<std::size_t>(n) * size);
  // Zeros of both signs, infinities, NaN of both signs and of several payloads, by their upper 16 bits.
  const std::uint64_t halves[] = {0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7E01, 0x3C00, 0xBC00, 1, 0x8001};
  const std::uint64_t brains[] = {0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7FC1, 0x3F80, 0xBF80, 1, 0x8001};
  const std::uint64_t wide[] = {0, 0x8000, 0x7FF0, 0xFFF0, 0x7FF8, 0xFFF8, 0x7FF9, 0x3FF0, 0xBFF0, 1, 0x8001};
  const auto put = [&](std::size_t at, std::size_t bytes, const std::uint64_t* specials) {
    std::uint64_t bits = random();
    if (kind == Kind::constant) bits = 0x3E3E3E3E3E3E3E3E;
    if (kind == Kind::few) bits = specials ? specials[bits % 11] << (8 * bytes - 16) : bits % 5 << (8 * bytes - 3);
    if (dtype == DType::bool_) bits &= 1;
    std::memcpy(out.data() + at, &bits, bytes);
  };
  for (std::size_t at = 0; at < out.size(); at += size) {
    switch (dtype) {
      case DType::float16: put(at, 2, halves); break;
      case DType::bfloat16:
      case DType::float32: put(at, size, brains); break;
      case DType::float64: put(at, 8, wide); break;
      case DType::complex64: put(at, 4, brains), put(at + 4, 4, brains); break;
      default: put(at, size, nullptr);
    }
  }
  return out;
}

template <typename T>
T load(const Bytes& x, std::size_t i) {
  T out;
  std::memcpy(&out, x.data() + i * sizeof(T), sizeof(T));
  return out;
}

// The positions in order, by a comparison that knows nothing of keys.
std::vector<std::uint32_t> ordered(DType dtype, const Bytes& x, std::int64_t n, bool ascending) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0u);
  const auto sort = [&](const auto& value, const auto& is_nan) {
    std::stable_sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto u = value(a), v = value(b);
      if (is_nan(u) || is_nan(v)) return ascending ? !is_nan(u) && is_nan(v) : is_nan(u) && !is_nan(v);
      return ascending ? u < v : v < u;
    });
  };
  const auto sort_as = [&]<typename T>(T, const auto& convert) {
    sort([&](std::uint32_t i) { return convert(load<T>(x, i)); }, [](auto v) { return v != v; });
  };
  const auto same = [](auto v) { return v; };
  switch (dtype) {
    case DType::bool_:
    case DType::uint8: sort_as(std::uint8_t{}, same); break;
    case DType::uint16: sort_as(std::uint16_t{}, same); break;
    case DType::uint32: sort_as(std::uint32_t{}, same); break;
    case DType::uint64: sort_as(std::uint64_t{}, same); break;
    case DType::int8: sort_as(std::int8_t{}, same); break;
    case DType::int16: sort_as(std::int16_t{}, same); break;
    case DType::int32: sort_as(std::int32_t{}, same); break;
    case DType::int64: sort_as(std::int64_t{}, same); break;
    case DType::float16: sort_as(Float16{}, [](Float16 v) { return widen(v); }); break;
    case DType::bfloat16: sort_as(BFloat16{}, [](BFloat16 v) { return widen(v); }); break;
    case DType::float32: sort_as(float{}, same); break;
    case DType::float64: sort_as(double{}, same); break;
    case DType::complex64:
      sort([&](std::uint32_t i) { return std::pair(load<float>(x, 2 * i), load<float>(x, 2 * i + 1)); },
           [](auto v) { return std::isnan(v.first) || std::isnan(v.second); });
  }
  return out;
}

class Sort : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(apply_isa_limit()); }

  static void check(DType dtype, std::int64_t rows, std::int64_t n, Kind kind, bool ascending, int threads) {
    const std::size_t size = size_of(dtype), row = static_cast<std::size_t>(n) * size;
    const Bytes x = elements(dtype, rows * n, kind);
    const std::string what = fmt::format("{} {}x{} {} {} on {}", name(dtype), rows, n, static_cast<int>(kind),
                                         ascending ? "ascending" : "descending", threads);
    Bytes sorted(x.size(), std::byte{0x55});
    std::vector<std::uint32_t> positions(static_cast<std::size_t>(rows * n), 7777777);
    Bytes memory(std::max(sort_scratch_bytes(dtype, n), argsort_scratch_bytes(dtype, n)));
    sort_rows(dtype, x.data(), sorted.data(), rows, n, ascending, memory.data(), threads);
    argsort_rows(dtype, x.data(), positions.data(), rows, n, ascending, memory.data(), threads);
    for (std::int64_t r = 0; r < rows; ++r) {
      const Bytes one(x.begin() + r * static_cast<std::int64_t>(row),
                      x.begin() + (r + 1) * static_cast<std::int64_t>(row));
      const auto wanted = ordered(dtype, one, n, ascending);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(r * n) + i;
        ASSERT_EQ(positions[at], wanted[i]) << what << ", row " << r << ", place " << i;
        ASSERT_EQ(std::memcmp(sorted.data() + at * size, one.data() + wanted[i] * size, size), 0)
            << what << ", row " << r << ", place " << i;
      }
    }
  }
};

TEST_F(Sort, EveryDTypeAndLength) {
  for (const DType dtype : kAll) {
    for (const std::int64_t n :
         {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1000}) {
      for (const Kind kind : {Kind::any, Kind::few, Kind::constant}) {
        for (const bool ascending : {true, false}) check(dtype, 3, n, kind, ascending, 1);
      }
    }
  }
}

TEST_F(Sort, LongRowsInParts) {
  for (const DType dtype : kAll) {
    for (const int threads : {1, 2, 3, 8}) {
      for (const Kind kind : {Kind::any, Kind::few}) check(dtype, 1, 200'003, kind, threads % 2 == 0, threads);
    }
    check(dtype, 2, 65'536, Kind::any, true, 2);
    check(dtype, 2, 65'537, Kind::any, false, 2);
  }
}

TEST_F(Sort, ManyRowsOnManyThreads) {
  for (const DType dtype : kAll) {
    for (const int threads : {2, 8}) check(dtype, 301, 67, Kind::any, threads == 2, threads);
    check(dtype, 5000, 2, Kind::few, false, 8);
  }
}

}  // namespace
}  // namespace reprise::native
