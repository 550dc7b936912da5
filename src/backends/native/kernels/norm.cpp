#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/norm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/native/kernels/exp.inl.hpp"
#include "backends/native/kernels/floats.inl.hpp"
#include "backends/native/kernels/norm.hpp"
#include "backends/native/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

float* norm_buffer(std::vector<float>& v, std::int64_t n) {
  if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
  return v.data();
}

// Elements [at, at + n) as float32: where they lie, or in the buffer.
const float* floats_at(const FloatArray& x, std::int64_t at, std::int64_t n, std::vector<float>& buffer) {
  if (x.type == DType::float32) return static_cast<const float*>(x.data) + at;
  float* to = norm_buffer(buffer, n);
  load_floats(static_cast<const char*>(x.data) + at * static_cast<std::int64_t>(size_of(x.type)), x.type, to, n);
  return to;
}

// Sum of (x - mean)^2, or of x itself.
template <bool kSquares>
HWY_INLINE float sum_of(const float* HWY_RESTRICT x, std::int64_t count, float mean) {
  const hn::ScalableTag<float> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const auto middle = hn::Set(d, mean);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto add = [&](std::int64_t i, auto sum) {
    const auto v = hn::LoadU(d, x + i);
    if constexpr (!kSquares) return hn::Add(sum, v);
    const auto off = hn::Sub(v, middle);
    return hn::MulAdd(off, off, sum);
  };
  std::int64_t i = 0;
  for (; i + 4 * n <= count; i += 4 * n) {
    s0 = add(i, s0);
    s1 = add(i + n, s1);
    s2 = add(i + 2 * n, s2);
    s3 = add(i + 3 * n, s3);
  }
  for (; i + n <= count; i += n) s0 = add(i, s0);
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; ++i) sum += kSquares ? (x[i] - mean) * (x[i] - mean) : x[i];
  return sum;
}

void normalise_rows(const Normalisation& n, std::int64_t begin, std::int64_t end) {
  thread_local std::vector<float> xs, weights, biases, results;
  const float* weight = floats_at(n.weight, 0, n.width, weights);
  const float* bias = n.bias.data ? floats_at(n.bias, 0, n.width, biases) : nullptr;
  const auto bytes = static_cast<std::int64_t>(size_of(n.out_type));
  const auto count = static_cast<float>(n.width);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* HWY_RESTRICT x = floats_at(n.x, r * n.width, n.width, xs);
    const float mean = n.centre ? sum_of<false>(x, n.width, 0) / count : 0;
    const float factor = 1 / std::sqrt(sum_of<true>(x, n.width, mean) / count + n.eps);
    void* to = static_cast<char*>(n.out) + r * n.width * bytes;
    float* HWY_RESTRICT out = n.out_type == DType::float32 ? static_cast<float*>(to) : norm_buffer(results, n.width);
    if (bias) {
      for (std::int64_t i = 0; i < n.width; ++i) out[i] = (x[i] - mean) * factor * weight[i] + bias[i];
    } else {
      for (std::int64_t i = 0; i < n.width; ++i) out[i] = (x[i] - mean) * factor * weight[i];
    }
    if (n.out_type != DType::float32) store_floats(out, n.out_type, to, n.width);
  }
}

