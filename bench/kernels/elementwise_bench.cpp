// Element-wise programs on both backends.
#include <benchmark/benchmark.h>
#include <mlx/ops.h>
#include <mlx/random.h>

#include "backends/native/elementwise.hpp"
#include "ops/registry.hpp"
#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

mx::array numbers(int n, mx::Dtype dtype) {
  mx::array out = mx::astype(mx::random::normal(mx::Shape{n}), dtype, mx::Device::cpu);
  out.eval();
  return out;
}

Executable compiled(Builder& b, Builder::Values outputs, Backend backend) {
  return compile(b.build(std::move(outputs)).value(), {.backend = backend}).value();
}

void run(benchmark::State& state, const Executable& executable, const std::vector<mx::array>& inputs) {
  for (auto _ : state) benchmark::DoNotOptimize(executable.run(inputs).value());
}

/// y = tanh(x y + y), ten times.
void chain(benchmark::State& state, Backend backend, mx::Dtype dtype) {
  Builder b;
  const auto x = b.input();
  auto y = b.input();
  for (int i = 0; i < 10; ++i) y = b.op("tanh", {b.op("add", {b.op("multiply", {x, y}), y})});
  const int n = static_cast<int>(state.range(0));
  run(state, compiled(b, {y}, backend), {numbers(n, dtype), numbers(n, dtype)});
}

void binary(benchmark::State& state, Backend backend, mx::Dtype dtype, const char* op) {
  Builder b;
  const auto x = b.input(), y = b.input();
  const int n = static_cast<int>(state.range(0));
  run(state, compiled(b, {b.op(op, {x, y})}, backend), {numbers(n, dtype), numbers(n, dtype)});
}

void unary(benchmark::State& state, Backend backend, mx::Dtype dtype, const char* op) {
  Builder b;
  const auto x = b.input();
  const int n = static_cast<int>(state.range(0));
  run(state, compiled(b, {b.op(op, {x})}, backend), {numbers(n, dtype)});
}

/// The step alone, without what a replay costs besides: x * y + 1 of one element.
void step_of_one(benchmark::State& state) {
  native::Group group;
  std::vector<float> memory = {2, 3, 1, 0};
  std::vector<std::byte*> addresses;
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    addresses.push_back(reinterpret_cast<std::byte*>(&memory[slot]));
    if (slot < 3) group.inputs.push_back(native::dense_view(slot, {DType::float32, {}}));
  }
  group.members.push_back({ops::find_def("multiply"), nullptr, {0, 1}, DType::float32, {}});
  group.members.push_back(
      {ops::find_def("add"), nullptr, {3, 2}, DType::float32, native::dense_view(3, {DType::float32, {}})});
  const auto step = native::make_elementwise_step(std::move(group));
  std::vector<std::optional<mx::array>> arrays(4);
  const RunOptions options;
  const native::Frame frame(addresses, arrays, options, 2);
  for (auto _ : state) benchmark::DoNotOptimize(step->run(frame).ok());
}
BENCHMARK(step_of_one);

bool add_all() {
  constexpr int kMillion = 1 << 20;
  for (const auto& [backend, name] : {std::pair(Backend::native, "native"), std::pair(Backend::mlx, "mlx")}) {
    const auto title = [&](const std::string& what) { return what + "/" + name; };
    using benchmark::kMicrosecond;
    const Backend on = backend;
    const auto add = [&](const std::string& what, auto body, int n) {
      benchmark::RegisterBenchmark(title(what).c_str(), body)->Arg(n)->Unit(kMicrosecond)->UseRealTime();
    };
    add(
        "chain10 f32", [on](benchmark::State& s) { chain(s, on, mx::float32); }, kMillion);
    add(
        "chain10 bf16", [on](benchmark::State& s) { chain(s, on, mx::bfloat16); }, kMillion);
    add(
        "add f32", [on](benchmark::State& s) { binary(s, on, mx::float32, "add"); }, kMillion);
    add(
        "add bf16", [on](benchmark::State& s) { binary(s, on, mx::bfloat16, "add"); }, kMillion);
    add(
        "add f32", [on](benchmark::State& s) { binary(s, on, mx::float32, "add"); }, 1);
    add(
        "chain10 f32", [on](benchmark::State& s) { chain(s, on, mx::float32); }, 1);
    for (const char* op : {"pow", "atan2", "remainder", "less"}) {
      add(
          std::string(op) + " f32", [on, op](benchmark::State& s) { binary(s, on, mx::float32, op); }, kMillion);
    }
    for (const char* op : {"exp", "log", "sigmoid", "erf", "sin", "tan", "sqrt", "asinh", "erf_inv"}) {
      add(
          std::string(op) + " f32", [on, op](benchmark::State& s) { unary(s, on, mx::float32, op); }, kMillion);
    }
  }
  return true;
}
const bool added = add_all();

}  // namespace
}  // namespace reprise
