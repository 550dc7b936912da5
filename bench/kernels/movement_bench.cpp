// Sorts, gathers, scatters and windows on both backends.
#include <benchmark/benchmark.h>
#include <mlx/ops.h>
#include <mlx/random.h>

#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

mx::array numbers(mx::Shape shape, mx::Dtype dtype = mx::float32) {
  mx::array out = mx::astype(mx::random::normal(std::move(shape)), dtype, mx::Device::cpu);
  out.eval();
  return out;
}

mx::array places(mx::Shape shape, int size) {
  mx::array out = mx::random::randint(0, size, std::move(shape), mx::int32, std::nullopt, mx::Device::cpu);
  out.eval();
  return out;
}

void run(benchmark::State& state, Backend backend, const char* op, const Builder::Attrs& attrs,
         const std::vector<mx::array>& inputs) {
  Builder b;
  Builder::Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(b.input());
  const Executable executable = compile(b.build({b.op(op, values, attrs)}).value(), {.backend = backend}).value();
  for (auto _ : state) benchmark::DoNotOptimize(executable.run(inputs).value());
}

/// A cache that goes in and comes out, with one row written.
void cache(benchmark::State& state, Backend backend) {
  Builder b;
  const auto x = b.input(), update = b.input(), start = b.input();
  const Builder::Attrs attrs{
      {"dynamic_mask", 1}, {"input_shape", {4096, 1024}}, {"lengths", {1, 1024}}, {"starts", {0, 0}}};
  const Executable executable =
      compile(b.build({b.op("put_slice", {x, update, start}, attrs)}).value(), {.backend = backend}).value();
  mx::array held = numbers({4096, 1024});
  const mx::array row = numbers({1, 1024}), at = places({}, 4096);
  for (auto _ : state) {
    std::vector<mx::array> inputs;
    inputs.push_back(std::move(held));
    inputs.push_back(row);
    inputs.push_back(at);
    held = executable.run(std::move(inputs)).value().at(0);
  }
}

bool add_all() {
  for (const auto& [backend, name] : {std::pair(Backend::native, "native"), std::pair(Backend::mlx, "mlx")}) {
    const auto add = [&, on = backend, name = name](const std::string& what, const char* op, Builder::Attrs attrs,
                                                    std::vector<mx::array> inputs) {
      benchmark::RegisterBenchmark((what + "/" + name).c_str(),
                                   [=](benchmark::State& s) { run(s, on, op, attrs, inputs); })
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime()
          ->MeasureProcessCPUTime();
    };
    constexpr int kMillion = 1 << 20;
    const mx::array line = numbers({kMillion}), square = numbers({1024, 1024}), table = numbers({32768, 1024});
    add("sort 1M f32", "sort", {{"axis", 0}}, {line});
    add("sort 1M f64", "sort", {{"axis", 0}}, {mx::astype(line, mx::float64, mx::Device::cpu)});
    add("sort 1M i32", "sort", {{"axis", 0}}, {places({kMillion}, 1 << 30)});
    add("sort 1M bf16", "sort", {{"axis", 0}}, {numbers({kMillion}, mx::bfloat16)});
    add("sort 1024x1024 f32", "sort", {{"axis", 1}}, {square});
    add("sort 1024x1024 f32 columns", "sort", {{"axis", 0}}, {square});
    add("argsort 1M f32", "argsort", {{"axis", 0}}, {line});
    add("argsort 1024x1024 f32", "argsort", {{"axis", 1}}, {square});
    add("argsort 1024x1024 f32 descending", "argsort", {{"axis", 1}, {"ascending", false}}, {square});
    add("argsort 1024x1024 bf16", "argsort", {{"axis", 1}}, {numbers({1024, 1024}, mx::bfloat16)});
    add("argsort 16x50257 f32", "argsort", {{"axis", 1}}, {numbers({16, 50257})});
    add("take 8192 rows of 1024 f32", "take", {{"axis", 0}}, {table, places({8192}, 32768)});
    add("take 1M elements", "take", {{"axis", 0}}, {line, places({kMillion}, kMillion)});
    add("take 512 columns of 1024x1024", "take", {{"axis", 1}}, {square, places({512}, 1024)});
    add("take_along_axis 1024x1024 rows", "take_along_axis", {{"axis", 1}}, {square, places({1024, 1024}, 1024)});
    add("take_along_axis 1024x1024 columns", "take_along_axis", {{"axis", 0}}, {square, places({1024, 1024}, 1024)});
    add("gather 64K places of 1024x1024", "gather", {{"axes", {0, 1}}, {"slice_sizes", {1, 1}}, {"shape", {65536}}},
        {square, places({65536, 2}, 1024)});
    const Builder::Attrs rows{{"axes", {0}}, {"updates_shape", {1024, 1, 1024}}};
    add("indexed_add 1024 rows to 1024x1024", "indexed_add", rows, {square, places({1024, 1}, 1024), square});
    add("indexed_put 1024 rows to 1024x1024", "indexed_put", rows, {square, places({1024, 1}, 1024), square});
    add("indexed_add 1M elements", "indexed_add", {{"axes", {0}}, {"updates_shape", {kMillion, 1}}},
        {line, places({kMillion, 1}, kMillion), line});
    add("pad 1024x1024 by 1", "pad", {{"low", {1, 1}}, {"high", {1, 1}}, {"interior", {0, 0}}},
        {square, mx::array(0.0f)});
    add("slice 512x1024 at run time", "slice",
        {{"dynamic_mask", 1},
         {"input_shape", {1024, 1024}},
         {"lengths", {512, 1024}},
         {"strides", {1, 1}},
         {"starts", {0, 0}}},
        {square, places({}, 512)});
    add("iota 1024x1024 f32", "iota", {{"dtype", DType::float32}, {"axis", 1}, {"shape", {1024, 1024}}}, {});
    benchmark::RegisterBenchmark((std::string("put_slice of a row, donated/") + name).c_str(),
                                 [on = backend](benchmark::State& s) { cache(s, on); })
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime()
        ->MeasureProcessCPUTime();
  }
  return true;
}
[[maybe_unused]] const bool added = add_all();

}  // namespace
}  // namespace reprise
