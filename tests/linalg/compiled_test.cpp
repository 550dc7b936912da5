// Factorisations inside graphs that MLX compiles, as it does on a GPU, tried out on the CPU.
#include "backends/mlx/graph_function.hpp"
#include "backends/mlx/worker.hpp"
#include "linalg/matrices.hpp"

namespace reprise::movement {
namespace {

using mlx_backend::WorkerContext;

// The op's results, then its checks, as a function of its operands.
std::unique_ptr<const mlx_backend::GraphFunction> compiled(std::string_view name, const std::vector<TensorType>& types,
                                                           mx::Stream stream) {
  const ops::OpDef& op = *ops::find_def(name);
  const ops::Types results = op.infer(ops::InferContext{op, types}, nullptr).value();
  std::vector<array> inputs;
  for (const TensorType& t : types) {
    inputs.push_back(mlx_backend::placeholder(to_mlx(t.shape), to_mlx(t.dtype)));
  }
  std::vector<mlx_backend::Check> checks;
  std::vector<array> outputs = mlx_backend::lowering_of(op).lower({op, inputs, results, stream, &checks}, nullptr);
  for (const auto& check : checks) outputs.push_back(check.failed);
  return mlx_backend::make_graph_function(mlx_backend::Tape::record(inputs, outputs), Device::cuda(), stream);
}

std::vector<array> forced(std::vector<array> arrays) {
  mx::eval(arrays);
  return arrays;
}

TEST(CompiledLinalg, SolveAndItsCheck) {
  mlx_backend::run_on_worker(Device::cpu(), [](const WorkerContext& worker) {
    const auto solve = compiled("solve", {{float32, {2, 2}}, {float32, {2}}}, worker.stream);
    for (int again = 0; again < 3; ++again) {
      const auto good = forced(solve->call({make({2, 2}, {4, 2, 2, 3}), make({2}, {2, 1})}));
      EXPECT_TRUE(equals(good[0], {2}, {0.5, 0}, 1e-6));
      EXPECT_TRUE(equals(good[1], {}, {0}));
      const auto bad = forced(solve->call({make({2, 2}, {1, 2, 2, 4}), make({2}, {2, 1})}));
      EXPECT_TRUE(equals(bad[1], {}, {1}));
    }
  });
}

TEST(CompiledLinalg, SeveralResults) {
  mlx_backend::run_on_worker(Device::cpu(), [](const WorkerContext& worker) {
    const auto svd = compiled("svd", {{complex64, {28, 16}}}, worker.stream);
    const auto lu = compiled("lu", {{float32, {5, 4}}}, worker.stream);
    for (unsigned again = 1; again < 4; ++again) {
      const array a = random({28, 16}, complex64, again);
      const auto s = forced(svd->call({a}));
      const Matrix back = first_columns(matrices(s[0])[0], 16) * diagonal(vectors(s[1])[0]) * matrices(s[2])[0];
      EXPECT_LT(greatest(back - matrices(a)[0]), 1e-4);
      const array b = random({5, 4}, float32, again);
      const auto factors = forced(lu->call({b}));
      const Matrix product = matrices(factors[1])[0] * matrices(factors[2])[0];
      const auto p = vectors(factors[0])[0];
      for (std::int64_t i = 0; i < 5; ++i) {
        const auto from = static_cast<std::int64_t>(p[static_cast<std::size_t>(i)].real());
        EXPECT_LT(std::abs(product(from, 1) - matrices(b)[0](i, 1)), 1e-5);
      }
    }
  });
}

}  // namespace
}  // namespace reprise::movement
