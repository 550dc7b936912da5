// Few rows of x times packed weights, in integers: a group's 32 or more activations become fixed-point numbers of 21 or
// 22 bits (about float32's own precision, relative to the group's greatest), in three 8-bit digits. Codes times digits
// are exact; AVX-512 VNNI adds four such products an instruction and lane. The float kernel needs twice the
// instructions.
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "backends/native/kernels/quantized.hpp"
#include "backends/native/threads.hpp"

#if defined(__x86_64__)
// GCC's own intrinsics begin with registers of any content (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

namespace reprise::native {
namespace {

#define REPRISE_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,bmi2,fma,f16c,avx2")))

constexpr int kDigits = 3;
constexpr std::int64_t kLanes = 16;
/// Bytes ahead that codes are fetched: the hardware's own prefetcher stops at each page.
constexpr std::int64_t kAhead = 3072;

// How codes lie in a vector of 64 bytes: two codes of 4 bits in a byte (the lower first), or one of up to 6 or 8 bits.
template <int kHalvesOfByte, int kCodeBits>
struct Layout {
  static constexpr int kHalves = kHalvesOfByte;
  static constexpr std::int64_t kBlock = 64 * kHalves;         // codes in a vector
  static constexpr std::int64_t kLaneCodes = kBlock / kLanes;  // codes in a lane of 32 bits
  // One lane's sum must fit 31 bits: 2^22 * 15 * 8, 2^22 * 63 * 4, or 2^20 * 255 * 4.
  static constexpr int kDigitBits = kCodeBits == 8 ? 7 : 8;
  static constexpr int kPrecision = kCodeBits == 8 ? 19 : 21;
  static constexpr std::int64_t kBlockBytes = kDigits * kHalves * 64;
};
using Nibbles = Layout<2, 4>;
using SmallBytes = Layout<1, 6>;
using Bytes = Layout<1, 8>;

// x as the kernel reads it.
struct Prepared {
  std::int64_t blocks = 0;  // of codes in a row, the last one filled up with zeros
  std::int64_t padded_groups = 0;
  std::vector<std::int8_t> digits;  // (m, blocks, digit, half, 64)
  std::vector<float> steps;         // (m, blocks, lane): what the fixed-point numbers count in
  std::vector<float> sums;          // (m, padded_groups): of x
};

Prepared& prepared() {
  thread_local Prepared p;
  return p;
}

template <typename T>
void grow(std::vector<T>& v, std::int64_t n) {
  if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
}

float power_of_two(int p) { return std::bit_cast<float>((p + 127) << 23); }

// One group of x. False when it is not finite.
template <typename L>
REPRISE_VNNI inline bool prepare_group(const float* x, int group, std::int8_t* natural, std::int64_t digit_stride,
                                       float& step, float& sum) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i top = _mm512_setzero_si512();
  __m512 total = _mm512_setzero_ps();
  for (int i = 0; i < group; i += 16) {
    const __m512 v = _mm512_loadu_ps(x + i);
    top = _mm512_max_epu32(top, _mm512_and_si512(_mm512_castps_si512(v), magnitude));
    total = _mm512_add_ps(total, v);
  }
  const auto bits = static_cast<std::uint32_t>(_mm512_reduce_max_epu32(top));
  sum = _mm512_reduce_add_ps(total);
  if (bits >= 0x7F800000u) return false;
  // The greatest is below 2^(e + 1). Tiny groups keep fewer bits, so that no power of two leaves float32's range.
  const int e = std::max(static_cast<int>(bits >> 23) - 127, -100);
  const __m512 up = _mm512_set1_ps(power_of_two(L::kPrecision - e));
  step = power_of_two(e - L::kPrecision);
  for (int i = 0; i < group; i += 16) {
    __m512i t = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), up));
    for (int d = 0; d < kDigits; ++d) {
      __m512i digit = t;
      if (d + 1 < kDigits) {
        digit = _mm512_srai_epi32(_mm512_slli_epi32(t, 32 - L::kDigitBits), 32 - L::kDigitBits);
        t = _mm512_srai_epi32(_mm512_sub_epi32(t, digit), L::kDigitBits);
      }
      _mm_storeu_si128(reinterpret_cast<__m128i*>(natural + d * digit_stride + i), _mm512_cvtepi32_epi8(digit));
    }
  }
  return true;
}

