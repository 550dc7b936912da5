// Products with packed weights: rows of x, N, K, bits. The counter is GFLOP/s.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/native/kernels/quantized.hpp"
#include "reprise/executable.hpp"

namespace reprise::native {
namespace {

struct Data {
  std::vector<std::uint32_t> codes;
  std::vector<float> scales, biases, x, out;
  QuantizedMatrix w;

  Data(std::int64_t m, std::int64_t n, std::int64_t k, int bits) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    w.rows = n;
    w.columns = k;
    w.bits = bits;
    codes.resize(static_cast<std::size_t>(n * k / 32 * bits));
    for (auto& c : codes) c = static_cast<std::uint32_t>(random());
    scales.resize(static_cast<std::size_t>(n * w.groups()));
    for (auto& s : scales) s = normal(random);
    biases = scales;
    x.resize(static_cast<std::size_t>(m * k));
    for (auto& v : x) v = normal(random);
    out.resize(static_cast<std::size_t>(m * n));
    w.codes = codes.data();
    w.scales = scales.data();
    w.biases = biases.data();
  }
};

template <auto Kernel>
void product(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Data data(m, n, k, static_cast<int>(state.range(3)));
  const int team = threads();
  for (auto _ : state) {
    Kernel(data.x.data(), m, data.w, data.out.data(), team);
    benchmark::ClobberMemory();
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * n * k) * rounds, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(
      1e-9 * static_cast<double>(n * (data.w.row_bytes() + 8 * data.w.groups())) * rounds, benchmark::Counter::kIsRate);
}

void few(benchmark::internal::Benchmark* b) {
  b->Args({1, 1024, 1024, 4})->Args({1, 1536, 576, 4})->Args({1, 576, 1536, 4})->Args({1, 192, 576, 4});
  b->Args({1, 49152, 576, 4})->Args({4, 1024, 1024, 4})->Args({8, 1536, 576, 4})->Args({12, 1536, 576, 4});
  b->Args({1, 1024, 1024, 8})->Args({1, 1024, 1024, 3})->UseRealTime();
}

void many(benchmark::internal::Benchmark* b) {
  b->Args({8, 1536, 576, 4})->Args({12, 1536, 576, 4})->Args({32, 1536, 576, 4})->Args({64, 1024, 1024, 4});
  b->Args({128, 1536, 576, 4})->Args({128, 576, 1536, 4})->Args({128, 192, 576, 4});
  b->Args({128, 1024, 1024, 8})->Args({128, 1024, 1024, 6})->UseRealTime();
}

BENCHMARK(product<quantized_rows_integer>)->Apply(few);
BENCHMARK(product<quantized_rows_float>)->Apply(few);
BENCHMARK(product<quantized_panels>)->Apply(many);

}  // namespace
}  // namespace reprise::native