// A row stays in the first-level cache, or at least in the second, between the passes over it.
void softmax_rows(const float* from, float* to, std::int64_t width, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const auto greater = [](auto a, auto b) { return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a); };
  for (std::int64_t r = begin; r < end; ++r) {
    const float* HWY_RESTRICT x = from + r * width;
    float* HWY_RESTRICT out = to + r * width;
    const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto m0 = least, m1 = least, m2 = least, m3 = least;
    std::int64_t i = 0;
    for (; i + 4 * n <= width; i += 4 * n) {
      m0 = greater(m0, hn::LoadU(d, x + i));
      m1 = greater(m1, hn::LoadU(d, x + i + n));
      m2 = greater(m2, hn::LoadU(d, x + i + 2 * n));
      m3 = greater(m3, hn::LoadU(d, x + i + 3 * n));
    }
    for (; i + n <= width; i += n) m0 = greater(m0, hn::LoadU(d, x + i));
    m0 = greater(greater(m0, m1), greater(m2, m3));
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(m0, d, lanes);
    float most = lanes[0];
    const auto join = [&](float v) { most = v > most || v != v ? v : most; };
    for (std::int64_t j = 1; j < n; ++j) join(lanes[j]);
    for (; i < width; ++i) join(x[i]);

    const auto middle = hn::Set(d, most);
    const auto weight = [&](auto v) { return exp_negative<true>(d, hn::Sub(v, middle)); };
    auto s0 = hn::Zero(d), s1 = s0;
    i = 0;
    for (; i + 2 * n <= width; i += 2 * n) {
      const auto w0 = weight(hn::LoadU(d, x + i)), w1 = weight(hn::LoadU(d, x + i + n));
      hn::StoreU(w0, d, out + i);
      hn::StoreU(w1, d, out + i + n);
      s0 = hn::Add(s0, w0);
      s1 = hn::Add(s1, w1);
    }
    for (; i < width; i += n) {
      const auto rest = hn::FirstN(d, static_cast<std::size_t>(std::min(n, width - i)));
      const auto w = hn::IfThenElseZero(rest, weight(hn::MaskedLoad(rest, d, x + i)));
      hn::BlendedStore(w, rest, d, out + i);
      s0 = hn::Add(s0, w);
    }
    const float factor = 1 / hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
    for (std::int64_t j = 0; j < width; ++j) out[j] *= factor;
  }
}

void swiglu_part(FloatArray gate, FloatArray up, void* out, DType out_type, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kPiece = 1024;
  thread_local std::vector<float> gates, ups, results;
  const hn::ScalableTag<float> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f);
  const auto value = [&](auto g, auto u) {
    // Squared: below -87 the exponential alone would be 0, times a large `up` it need not be.
    const auto root = exp_negative(d, hn::Mul(hn::Abs(g), hn::Set(d, -0.5f)));
    const auto e = hn::Mul(root, root);
    // Never overflows: sigmoid(g) = e^g / (1 + e^g) for g < 0.
    const auto sigmoid = hn::Div(hn::IfThenElse(hn::Lt(g, hn::Zero(d)), e, one), hn::Add(one, e));
    return hn::Mul(hn::Mul(g, sigmoid), u);
  };
  const auto bytes = static_cast<std::int64_t>(size_of(out_type));
  for (std::int64_t at = begin; at < end; at += kPiece) {
    const std::int64_t count = std::min(kPiece, end - at);
    const float* g = floats_at(gate, at, count, gates);
    const float* u = floats_at(up, at, count, ups);
    void* to = static_cast<char*>(out) + at * bytes;
    float* result = out_type == DType::float32 ? static_cast<float*>(to) : norm_buffer(results, kPiece);
    std::int64_t i = 0;
    for (; i + n <= count; i += n) hn::StoreU(value(hn::LoadU(d, g + i), hn::LoadU(d, u + i)), d, result + i);
    if (i < count) {
      const auto rest = hn::FirstN(d, static_cast<std::size_t>(count - i));
      hn::BlendedStore(value(hn::MaskedLoad(rest, d, g + i), hn::MaskedLoad(rest, d, u + i)), rest, d, result + i);
    }
    if (out_type != DType::float32) store_floats(result, out_type, to, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(normalise_rows);
HWY_EXPORT(softmax_rows);
HWY_EXPORT(swiglu_part);

}  // namespace

void normalise(const Normalisation& n, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(normalise_rows);
  parallel_for(threads, n.rows, std::max<std::int64_t>(1, kParallelGrain / std::max<std::int64_t>(1, n.width)),
               [&](std::int64_t begin, std::int64_t end) { part(n, begin, end); });
}

void softmax(const float* x, float* out, std::int64_t rows, std::int64_t width, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(softmax_rows);
  parallel_for(threads, rows, std::max<std::int64_t>(1, kParallelGrain / 4 / width),
               [&](std::int64_t begin, std::int64_t end) { part(x, out, width, begin, end); });
}

void swiglu(FloatArray gate, FloatArray up, void* out, DType out_type, std::int64_t n, int threads) {
  const auto part = HWY_DYNAMIC_DISPATCH(swiglu_part);
  parallel_for(threads, n, kParallelGrain / 4,
               [&](std::int64_t begin, std::int64_t end) { part(gate, up, out, out_type, begin, end); });
}

}  // namespace reprise::native
#endif
