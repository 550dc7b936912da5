#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/attention.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/native/kernels/attention.hpp"
#include "backends/native/kernels/exp.inl.hpp"
#include "backends/native/kernels/floats.inl.hpp"
#include "backends/native/kernels/panel.inl.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kHidden = -std::numeric_limits<float>::infinity();
/// Keys of a tile: with 32 queries and 64 features, what a tile needs fits the first-level cache.
constexpr std::int64_t kTile = 64;
/// With fewer queries than this that share keys, a dot product for each score beats a panel with idle lanes.
constexpr std::int64_t kFewRows = 6;

// 0 in place of minus infinity: what nothing visible has as its maximum.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V finite_top(D d, V top) {
  return hn::IfThenZeroElse(hn::Eq(top, hn::Set(d, kHidden)), top);
}

template <typename T>
float value_at(const void* data, std::int64_t at) {
  return static_cast<float>(static_cast<const T*>(data)[at]);
}

// What element `at` of the mask adds to a score.
float mask_value(const AttentionMask& mask, std::int64_t at) {
  float value = 0;
  switch (mask.type) {
    case DType::bool_:
    case DType::uint8: value = value_at<std::uint8_t>(mask.data, at); break;
    case DType::uint16: value = value_at<std::uint16_t>(mask.data, at); break;
    case DType::uint32: value = value_at<std::uint32_t>(mask.data, at); break;
    case DType::uint64: value = value_at<std::uint64_t>(mask.data, at); break;
    case DType::int8: value = value_at<std::int8_t>(mask.data, at); break;
    case DType::int16: value = value_at<std::int16_t>(mask.data, at); break;
    case DType::int32: value = value_at<std::int32_t>(mask.data, at); break;
    case DType::int64: value = value_at<std::int64_t>(mask.data, at); break;
    case DType::float16: value = widen(static_cast<const Float16*>(mask.data)[at]); break;
    case DType::bfloat16: value = widen(static_cast<const BFloat16*>(mask.data)[at]); break;
    case DType::float64: {
      const double wide = static_cast<const double*>(mask.data)[at];
      return mask.hides ? (wide == 0 ? kHidden : 0) : static_cast<float>(wide);
    }
    default: value = value_at<float>(mask.data, at);
  }
  return mask.hides ? (value == 0 ? kHidden : 0) : value;
}

// `count` of them, `step` apart.
void mask_values(const AttentionMask& mask, std::int64_t at, std::int64_t step, std::int64_t count, float* to,
                 std::int64_t to_step) {
  if (step == 0) {
    const float value = mask_value(mask, at);
    for (std::int64_t j = 0; j < count; ++j) to[j * to_step] = value;
  } else if (mask.type == DType::float32 && !mask.hides) {
    const float* from = static_cast<const float*>(mask.data) + at;
    for (std::int64_t j = 0; j < count; ++j) to[j * to_step] = from[j * step];
  } else if (mask.type == DType::bool_) {
    const auto* from = static_cast<const std::uint8_t*>(mask.data) + at;
    for (std::int64_t j = 0; j < count; ++j) to[j * to_step] = from[j * step] != 0 ? 0 : kHidden;
  } else {
    for (std::int64_t j = 0; j < count; ++j) to[j * to_step] = mask_value(mask, at + j * step);
  }
}

const void* element(const AttentionTensor& x, std::int64_t at) {
  return static_cast<const char*>(x.data) + at * static_cast<std::int64_t>(size_of(x.type));
}

template <typename T>
T* grown(std::vector<T>& v, std::int64_t n) {
  if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
  return v.data();
}

struct Buffers {
  std::vector<float> q, scores, bias, out, k, v, line;
};

Buffers& buffers() {
  thread_local Buffers b;
  return b;
}

// Rows of a tile as float32: where they lie, when they are already, else converted, and filled up to `padded` features.
struct Tile {
  const float* data = nullptr;
  std::int64_t row = 0;
};

