#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/quantized.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/native/kernels/floats.inl.hpp"
#include "backends/native/kernels/panel.inl.hpp"
#include "backends/native/kernels/quantized.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Codes of a panel that are expanded at once: 32 columns by as many of float32 fit the first-level cache.
constexpr std::int64_t kPanelDepth = 128;
/// Rows of x that share an expanded panel; their sums stay in the second-level cache.
constexpr std::int64_t kPanelRows = 256;

template <typename T>
T* grown(std::vector<T>& v, std::int64_t n) {
  if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
  return v.data();
}

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())); }

// Codes of any width, a multiple of eight of them, as bytes; `available` bytes may be read.
HWY_INLINE void unpack(const std::uint8_t* from, std::int64_t available, int bits, std::int64_t count,
                       std::uint8_t* to) {
  const std::uint32_t code = (1u << bits) - 1;
  for (std::int64_t i = 0; i < count; i += 8, from += bits, available -= bits) {
    std::uint64_t v = 0;
    std::memcpy(&v, from, available >= 8 ? 8 : static_cast<std::size_t>(bits));
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
    v = _pdep_u64(v, 0x0101010101010101u * code);
    std::memcpy(to + i, &v, 8);
#else
    for (int j = 0; j < 8; ++j) to[i + j] = static_cast<std::uint8_t>((v >> (j * bits)) & code);
#endif
  }
}

// --- Few rows of x: each word of codes is a lane; shifted and masked it gives one code of each lane.

// x as that kernel reads it.
struct Spread {
  std::int64_t vectors = 0;          // of words in a row of w
  std::vector<float> x;              // (m, vector, code within a word, lane)
  std::vector<float> sums;           // (m, group)
  std::vector<std::int32_t> groups;  // (vector, lane)
};

Spread& spread_storage() {
  thread_local Spread s;
  return s;
}

// Words of `per_word` codes.
void spread(const float* x, std::int64_t m, const QuantizedMatrix& w, std::int64_t per_word, Spread& s) {
  const std::int64_t n = lanes(), k = w.columns, words = k / per_word, groups = w.groups();
  s.vectors = (words + n - 1) / n;
  float* to = grown(s.x, m * s.vectors * per_word * n);
  std::fill_n(to, m * s.vectors * per_word * n, 0.0f);
  float* sums = grown(s.sums, m * groups);
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t word = 0; word < words; ++word) {
      float* at = to + ((r * s.vectors + word / n) * per_word) * n + word % n;
      for (std::int64_t j = 0; j < per_word; ++j) at[j * n] = x[r * k + word * per_word + j];
    }
    for (std::int64_t g = 0; g < groups; ++g) {
      float sum = 0;
      for (std::int64_t i = 0; i < w.group; ++i) sum += x[r * k + g * w.group + i];
      sums[r * groups + g] = sum;
    }
  }
  std::int32_t* group = grown(s.groups, s.vectors * n);
  for (std::int64_t word = 0; word < s.vectors * n; ++word) {
    group[word] = static_cast<std::int32_t>(std::min(word * per_word / w.group, groups - 1));
  }
}

// One row of w times kM rows of x.
template <int kBits, int kM>
HWY_INLINE void few(const Spread& s, std::int64_t first_x, const std::uint32_t* words, std::int64_t word_count,
                    const float* scales, const float* biases, std::int64_t groups, float* out,
                    std::int64_t out_stride) {
  constexpr int kPerWord = 32 / kBits;
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  const auto mask = hn::Set(du, (1u << kBits) - 1);
  V total[kM];
  for (int m = 0; m < kM; ++m) total[m] = hn::Zero(d);
  for (std::int64_t v = 0; v < s.vectors; ++v) {
    const std::int64_t left = word_count - v * n;
    auto packed = left >= n ? hn::LoadU(du, words + v * n)
                            : hn::MaskedLoad(hn::FirstN(du, static_cast<std::size_t>(left)), du, words + v * n);
    V sums[kM];
    for (int m = 0; m < kM; ++m) sums[m] = hn::Zero(d);
    for (int j = 0; j < kPerWord; ++j) {
      const V code = hn::ConvertTo(d, hn::BitCast(di, hn::And(packed, mask)));
      packed = hn::ShiftRight<kBits>(packed);
      for (int m = 0; m < kM; ++m) {
        const float* x = s.x.data() + (((first_x + m) * s.vectors + v) * kPerWord + j) * n;
        sums[m] = hn::MulAdd(code, hn::LoadU(d, x), sums[m]);
      }
    }
    const V scale = hn::GatherIndex(d, scales, hn::LoadU(di, s.groups.data() + v * n));
    for (int m = 0; m < kM; ++m) total[m] = hn::MulAdd(scale, sums[m], total[m]);
  }
  for (int m = 0; m < kM; ++m) {
    const float* sums = s.sums.data() + (first_x + m) * groups;
    std::int64_t g = 0;
    for (; g + n <= groups; g += n) {
      total[m] = hn::MulAdd(hn::LoadU(d, biases + g), hn::LoadU(d, sums + g), total[m]);
    }
    float result = hn::GetLane(hn::SumOfLanes(d, total[m]));
    for (; g < groups; ++g) result += biases[g] * sums[g];
    out[m * out_stride] = result;
  }
}

