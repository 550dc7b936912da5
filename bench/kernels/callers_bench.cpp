// Many callers of one program at once: the whole work should take about as long as the same work done in turn.
//
//   callers_bench     compare items_per_second of 1 and of 16 threads
#include <benchmark/benchmark.h>
#include <mlx/mlx.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "reprise/executable.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

constexpr std::string_view kProgram = R"(
  reprise 1
  inputs 2
  %0 = dot in0, in1 {contract_a = [1], batch_a = [], contract_b = [0], batch_b = []}
  %1 = tanh %0
  %2 = softmax %1 {axes = [1]}
  %3 = sum %2 {axes = [0], keep_axes = false}
  return %3
)";

mlx::core::array numbers(int rows, int columns) {
  std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  return mlx::core::array(values.begin(), {rows, columns});
}

void callers(benchmark::State& state) {
  static const Executable executable = compile(parse_program(kProgram).value()).value();
  static const std::vector<mlx::core::array> inputs{numbers(256, 256), numbers(256, 256)};
  for (auto _ : state) {
    auto out = executable.run(inputs);
    if (!out) return state.SkipWithError(out.error().message().c_str());
    benchmark::DoNotOptimize(out);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(callers)->Threads(1)->Threads(2)->Threads(16)->UseRealTime();

}  // namespace
}  // namespace reprise
