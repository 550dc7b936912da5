// Attention against its definition: three loops in double precision.
#include <optional>

#include "conformance/reference.hpp"

namespace reprise::conformance {
namespace {

struct Sizes {
  std::int64_t batch, q_heads, kv_heads, queries, keys, width, v_width;
};

// Few and many queries and keys, grouped heads, head sizes with and without fused kernels on a GPU.
constexpr Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},    {2, 4, 2, 3, 5, 8, 8}, {1, 6, 1, 7, 7, 16, 4},
    {2, 3, 3, 1, 33, 64, 64}, {1, 2, 2, 9, 4, 8, 8}, {1, 8, 2, 40, 70, 80, 80},
};

// What is added to the score of query i and key j; minus infinity hides.
using Bias = std::function<double(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

constexpr double kHidden = -movement::kInfinity;

// All results in row-major order.
std::vector<double> attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const Bias& bias,
                              const std::optional<Tensor>& sinks) {
  std::vector<double> out;
  const auto keys = k.shape[2];
  movement::each({q.shape[0], q.shape[1], q.shape[2]}, [&](const Shape& at, std::size_t) {
    const std::int64_t b = at[0], h = at[1], i = at[2];
    const std::int64_t kv = h / (q.shape[1] / k.shape[1]);
    std::vector<double> weights;
    double top = sinks ? (*sinks)({h}) : kHidden;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < q.shape[3]; ++c) score += q({b, h, i, c}) * k({b, kv, j, c});
      weights.push_back(score * scale + bias(b, h, i, j));
      top = std::max(top, weights.back());
    }
    double total = sinks ? std::exp((*sinks)({h}) - top) : 0;
    for (double& w : weights) {
      w = top == kHidden ? 0 : std::exp(w - top);
      total += w;
    }
    for (std::int64_t d = 0; d < v.shape[3]; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) sum += weights[static_cast<std::size_t>(j)] * v({b, kv, j, d});
      out.push_back(top == kHidden ? 0 : sum / total);
    }
  });
  return out;
}

struct Qkv {
  Tensor q, k, v, sinks;
  Shape out;

  Qkv(const Sizes& s, DType d)
      : q(random_tensor({s.batch, s.q_heads, s.queries, s.width}, d, 1)),
        k(random_tensor({s.batch, s.kv_heads, s.keys, s.width}, d, 2)),
        v(random_tensor({s.batch, s.kv_heads, s.keys, s.v_width}, d, 3, -2, 2)),
        sinks(random_tensor({s.q_heads}, d, 4)),
        out{s.batch, s.q_heads, s.queries, s.v_width} {}
};

constexpr double kScale = 0.75;

void check(std::string_view name, const Qkv& x, const std::vector<Tensor>& more, const Builder::Attrs& attrs,
           const Bias& bias, bool sinks) {
  std::vector<Tensor> operands{x.q, x.k, x.v};
  operands.insert(operands.end(), more.begin(), more.end());
  std::optional<Tensor> sink;
  if (sinks) {
    operands.push_back(x.sinks);
    sink = x.sinks;
  }
  const auto wanted = attention(x.q, x.k, x.v, kScale, bias, sink);
  for (std::size_t layout = 0; layout < 5; ++layout) {
    const array y = run_op(name, attrs, operands, layout)[0];
    EXPECT_TRUE(agrees(name, y, x.q.dtype(), x.out, wanted))
        << name << " " << to_string(type_of(x.q.data)) << to_string(type_of(x.k.data)) << " layout " << layout;
    if (x.out[2] > 16) break;  // the long ones once
  }
}

template <typename F>
void each_size_and_dtype(const F& f) {
  for (const DType d : floats()) {
    for (const Sizes& s : kSizes) f(s, d);
  }
}

double nothing(std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return 0; }

class Attention : public OnDevice {};
REPRISE_ON_EACH_DEVICE(Attention);

TEST_P(Attention, Plain) {
  each_size_and_dtype([](const Sizes& s, DType d) {
    const Qkv x(s, d);
    check("fast_sdpa", x, {}, {{"scale", kScale}}, nothing, false);
    check("fast_sdpa_sinks", x, {}, {{"scale", kScale}}, nothing, true);
  });
}

TEST_P(Attention, Causal) {
  each_size_and_dtype([](const Sizes& s, DType d) {
    const Qkv x(s, d);
    const Bias causal = [&](auto, auto, auto i, auto j) { return j <= i + s.keys - s.queries ? 0 : kHidden; };
    check("fast_sdpa_causal", x, {}, {{"scale", kScale}}, causal, false);
    check("fast_sdpa_causal_sinks", x, {}, {{"scale", kScale}}, causal, true);
  });
}

// Every fifth row is hidden wholly.
TEST_P(Attention, BoolMask) {
  each_size_and_dtype([](const Sizes& s, DType d) {
    const Qkv x(s, d);
    Tensor mask = random_tensor({s.batch, 1, s.queries, s.keys}, DType::int32, 5, 0, 3);
    std::vector<double> values = mask.values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (static_cast<std::int64_t>(k) / s.keys % 5 == 2) values[k] = 0;
    }
    mask = tensor(mask.shape, values, DType::bool_);
    const Bias bias = [&](auto b, auto, auto i, auto j) { return mask({b, 0, i, j}) != 0 ? 0 : kHidden; };
    check("fast_sdpa_masked", x, {mask}, {{"scale", kScale}}, bias, false);
    check("fast_sdpa_masked_sinks", x, {mask}, {{"scale", kScale}}, bias, true);
  });
}