Tile tile_of(const AttentionTensor& x, std::int64_t at, std::int64_t rows, std::int64_t width, std::int64_t padded,
             std::vector<float>& buffer) {
  if (x.type == DType::float32 && width == padded) return {static_cast<const float*>(element(x, at)), x.row};
  float* to = grown(buffer, kTile * padded);
  for (std::int64_t j = 0; j < rows; ++j) {
    load_floats(element(x, at + j * x.row), x.type, to + j * padded, width);
    std::fill(to + j * padded + width, to + (j + 1) * padded, 0.0f);
  }
  return {to, padded};
}

// Queries of one key/value head that are computed together: row r is head r % group, query first + r / group.
struct Unit {
  std::int64_t batch = 0, kv_head = 0, first = 0, rows = 0, group = 1;

  std::int64_t head(std::int64_t r) const { return kv_head * group + r % group; }
  std::int64_t query(std::int64_t r) const { return first + r / group; }
};

void load_query(const Attention& a, const Unit& u, std::int64_t r, float* to) {
  load_floats(element(a.q, u.batch * a.q.batch + u.head(r) * a.q.head + u.query(r) * a.q.row), a.q.type, to, a.width);
  for (std::int64_t c = 0; c < a.width; ++c) to[c] *= a.scale;
}

// Keys that row r may see by its place.
std::int64_t seen(const Attention& a, const Unit& u, std::int64_t r) {
  return a.causal ? std::clamp<std::int64_t>(u.query(r) + a.reach + 1, 0, a.keys) : a.keys;
}

std::int64_t mask_at(const Attention& a, const Unit& u, std::int64_t r, std::int64_t key) {
  return u.batch * a.mask.batch + u.head(r) * a.mask.head + u.query(r) * a.mask.query + key * a.mask.key;
}

// Whether row r sees any key. Only asked about rows whose weights are all 0.
bool sees_a_key(const Attention& a, const Unit& u, std::int64_t r) {
  const std::int64_t keys = seen(a, u, r);
  for (std::int64_t key = 0; key < keys; ++key) {
    if (!a.mask.data || mask_value(a.mask, mask_at(a, u, r, key)) != kHidden) return true;
  }
  return false;
}

// Writes row r: divides by the sum, joins the sink.
void finish_row(const Attention& a, const Unit& u, std::int64_t r, float* row, float top, float sum,
                std::vector<float>& line) {
  const std::int64_t head = u.head(r), width = a.value_width;
  float factor = 1;
  if (a.sinks) {
    float sink = 0;
    load_floats(static_cast<const char*>(a.sinks) + head * static_cast<std::int64_t>(size_of(a.sinks_type)),
                a.sinks_type, &sink, 1);
    if (sum != 0 || std::isnan(sum)) {
      const float both = std::max(top, sink);
      factor = std::exp(top - both);
      sum = sum * factor + std::exp(sink - both);
    }
  }
  // A sum of 0: no key was seen, or the scores of all that were are minus infinity, whose softmax is NaN.
  const float scale = factor / sum;
  const float nothing = sum == 0 && !a.sinks && sees_a_key(a, u, r) ? std::numeric_limits<float>::quiet_NaN() : 0;
  float* to = grown(line, width);
  for (std::int64_t c = 0; c < width; ++c) to[c] = sum == 0 ? nothing : row[c] * scale;
  if (a.nan_is_zero) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = std::isnan(to[c]) ? 0 : to[c];
  }
  const std::int64_t at = ((u.batch * a.heads + head) * a.queries + u.query(r)) * width;
  store_floats(to, a.out_type, static_cast<char*>(a.out) + at * static_cast<std::int64_t>(size_of(a.out_type)), width);
}

// Adds weights (rows by keys, distances row and key) times the tile's values to out (rows, padded).
void add_values(const Attention& a, const Unit& u, std::int64_t rows, std::int64_t key, std::int64_t keys,
                const float* weights, std::int64_t row_step, std::int64_t key_step, float* out, std::int64_t padded,
                Buffers& b) {
  const Tile v =
      tile_of(a.v, u.batch * a.v.batch + u.kv_head * a.v.head + key * a.v.row, keys, a.value_width, padded, b.v);
  for (std::int64_t c = 0; c < padded; c += panel_width()) {
    panel_product(weights, row_step, key_step, v.data + c, v.row, rows, keys, out + c, padded);
  }
}

