// Attention: heads, key/value heads, queries, keys, features, causal.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/native/kernels/attention.hpp"
#include "reprise/executable.hpp"

namespace reprise::native {
namespace {

void attend(benchmark::State& state) {
  Attention a;
  a.heads = state.range(0);
  a.kv_heads = state.range(1);
  a.queries = state.range(2);
  a.keys = state.range(3);
  a.width = a.value_width = state.range(4);
  a.causal = state.range(5) != 0;
  a.reach = a.keys - a.queries;
  a.scale = 0.125f;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto filled = [&](std::int64_t heads, std::int64_t rows) {
    std::vector<float> out(static_cast<std::size_t>(heads * rows * a.width));
    for (float& v : out) v = normal(random);
    return out;
  };
  const auto q = filled(a.heads, a.queries), k = filled(a.kv_heads, a.keys), v = filled(a.kv_heads, a.keys);
  std::vector<float> out(q.size());
  a.q = {q.data(), DType::float32, 0, a.queries * a.width, a.width};
  a.k = {k.data(), DType::float32, 0, a.keys * a.width, a.width};
  a.v = {v.data(), DType::float32, 0, a.keys * a.width, a.width};
  a.out = out.data();
  const int team = threads();
  for (auto _ : state) {
    attention(a, team);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(attend)
    ->Args({9, 9, 512, 512, 64, 1})
    ->Args({9, 9, 512, 512, 64, 0})
    ->Args({9, 3, 128, 512, 64, 1})
    ->Args({9, 3, 1, 512, 64, 1})
    ->Args({32, 8, 1, 4096, 128, 1})
    ->UseRealTime();

}  // namespace
}  // namespace reprise::native