// The lower byte of each 16 bits.
REPRISE_VNNI inline void store_bytes(__m512i first, __m512i second, std::int8_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(first));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), _mm512_cvtepi16_epi8(second));
}

template <typename L>
REPRISE_VNNI bool prepare(const float* x, std::int64_t m, std::int64_t k, int group, Prepared& p) {
  p.blocks = (k + L::kBlock - 1) / L::kBlock;
  const std::int64_t groups = k / group;
  p.padded_groups = (groups + kLanes - 1) / kLanes * kLanes;
  grow(p.digits, m * p.blocks * L::kBlockBytes);
  grow(p.steps, m * p.blocks * kLanes);
  grow(p.sums, m * p.padded_groups);
  thread_local std::vector<std::int8_t> natural;  // digits in the order of x
  const std::int64_t padded = p.blocks * L::kBlock;
  grow(natural, kDigits * padded);
  const std::int64_t lanes = group / L::kLaneCodes;  // of a group
  for (std::int64_t r = 0; r < m; ++r) {
    float* steps = p.steps.data() + r * p.blocks * kLanes;
    float* sums = p.sums.data() + r * p.padded_groups;
    for (std::int64_t g = 0; g < groups; ++g) {
      float step = 0;
      if (!prepare_group<L>(x + r * k + g * group, group, natural.data() + g * group, padded, step, sums[g])) {
        return false;
      }
      std::fill_n(steps + g * lanes, lanes, step);
    }
    std::fill(sums + groups, sums + p.padded_groups, 0.0f);
    std::fill(steps + groups * lanes, steps + p.blocks * kLanes, 0.0f);
    for (int d = 0; d < kDigits; ++d) {
      std::int8_t* from = natural.data() + d * padded;
      std::fill(from + k, from + padded, std::int8_t{0});
      for (std::int64_t b = 0; b < p.blocks; ++b) {
        std::int8_t* to = p.digits.data() + (r * p.blocks + b) * L::kBlockBytes + d * L::kHalves * 64;
        if constexpr (L::kHalves == 1) {
          std::memcpy(to, from + b * 64, 64);
        } else {
          const __m512i first = _mm512_loadu_si512(from + b * 128), second = _mm512_loadu_si512(from + b * 128 + 64);
          store_bytes(first, second, to);
          store_bytes(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8), to + 64);
        }
      }
    }
  }
  return true;
}

// Sixteen scales or biases; masked ones are zeros.
template <DType kType>
REPRISE_VNNI inline __m512 load_parameters(const void* from, std::int64_t at, __mmask16 mask) {
  if constexpr (kType == DType::float32) {
    return _mm512_maskz_loadu_ps(mask, static_cast<const float*>(from) + at);
  } else {
    const __m256i half = _mm256_maskz_loadu_epi16(mask, static_cast<const std::uint16_t*>(from) + at);
    if constexpr (kType == DType::float16) return _mm512_cvtph_ps(half);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
}

// Codes of one block of each row (the bytes that `mask` says) times the digits of x.
template <typename L, int kM, int kRows>
REPRISE_VNNI inline void multiply_block(const std::uint8_t* codes, std::int64_t code_stride, __mmask64 mask,
                                        __m512i group, const std::int8_t* digits, const float* steps,
                                        std::int64_t digit_stride, std::int64_t step_stride,
                                        const __m512 (&scales)[kRows], __m512 (&total)[kM][kRows]) {
  const __m512i low = _mm512_set1_epi8(15);
  for (int r = 0; r < kRows; ++r) {
    const std::uint8_t* at = codes + r * code_stride;
    _mm_prefetch(reinterpret_cast<const char*>(at + kAhead), _MM_HINT_T0);
    const __m512i packed = _mm512_maskz_loadu_epi8(mask, at);
    __m512i part[L::kHalves];
    if constexpr (L::kHalves == 2) {
      part[0] = _mm512_and_si512(packed, low);
      part[1] = _mm512_and_si512(_mm512_srli_epi16(packed, 4), low);
    } else {
      part[0] = packed;
    }
    const __m512 scale = _mm512_permutexvar_ps(group, scales[r]);
    for (int m = 0; m < kM; ++m) {
      const std::int8_t* x = digits + m * digit_stride;
      __m512i sum[kDigits];
      for (int d = 0; d < kDigits; ++d) {
        sum[d] = _mm512_setzero_si512();
        for (int h = 0; h < L::kHalves; ++h) {
          sum[d] = _mm512_dpbusd_epi32(sum[d], part[h], _mm512_loadu_si512(x + (d * L::kHalves + h) * 64));
        }
      }
      const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(sum[2], L::kDigitBits), sum[1]);
      const __m512i all = _mm512_add_epi32(_mm512_slli_epi32(upper, L::kDigitBits), sum[0]);
      const __m512 step = _mm512_mul_ps(scale, _mm512_loadu_ps(steps + m * step_stride));
      total[m][r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(all), step, total[m][r]);
    }
  }
}