// Rows of scores, keys along the lanes.
void few_queries(const Attention& a, const Unit& u) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t padded = (a.value_width + panel_width() - 1) / panel_width() * panel_width();
  Buffers& b = buffers();
  float* q = grown(b.q, u.rows * a.width);
  float* scores = grown(b.scores, u.rows * kTile);
  float* out = grown(b.out, u.rows * padded);
  float* bias = grown(b.bias, kTile);
  std::fill_n(out, u.rows * padded, 0.0f);
  float top[kFewRows], sum[kFewRows];
  std::int64_t limit = 0;
  for (std::int64_t r = 0; r < u.rows; ++r) {
    load_query(a, u, r, q + r * a.width);
    top[r] = kHidden;
    sum[r] = 0;
    limit = std::max(limit, seen(a, u, r));
  }
  const auto rest = hn::FirstN(d, static_cast<std::size_t>(a.width % n));
  for (std::int64_t key = 0; key < limit; key += kTile) {
    const std::int64_t keys = std::min(kTile, limit - key);
    const std::int64_t up = (keys + n - 1) / n * n;
    const Tile k =
        tile_of(a.k, u.batch * a.k.batch + u.kv_head * a.k.head + key * a.k.row, keys, a.width, a.width, b.k);
    for (std::int64_t j = 0; j < keys; ++j) {
      for (std::int64_t r = 0; r < u.rows; ++r) {
        const float* x = q + r * a.width;
        const float* y = k.data + j * k.row;
        V s0 = hn::Zero(d), s1 = s0;
        std::int64_t c = 0;
        for (; c + 2 * n <= a.width; c += 2 * n) {
          s0 = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, y + c), s0);
          s1 = hn::MulAdd(hn::LoadU(d, x + c + n), hn::LoadU(d, y + c + n), s1);
        }
        if (c + n <= a.width) {
          s0 = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, y + c), s0);
          c += n;
        }
        if (c < a.width) s1 = hn::MulAdd(hn::MaskedLoad(rest, d, x + c), hn::MaskedLoad(rest, d, y + c), s1);
        scores[r * kTile + j] = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
      }
    }
    for (std::int64_t r = 0; r < u.rows; ++r) {
      float* row = scores + r * kTile;
      if (a.mask.data) {
        mask_values(a.mask, mask_at(a, u, r, key), a.mask.key, keys, bias, 1);
        for (std::int64_t j = 0; j < keys; ++j) row[j] = bias[j] == kHidden ? kHidden : row[j] + bias[j];
      }
      const std::int64_t visible = std::clamp<std::int64_t>(seen(a, u, r) - key, 0, keys);
      std::fill(row + visible, row + up, kHidden);
      V most = hn::Set(d, top[r]);
      for (std::int64_t j = 0; j < up; j += n) most = hn::Max(most, hn::LoadU(d, row + j));
      const float now = hn::GetLane(hn::MaxOfLanes(d, most));
      const float from = now == kHidden ? 0 : now;
      V total = hn::Zero(d);
      for (std::int64_t j = 0; j < up; j += n) {
        const V weight = exp_negative(d, hn::Sub(hn::LoadU(d, row + j), hn::Set(d, from)));
        total = hn::Add(total, weight);
        hn::StoreU(weight, d, row + j);
      }
      if (now != top[r]) {
        const float factor = std::exp(top[r] - from);
        sum[r] *= factor;
        for (std::int64_t c = 0; c < padded; ++c) out[r * padded + c] *= factor;
        top[r] = now;
      }
      sum[r] += hn::GetLane(hn::SumOfLanes(d, total));
    }
    add_values(a, u, u.rows, key, keys, scores, kTile, 1, out, padded, b);
  }
  for (std::int64_t r = 0; r < u.rows; ++r) finish_row(a, u, r, out + r * padded, top[r], sum[r], b.line);
}