template <int kBits>
void few_rows(const Spread& s, std::int64_t m, const QuantizedMatrix& w, float* out, std::int64_t begin,
              std::int64_t end) {
  const std::int64_t groups = w.groups();
  thread_local std::vector<float> parameters;
  thread_local std::vector<std::uint8_t> bytes;
  float* scales = grown(parameters, 2 * groups);
  float* biases = scales + groups;
  const auto* codes = reinterpret_cast<const std::uint8_t*>(w.codes);
  const bool direct = w.bits == kBits;
  if (!direct) grown(bytes, w.columns);
  const auto at = [groups](const void* from, DType type, std::int64_t row) {
    return static_cast<const char*>(from) + row * groups * static_cast<std::int64_t>(size_of(type));
  };
  for (std::int64_t row = begin; row < end; ++row) {
    const std::uint8_t* mine = codes + row * w.row_bytes();
    if (!direct) {
      unpack(mine, (w.rows - row) * w.row_bytes(), w.bits, w.columns, bytes.data());
      mine = bytes.data();
    }
    load_floats(at(w.scales, w.scale_type, row), w.scale_type, scales, groups);
    load_floats(at(w.biases, w.bias_type, row), w.bias_type, biases, groups);
    const auto* words = reinterpret_cast<const std::uint32_t*>(mine);
    const std::int64_t count = w.columns * kBits / 32;
    std::int64_t r = 0;
    for (; r + 4 <= m; r += 4)
      few<kBits, 4>(s, r, words, count, scales, biases, groups, out + r * w.rows + row, w.rows);
    for (; r + 2 <= m; r += 2)
      few<kBits, 2>(s, r, words, count, scales, biases, groups, out + r * w.rows + row, w.rows);
    for (; r < m; ++r) few<kBits, 1>(s, r, words, count, scales, biases, groups, out + r * w.rows + row, w.rows);
  }
}

void rows_float(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  // Codes of 3, 5 and 6 bits become bytes first.
  const int bits = w.bits == 4 || w.bits == 2 ? w.bits : 8;
  Spread& s = spread_storage();
  spread(x, m, w, 32 / bits, s);
  const std::int64_t grain = std::max<std::int64_t>(1, kParallelGrain / (w.columns * m));
  parallel_for(threads, w.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    switch (bits) {
      case 2: return few_rows<2>(s, m, w, out, begin, end);
      case 4: return few_rows<4>(s, m, w, out, begin, end);
      default: return few_rows<8>(s, m, w, out, begin, end);
    }
  });
}

// --- Many rows of x: w is expanded a panel at a time.