TEST_P(Attention, AdditiveMask) {
  each_size_and_dtype([](const Sizes& s, DType d) {
    const Qkv x(s, d);
    Tensor mask = random_tensor({s.q_heads, s.queries, s.keys}, d, 6, -2, 2);
    std::vector<double> values = mask.values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (static_cast<std::int64_t>(k) / s.keys % 5 == 2 || k % 7 == 3) values[k] = kHidden;
    }
    mask = tensor(mask.shape, values, d);
    const Bias bias = [&](auto, auto h, auto i, auto j) { return mask({h, i, j}); };
    check("fast_sdpa_masked", x, {mask}, {{"scale", kScale}}, bias, false);
    check("fast_sdpa_masked_sinks", x, {mask}, {{"scale", kScale}}, bias, true);
  });
}

TEST_P(Attention, Q9_IntegerMaskIsAdded) {
  each_size_and_dtype([](const Sizes& s, DType d) {
    const Qkv x(s, d);
    const Tensor mask = random_tensor({s.keys}, DType::int16, 7, -3, 3);
    const Bias bias = [&](auto, auto, auto, auto j) { return mask({j}); };
    check("fast_sdpa_masked", x, {mask}, {{"scale", kScale}}, bias, false);
  });
}

TEST_P(Attention, CausalKeyMasked) {
  each_size_and_dtype([](const Sizes& s, DType d) {
    const Qkv x(s, d);
    const Tensor key_mask = random_tensor({s.batch, s.keys}, DType::uint8, 8, 0, 4);
    for (const std::int64_t offset : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{2}, s.keys - 1}) {
      const Bias bias = [&](auto b, auto, auto i, auto j) {
        return j <= i + offset && key_mask({b, j}) != 0 ? 0 : kHidden;
      };
      const Builder::Attrs attrs{{"scale", kScale}, {"kv_offset", offset}};
      check("fast_sdpa_causal_key_masked", x, {key_mask}, attrs, bias, false);
      check("fast_sdpa_causal_key_masked_sinks", x, {key_mask}, attrs, bias, true);
    }
  });
}

Tensor heads_first(const Tensor& x) {
  const Shape shape{x.shape[0], x.shape[2], x.shape[1], x.shape[3]};
  std::vector<double> values;
  movement::each(shape, [&](const Shape& i, std::size_t) { values.push_back(x({i[0], i[2], i[1], i[3]})); });
  return tensor(shape, values, x.dtype());
}

Tensor written(const Tensor& cache, const Tensor& rows, std::int64_t start) {
  std::vector<double> values = cache.values;
  movement::each(rows.shape, [&](const Shape& i, std::size_t at) {
    values[movement::position({i[0], start + i[1], i[2], i[3]}, cache.shape)] = rows.values[at];
  });
  return tensor(cache.shape, values, cache.dtype());
}

TEST_P(Attention, KvCacheUpdate) {
  const std::int64_t batch = 2, q_heads = 4, kv_heads = 2, width = 8, capacity = 6;
  for (const DType d : floats()) {
    for (const std::int64_t length : {1, 3, 6}) {
      const Tensor q = random_tensor({batch, length, q_heads, width}, d, 1);
      const Tensor new_k = random_tensor({batch, length, kv_heads, width}, d, 2);
      const Tensor new_v = random_tensor({batch, length, kv_heads, width}, d, 3);
      const Tensor k_cache = random_tensor({batch, capacity, kv_heads, width}, d, 4);
      const Tensor v_cache = random_tensor({batch, capacity, kv_heads, width}, d, 5);
      const Tensor key_mask = tensor({batch, capacity}, {0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1}, DType::bool_);
      for (const std::int64_t offset : {-3, 0, 1, 4, 11}) {
        const std::int64_t start = std::clamp<std::int64_t>(offset, 0, capacity - length);
        const Tensor k = written(k_cache, new_k, start);
        const Tensor v = written(v_cache, new_v, start);
        const Tensor at_offset = tensor({1}, {static_cast<double>(offset)}, DType::int32);
        for (const std::int64_t kv_offset : {std::int64_t{-1}, std::int64_t{0}, capacity - 1}) {
          const std::int64_t reach = kv_offset == -1 ? start : kv_offset;
          const Bias bias = [&](auto b, auto, auto i, auto j) {
            return j <= i + reach && key_mask({b, j}) != 0 ? 0 : kHidden;
          };
          const auto wanted = attention(heads_first(q), heads_first(k), heads_first(v), kScale, bias, {});
          for (std::size_t layout = 0; layout < 5; ++layout) {
            const auto out = run_op("kv_cache_sdpa_update", {{"scale", kScale}, {"kv_offset", kv_offset}},
                                    {q, new_k, new_v, k_cache, v_cache, at_offset, key_mask}, layout);
            ASSERT_EQ(out.size(), 3u);
            EXPECT_TRUE(agrees("kv_cache_sdpa_update", out[0], d, {batch, q_heads, length, width}, wanted))
                << name(d) << " length " << length << " offset " << offset << " kv_offset " << kv_offset;
            // What is written is moved, not computed.
            EXPECT_TRUE(agrees("put_slice", out[1], d, k.shape, [&](const Shape& at) { return k(at); }));
            EXPECT_TRUE(agrees("put_slice", out[2], d, v.shape, [&](const Shape& at) { return v(at); }));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace reprise::conformance
