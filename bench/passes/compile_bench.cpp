// What it takes to make a program ready: verification, inference, passes and planning, by number of instructions.
#include <benchmark/benchmark.h>
#include <mlx/mlx.h>

#include "passes/passes.hpp"
#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise {
namespace {

// Blocks of a norm, two products and a gated activation, with something for each pass: duplicates, constants, casts.
Program layers(std::int64_t instructions) {
  constexpr std::int64_t kWidth = 32;
  Builder b;
  Value x = b.input();
  const Value w = b.capture(mlx::core::full({kWidth, kWidth}, 0.01f), "w");
  const Value gain = b.capture(mlx::core::full({kWidth}, 1.0f), "gain");
  for (std::int64_t written = 0; written + 25 <= instructions; written += 25) {
    const Value mean = b.divide(b.sum(b.multiply(x, x), {1}, true), b.constant(static_cast<float>(kWidth)));
    const Value norm = b.multiply(b.multiply(x, b.rsqrt(b.add(mean, b.constant(1e-5f)))), gain);
    const Value gate = b.matmul(norm, w);
    const Value up = b.matmul(norm, b.transpose(b.transpose(w, {1, 0}), {1, 0}));
    const Value active = b.multiply(b.multiply(gate, b.sigmoid(gate)), up);
    const Value again = b.multiply(b.multiply(gate, b.sigmoid(gate)), up);
    const Value scale = b.divide(b.constant(1.0f), b.constant(4.0f));
    const Value one = b.astype(b.multiply(active, b.constant(1.0f)), DType::float32);
    x = b.add(x, b.multiply(b.add(one, again), scale));
  }
  return b.build({x}).value();
}

const TensorType kInput{DType::float32, {4, 32}};

void verify_and_infer(benchmark::State& state) {
  const Program program = layers(state.range(0));
  for (auto _ : state) {
    auto verified = std::make_shared<const VerifiedProgram>(verify(program).value());
    benchmark::DoNotOptimize(infer(verified, std::span(&kInput, 1)).value());
  }
  state.counters["instructions"] = static_cast<double>(program->instructions.size());
}

void passes_alone(benchmark::State& state) {
  auto verified = std::make_shared<const VerifiedProgram>(verify(layers(state.range(0))).value());
  auto typed = std::make_shared<const TypedProgram>(infer(verified, std::span(&kInput, 1)).value());
  for (auto _ : state) {
    const pass::Optimised made = pass::optimise(typed, {}).value();
    for (const pass::PassRun& run : made.runs) state.counters[std::string(run.name)] = run.milliseconds;
  }
}

// All of compile() and specialise().
void whole(benchmark::State& state, Backend backend, const char* disabled) {
  const Program program = layers(state.range(0));
  for (auto _ : state) {
    CompileOptions options{.backend = backend};
    if (disabled) options.disabled_passes.emplace_back(disabled);
    compile(program, options).value().specialise(std::span(&kInput, 1)).value();
  }
}

BENCHMARK(verify_and_infer)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(passes_alone)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole, mlx, Backend::mlx, nullptr)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
#ifdef REPRISE_NATIVE
BENCHMARK_CAPTURE(whole, native, Backend::native, nullptr)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole, native_without_passes, Backend::native, "all")
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);
#endif

}  // namespace
}  // namespace reprise