// Lanes are rows of w (`stride` words apart): the codes [0, depth) of two vectors of rows, as (depth, width).
template <int kBits>
HWY_INLINE void expand(const std::uint32_t* words, std::int64_t stride, std::int64_t last_row, std::int64_t depth,
                       int group, const float* scales, const float* biases, float* HWY_RESTRICT panel) {
  constexpr int kPerWord = 32 / kBits;
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mask = hn::Set(du, (1u << kBits) - 1);
  for (std::int64_t half = 0; half < 2; ++half) {
    HWY_ALIGN std::int32_t at[HWY_MAX_BYTES / 4];
    for (std::int64_t i = 0; i < n; ++i) {
      at[i] = static_cast<std::int32_t>(std::min(half * n + i, last_row) * stride);
    }
    const auto index = hn::Load(di, at);
    for (std::int64_t c = 0; c < depth; c += group) {
      const auto scale = hn::LoadU(d, scales + (c / group) * 2 * n + half * n);
      const auto bias = hn::LoadU(d, biases + (c / group) * 2 * n + half * n);
      for (std::int64_t word = c / kPerWord; word < (c + group) / kPerWord; ++word) {
        auto packed = hn::BitCast(du, hn::GatherIndex(di, reinterpret_cast<const std::int32_t*>(words) + word, index));
        float* to = panel + word * kPerWord * 2 * n + half * n;
        for (int j = 0; j < kPerWord; ++j) {
          const auto code = hn::ConvertTo(d, hn::BitCast(di, hn::And(packed, mask)));
          packed = hn::ShiftRight<kBits>(packed);
          hn::StoreU(hn::MulAdd(code, scale, bias), d, to + j * 2 * n);
        }
      }
    }
  }
}

// What a thread needs for its panels.
struct PanelBuffers {
  std::vector<float> panel, sums, rows, scales, biases;
  std::vector<std::uint8_t> bytes;
};

PanelBuffers& panel_buffers() {
  thread_local PanelBuffers b;
  return b;
}

// Scales or biases of `count` rows from `first` on, as (group, width).
HWY_INLINE void transposed_parameters(const void* from, DType type, std::int64_t groups, std::int64_t first,
                                      std::int64_t count, std::vector<float>& rows, std::vector<float>& to) {
  const std::int64_t width = panel_width();
  float* source = grown(rows, count * groups);
  load_floats(static_cast<const char*>(from) + first * groups * static_cast<std::int64_t>(size_of(type)), type, source,
              count * groups);
  float* target = grown(to, groups * width);
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < width; ++i) target[g * width + i] = source[std::min(i, count - 1) * groups + g];
  }
}

void store_columns(const float* sums, std::int64_t m, std::int64_t count, float* out, std::int64_t stride) {
  for (std::int64_t r = 0; r < m; ++r) {
    std::memcpy(out + r * stride, sums + r * panel_width(), static_cast<std::size_t>(count) * sizeof(float));
  }
}

// Columns of the result that one panel gives: rows [first, first + width) of w, less at the end.
HWY_INLINE void panel(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, std::int64_t first) {
  const std::int64_t width = panel_width(), k = w.columns, groups = w.groups();
  const std::int64_t count = std::min(width, w.rows - first);
  PanelBuffers& b = panel_buffers();
  transposed_parameters(w.scales, w.scale_type, groups, first, count, b.rows, b.scales);
  transposed_parameters(w.biases, w.bias_type, groups, first, count, b.rows, b.biases);
  float* expanded = grown(b.panel, kPanelDepth * width);
  const bool direct = w.bits == 4 || w.bits == 2 || w.bits == 8;
  if (!direct) grown(b.bytes, width * kPanelDepth);
  const auto* codes = reinterpret_cast<const std::uint8_t*>(w.codes);
  const std::int64_t most = std::min(m, kPanelRows);
  for (std::int64_t m0 = 0; m0 < m; m0 += most) {
    const std::int64_t rows = std::min(most, m - m0);
    float* sums = grown(b.sums, most * width);
    std::fill_n(sums, rows * width, 0.0f);
    for (std::int64_t k0 = 0; k0 < k; k0 += kPanelDepth) {
      const std::int64_t depth = std::min(kPanelDepth, k - k0);
      const float* scales = b.scales.data() + k0 / w.group * width;
      const float* biases = b.biases.data() + k0 / w.group * width;
      const std::uint8_t* from = codes + first * w.row_bytes() + k0 / 8 * w.bits;
      std::int64_t stride = w.row_bytes() / 4;
      if (!direct) {
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t available = (w.rows - first - i) * w.row_bytes() - k0 / 8 * w.bits;
          unpack(from + i * w.row_bytes(), available, w.bits, depth, b.bytes.data() + i * kPanelDepth);
        }
        from = b.bytes.data();
        stride = kPanelDepth / 4;
      }
      const auto* words = reinterpret_cast<const std::uint32_t*>(from);
      switch (w.bits) {
        case 2: expand<2>(words, stride, count - 1, depth, w.group, scales, biases, expanded); break;
        case 4: expand<4>(words, stride, count - 1, depth, w.group, scales, biases, expanded); break;
        default: expand<8>(words, stride, count - 1, depth, w.group, scales, biases, expanded); break;
      }
      panel_product(x + m0 * k + k0, k, 1, expanded, width, rows, depth, sums, width);
    }
    store_columns(sums, rows, count, out + m0 * w.rows + first, w.rows);
  }
}