// Columns of scores: queries along the lanes, two vectors of them, so that nothing is transposed but the queries.
void many_queries(const Attention& a, const Unit& u) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t lanes = panel_width();
  const std::int64_t padded = (a.value_width + lanes - 1) / lanes * lanes;
  Buffers& b = buffers();
  float* q = grown(b.q, a.width * lanes);
  float* scores = grown(b.scores, kTile * lanes);
  float* bias = grown(b.bias, kTile * lanes);
  float* out = grown(b.out, lanes * padded);
  std::fill_n(q, a.width * lanes, 0.0f);
  std::fill_n(out, lanes * padded, 0.0f);
  HWY_ALIGN float reach[2 * HWY_MAX_BYTES / 4];  // keys below it may be seen
  HWY_ALIGN float tops[2 * HWY_MAX_BYTES / 4];
  HWY_ALIGN float sums[2 * HWY_MAX_BYTES / 4];
  HWY_ALIGN float factors[2 * HWY_MAX_BYTES / 4];
  std::int64_t limit = 0, everyone = a.keys;
  float* line = grown(b.line, a.width);
  for (std::int64_t r = 0; r < lanes; ++r) {
    tops[r] = kHidden;
    sums[r] = 0;
    reach[r] = 0;
    if (r >= u.rows) continue;
    load_query(a, u, r, line);
    for (std::int64_t c = 0; c < a.width; ++c) q[c * lanes + r] = line[c];
    const std::int64_t mine = seen(a, u, r);
    limit = std::max(limit, mine);
    everyone = std::min(everyone, mine);
  }
  const bool same_mask = a.mask.data && a.mask.query == 0 && (a.mask.head == 0 || u.group == 1);
  for (std::int64_t key = 0; key < limit; key += kTile) {
    const std::int64_t keys = std::min(kTile, limit - key);
    const Tile k =
        tile_of(a.k, u.batch * a.k.batch + u.kv_head * a.k.head + key * a.k.row, keys, a.width, a.width, b.k);
    std::fill_n(scores, keys * lanes, 0.0f);
    panel_product(k.data, k.row, 1, q, lanes, keys, a.width, scores, lanes);
    if (a.mask.data) {
      // A hidden score may be anything, NaN too: it is replaced, not added to.
      const auto add = [d](float* at, V more) {
        const V hidden = hn::Set(d, kHidden);
        hn::StoreU(hn::IfThenElse(hn::Eq(more, hidden), hidden, hn::Add(hn::LoadU(d, at), more)), d, at);
      };
      if (same_mask) {
        mask_values(a.mask, mask_at(a, u, 0, key), a.mask.key, keys, bias, 1);
        for (std::int64_t j = 0; j < keys; ++j) {
          for (std::int64_t l = 0; l < lanes; l += n) add(scores + j * lanes + l, hn::Set(d, bias[j]));
        }
      } else {
        for (std::int64_t r = 0; r < lanes; ++r) {
          mask_values(a.mask, mask_at(a, u, std::min(r, u.rows - 1), key), a.mask.key, keys, bias + r, lanes);
        }
        for (std::int64_t j = 0; j < keys * lanes; j += n) add(scores + j, hn::LoadU(d, bias + j));
      }
    }
    const bool cut = everyone < key + keys;
    if (cut) {
      // Relative to the tile: exact in float32.
      for (std::int64_t r = 0; r < u.rows; ++r) {
        reach[r] = static_cast<float>(std::clamp<std::int64_t>(seen(a, u, r) - key, 0, kTile));
      }
    }
    bool moved = false;
    for (std::int64_t l = 0; l < lanes; l += n) {
      const V before = hn::Load(d, tops + l);
      V top = before;
      float* at = scores + l;
      if (cut) {
        const V mine = hn::Load(d, reach + l);
        const V hidden = hn::Set(d, kHidden);
        for (std::int64_t j = 0; j < keys; ++j) {
          const V s =
              hn::IfThenElse(hn::Lt(hn::Set(d, static_cast<float>(j)), mine), hn::LoadU(d, at + j * lanes), hidden);
          hn::StoreU(s, d, at + j * lanes);
          top = hn::Max(top, s);
        }
      } else {
        for (std::int64_t j = 0; j < keys; ++j) top = hn::Max(top, hn::LoadU(d, at + j * lanes));
      }
      const V from = finite_top(d, top);
      V total = hn::Zero(d);
      for (std::int64_t j = 0; j < keys; ++j) {
        const V weight = exp_negative(d, hn::Sub(hn::LoadU(d, at + j * lanes), from));
        total = hn::Add(total, weight);
        hn::StoreU(weight, d, at + j * lanes);
      }
      const V factor = exp_negative(d, hn::Sub(before, from));
      hn::Store(factor, d, factors + l);
      hn::Store(top, d, tops + l);
      hn::Store(hn::MulAdd(hn::Load(d, sums + l), factor, total), d, sums + l);
      moved |= !hn::AllTrue(d, hn::Eq(factor, hn::Set(d, 1.0f)));
    }
    if (moved) {
      for (std::int64_t r = 0; r < u.rows; ++r) {
        const V factor = hn::Set(d, factors[r]);
        for (std::int64_t c = 0; c < padded; c += n) {
          hn::StoreU(hn::Mul(hn::LoadU(d, out + r * padded + c), factor), d, out + r * padded + c);
        }
      }
    }
    add_values(a, u, u.rows, key, keys, scores, 1, lanes, out, padded, b);
  }
  for (std::int64_t r = 0; r < u.rows; ++r) finish_row(a, u, r, out + r * padded, tops[r], sums[r], b.line);
}

