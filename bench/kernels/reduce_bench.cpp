// Reductions, running reductions, windows, normalisations and the copy of a transposed array, on both backends. The
// machine may be busy with other work: min_ms, of a single run, counts.
#include <benchmark/benchmark.h>
#include <mlx/ops.h>
#include <mlx/random.h>

#include <algorithm>
#include <chrono>

#include "reprise/executable.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

struct Row {
  const char* name;
  const char* body;  // of a program of x (1024 x 1024), images (1 x 56 x 56 x 64), weights (1024)
};

constexpr Row kRows[] = {
    {"softmax",
     "%0 = reduce_max in0 {axes = [1], keep_axes = true}\n%1 = subtract in0, %0\n%2 = exp %1\n"
     "%3 = sum %2 {axes = [1], keep_axes = true}\n%4 = divide %2, %3\nreturn %4"},
    {"layer_norm", "%0 = fast_layer_norm in0, in2, in2 {eps = 1e-5}\nreturn %0"},
    {"rms_norm", "%0 = fast_rms_norm in0, in2 {eps = 1e-5}\nreturn %0"},
    {"sum all", "%0 = sum in0 {axes = [0, 1], keep_axes = false}\nreturn %0"},
    {"sum axis 0", "%0 = sum in0 {axes = [0], keep_axes = false}\nreturn %0"},
    {"sum axis 1", "%0 = sum in0 {axes = [1], keep_axes = false}\nreturn %0"},
    {"sum of products", "%0 = multiply in0, in0\n%1 = sum %0 {axes = [1], keep_axes = false}\nreturn %1"},
    {"max axis 1", "%0 = reduce_max in0 {axes = [1], keep_axes = false}\nreturn %0"},
    {"argmax axis 1", "%0 = argmax in0 {axis = 1, keep_axis = false}\nreturn %0"},
    {"cumsum rows", "%0 = cumulative_sum in0 {axis = 1, reverse = false}\nreturn %0"},
    {"cumsum columns", "%0 = cumulative_sum in0 {axis = 0, reverse = false}\nreturn %0"},
    {"transpose", "%0 = transpose in0 {axes = [1, 0]}\n%1 = reshape %0 {shape = [1048576]}\nreturn %1"},
    {"max pool 3x3 by 2",
     "%0 = window_max in1 {low = [0, 0, 0, 0], high = [0, 0, 0, 0], strides = [1, 2, 2, 1], sizes = [1, 3, 3, 1], "
     "dilations = [1, 1, 1, 1]}\nreturn %0"},
    {"sum pool 2x2 by 2",
     "%0 = window_sum in1 {low = [0, 0, 0, 0], high = [0, 0, 0, 0], strides = [1, 2, 2, 1], sizes = [1, 2, 2, 1], "
     "dilations = [1, 1, 1, 1]}\nreturn %0"},
    {"max along rows, 64 by 1",
     "%0 = window_max in0 {low = [0, 32], high = [0, 31], strides = [1, 1], sizes = [1, 64], dilations = [1, 1]}\n"
     "return %0"},
    {"max pool, last axes 2x2 by 2",
     "%0 = window_max in0 {low = [0, 0], high = [0, 0], strides = [2, 2], sizes = [2, 2], dilations = [1, 1]}\n"
     "return %0"},
};

void run(benchmark::State& state, const Row& row, Backend backend) {
  const Program program = parse_program(std::string("reprise 1\ninputs 3\n") + row.body).value();
  const Executable executable = compile(program, {.backend = backend}).value();
  std::vector<mx::array> inputs;
  for (const mx::Shape& shape : {mx::Shape{1024, 1024}, mx::Shape{1, 56, 56, 64}, mx::Shape{1024}}) {
    inputs.push_back(mx::astype(mx::random::normal(shape), mx::float32, mx::Device::cpu));
    inputs.back().eval();
  }
  std::vector<double> times;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(executable.run(inputs).value());
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  state.counters["min_ms"] = times.front();
  state.counters["median_ms"] = times[times.size() / 2];
}

bool add_all() {
  for (const auto& [backend, name] : {std::pair(Backend::native, "native"), std::pair(Backend::mlx, "mlx")}) {
    for (const Row& row : kRows) {
      const Backend on = backend;
      benchmark::RegisterBenchmark((std::string(row.name) + "/" + name).c_str(),
                                   [&row, on](benchmark::State& state) { run(state, row, on); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime()
          ->MinTime(0.3);
    }
  }
  return true;
}

const bool added = add_all();

}  // namespace
}  // namespace reprise