void panels(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  const std::int64_t width = panel_width();
  const std::int64_t grain = std::max<std::int64_t>(1, kParallelGrain / (width * w.columns * std::max(m, kPanelDepth)));
  parallel_for(threads, (w.rows + width - 1) / width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) panel(x, m, w, out, p * width);
  });
}

// The same for x times w, not transposed: rows of w are rows of the panel. A panel's columns lie in one group.
void plain_panels(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  const std::int64_t width = panel_width(), groups = w.groups();
  const auto* codes = reinterpret_cast<const std::uint8_t*>(w.codes);
  const auto one = [&](std::int64_t first) {
    PanelBuffers& b = panel_buffers();
    float* expanded = grown(b.panel, kPanelDepth * width);
    // Codes come by eights; a panel may be narrower (without vectors) and begin within one.
    const std::int64_t before = first % 8, unpacked = (before + width + 7) / 8 * 8;
    std::uint8_t* bytes = grown(b.bytes, unpacked);
    const std::int64_t most = std::min(m, kPanelRows);
    float* sums = grown(b.sums, most * width);
    for (std::int64_t m0 = 0; m0 < m; m0 += most) {
      const std::int64_t rows = std::min(most, m - m0);
      std::fill_n(sums, rows * width, 0.0f);
      for (std::int64_t k0 = 0; k0 < w.rows; k0 += kPanelDepth) {
        const std::int64_t depth = std::min(kPanelDepth, w.rows - k0);
        for (std::int64_t i = 0; i < depth; ++i) {
          const std::int64_t row = k0 + i, at = row * w.row_bytes() + first / 8 * w.bits;
          unpack(codes + at, w.rows * w.row_bytes() - at, w.bits, unpacked, bytes);
          const auto parameter = [&](const void* from, DType type) {
            float value = 0;
            const std::int64_t index = row * groups + first / w.group;
            load_floats(static_cast<const char*>(from) + index * static_cast<std::int64_t>(size_of(type)), type, &value,
                        1);
            return value;
          };
          const float scale = parameter(w.scales, w.scale_type), bias = parameter(w.biases, w.bias_type);
          float* to = expanded + i * width;
          for (std::int64_t j = 0; j < width; ++j) to[j] = static_cast<float>(bytes[before + j]) * scale + bias;
        }
        panel_product(x + m0 * w.rows + k0, w.rows, 1, expanded, width, rows, depth, sums, width);
      }
      store_columns(sums, rows, width, out + m0 * w.columns + first, w.columns);
    }
  };
  const std::int64_t grain = std::max<std::int64_t>(1, kParallelGrain / (width * w.rows * std::max(m, kPanelDepth)));
  parallel_for(threads, w.columns / width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) one(p * width);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(rows_float);
HWY_EXPORT(panels);
HWY_EXPORT(plain_panels);

// Up to so many rows of x, unpacking codes for each costs less than expanding weights for all.
constexpr std::int64_t kFewInteger = 4;
constexpr std::int64_t kFewFloat = 2;

}  // namespace

void quantized_rows_float(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  HWY_DYNAMIC_DISPATCH(rows_float)(x, m, w, out, threads);
}

void quantized_panels(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  HWY_DYNAMIC_DISPATCH(panels)(x, m, w, out, threads);
}

void quantized_product(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  if (m <= kFewInteger && quantized_rows_integer(x, m, w, out, threads)) return;
  // The float kernel adds scale * sum(codes * x): x that is infinite would meet codes of 0.
  const auto finite = [&] {
    float sum = 0;
    for (std::int64_t i = 0; i < m * w.columns; ++i) sum += x[i] * 0;
    return sum == 0;
  };
  if (m <= kFewFloat && finite()) return quantized_rows_float(x, m, w, out, threads);
  quantized_panels(x, m, w, out, threads);
}

void quantized_product_plain(const float* x, std::int64_t m, const QuantizedMatrix& w, float* out, int threads) {
  HWY_DYNAMIC_DISPATCH(plain_panels)(x, m, w, out, threads);
}

}  // namespace reprise::native
#endif