// kRows rows of w (one behind the other) times kM rows of x. `codes` are the rows' bytes, `tail` those of the last
// block.
template <typename L, DType kType, int kM, int kRows>
REPRISE_VNNI inline void tile(const Prepared& p, std::int64_t first_x, const std::uint8_t* codes,
                              std::int64_t code_stride, std::int64_t tail, const QuantizedMatrix& w, std::int64_t row,
                              float* out, std::int64_t out_stride) {
  const std::int64_t groups = w.groups(), blocks = p.blocks;
  const auto lane_shift = static_cast<unsigned>(__builtin_ctz(static_cast<unsigned>(w.group / L::kLaneCodes)));
  const std::int64_t super = std::int64_t{1} << lane_shift;  // blocks of sixteen groups
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __mmask64 every = ~__mmask64{0};
  const __mmask64 tail_mask = tail == 64 ? every : (__mmask64{1} << tail) - 1;
  const std::int64_t digit_stride = blocks * L::kBlockBytes, step_stride = blocks * kLanes;
  const std::int8_t* digits = p.digits.data() + first_x * digit_stride;
  const float* steps = p.steps.data() + first_x * step_stride;
  const float* sums = p.sums.data() + first_x * p.padded_groups;
  __m512 total[kM][kRows];
  for (int m = 0; m < kM; ++m) {
    for (int r = 0; r < kRows; ++r) total[m][r] = _mm512_setzero_ps();
  }
  for (std::int64_t s = 0; s * kLanes < groups; ++s) {
    const std::int64_t left = groups - s * kLanes;
    const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFFu : (1u << left) - 1);
    __m512 scales[kRows];
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t at = (row + r) * groups + s * kLanes;
      scales[r] = load_parameters<kType>(w.scales, at, mask);
      const __m512 biases = load_parameters<kType>(w.biases, at, mask);
      for (int m = 0; m < kM; ++m) {
        const __m512 sum = _mm512_loadu_ps(sums + m * p.padded_groups + s * kLanes);
        total[m][r] = _mm512_fmadd_ps(biases, sum, total[m][r]);
      }
    }
    const std::int64_t end = std::min((s + 1) * super, blocks);
    __m512i place = lane;  // of each lane, from the first of the sixteen groups on
    for (std::int64_t b = s * super; b < end; ++b) {
      multiply_block<L, kM, kRows>(codes + b * 64, code_stride, b + 1 < blocks ? every : tail_mask,
                                   _mm512_srli_epi32(place, lane_shift), digits + b * L::kBlockBytes,
                                   steps + b * kLanes, digit_stride, step_stride, scales, total);
      place = _mm512_add_epi32(place, _mm512_set1_epi32(static_cast<int>(kLanes)));
    }
  }
  for (int m = 0; m < kM; ++m) {
    for (int r = 0; r < kRows; ++r) out[m * out_stride + r] = _mm512_reduce_add_ps(total[m][r]);
  }
}