void attend(const Attention& a, int threads) {
  const std::int64_t group = a.heads / a.kv_heads;
  const std::int64_t lanes = panel_width();
  // Queries of a unit. Groups that are larger than a panel are cut by heads: then each head is its own group.
  const bool shared = group <= lanes;
  const std::int64_t heads = shared ? group : 1;
  const std::int64_t together = lanes / heads;
  const std::int64_t blocks = (a.queries + together - 1) / together;
  const std::int64_t owners = shared ? a.kv_heads : a.heads;
  const std::int64_t units = a.batch * owners * blocks;
  const std::int64_t work = std::min(together, a.queries) * heads * a.keys * (a.width + a.value_width);
  Attention one = a;
  if (!shared) {
    // One query head to each key/value head: the same keys again.
    one.kv_heads = a.heads;
  }
  parallel_for(threads, units, std::max<std::int64_t>(1, 4 * kParallelGrain / std::max<std::int64_t>(work, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   // Early and late blocks in turn, since a causal late one takes longer.
                   const std::int64_t turn = i % blocks;
                   const std::int64_t block = turn % 2 == 0 ? turn / 2 : blocks - 1 - turn / 2;
                   const std::int64_t owner = i / blocks % owners;
                   Unit u;
                   u.batch = i / blocks / owners;
                   u.first = block * together;
                   u.group = heads;
                   u.rows = std::min(together, a.queries - u.first) * heads;
                   u.kv_head = owner;
                   if (!shared) {
                     const std::int64_t from = owner / group;
                     Attention mine = one;
                     mine.k.data = element(a.k, (from - owner) * a.k.head);
                     mine.v.data = element(a.v, (from - owner) * a.v.head);
                     u.rows <= kFewRows ? few_queries(mine, u) : many_queries(mine, u);
                   } else {
                     u.rows <= kFewRows ? few_queries(one, u) : many_queries(one, u);
                   }
                 }
               });
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(attend);

}  // namespace

void attention(const Attention& a, int threads) { HWY_DYNAMIC_DISPATCH(attend)(a, threads); }

}  // namespace reprise::native
#endif