// Codes of any width as bytes.
REPRISE_VNNI void unpack(const std::uint8_t* from, std::int64_t available, int bits, std::int64_t count,
                         std::uint8_t* to) {
  const std::uint64_t mask = 0x0101010101010101u * ((1u << bits) - 1);
  for (std::int64_t i = 0; i < count; i += 8, from += bits, available -= bits) {
    std::uint64_t v = 0;
    std::memcpy(&v, from, available >= 8 ? 8 : static_cast<std::size_t>(bits));
    const std::uint64_t bytes = _pdep_u64(v, mask);
    std::memcpy(to + i, &bytes, 8);
  }
}

template <typename L, DType kType, int kM>
void rows(const Prepared& p, std::int64_t first_x, const QuantizedMatrix& w, float* out, std::int64_t begin,
          std::int64_t end) {
  constexpr int kRows = kM == 1 ? 4 : 2;
  const bool direct = L::kHalves == 2 || w.bits == 8;
  const std::int64_t width = direct ? w.row_bytes() : w.columns;
  const auto* codes = reinterpret_cast<const std::uint8_t*>(w.codes);
  thread_local std::vector<std::uint8_t> bytes;
  if (!direct) grow(bytes, kRows * w.columns);
  const std::int64_t tail = width - (p.blocks - 1) * 64;
  const auto at = [&](std::int64_t row, std::int64_t count) {
    if (direct) return codes + row * width;
    for (std::int64_t i = 0; i < count; ++i) {
      unpack(codes + (row + i) * w.row_bytes(), (w.rows - row - i) * w.row_bytes(), w.bits, w.columns,
             bytes.data() + i * w.columns);
    }
    return const_cast<const std::uint8_t*>(bytes.data());
  };
  std::int64_t row = begin;
  for (; row + kRows <= end; row += kRows) {
    tile<L, kType, kM, kRows>(p, first_x, at(row, kRows), width, tail, w, row, out + row, w.rows);
  }
  for (; row < end; ++row) tile<L, kType, kM, 1>(p, first_x, at(row, 1), width, tail, w, row, out + row, w.rows);
}

template <typename L, DType kType>
bool run_as(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  Prepared& p = prepared();
  if (!prepare<L>(x, m, w.columns, w.group, p)) return false;
  constexpr std::int64_t kUnit = 32;  // rows: several tiles, so that x's rows pass over weights that are still cached
  const std::int64_t units = (w.rows + kUnit - 1) / kUnit;
  const std::int64_t grain = std::max<std::int64_t>(1, kParallelGrain / (kUnit * w.row_bytes()));
  parallel_for(threads, units, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t first = u * kUnit, last = std::min(first + kUnit, w.rows);
      std::int64_t r = 0;
      for (; r + 4 <= m; r += 4) rows<L, kType, 4>(p, r, w, out + r * w.rows, first, last);
      for (; r + 2 <= m; r += 2) rows<L, kType, 2>(p, r, w, out + r * w.rows, first, last);
      for (; r < m; ++r) rows<L, kType, 1>(p, r, w, out + r * w.rows, first, last);
    }
  });
  return true;
}

template <typename L>
bool run(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  switch (w.scale_type) {
    case DType::float32: return run_as<L, DType::float32>(x, m, w, out, threads);
    case DType::float16: return run_as<L, DType::float16>(x, m, w, out, threads);
    default: return run_as<L, DType::bfloat16>(x, m, w, out, threads);
  }
}

}  // namespace

bool quantized_rows_integer(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  static const bool available = (hwy::SupportedTargets() & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni") &&
                                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
  if (!available || w.scale_type != w.bias_type) return false;
  if (w.bits == 4) return run<Nibbles>(x, m, w, out, threads);
  return w.bits == 8 ? run<Bytes>(x, m, w, out, threads) : run<SmallBytes>(x, m, w, out, threads);
}

}  // namespace reprise::native

#else

namespace reprise::native {

bool quantized_rows_integer(const float*, std::int64_t, const QuantizedMatrix&, float*, int) { return false; }

}  // namespace reprise::native

#endif
