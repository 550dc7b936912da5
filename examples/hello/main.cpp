// A small program, built by hand, compiled once and run twice: y = tanh(x * w + 1), and the sum of y.
#include <mlx/mlx.h>

#include <iostream>
#include <reprise/builder.hpp>
#include <reprise/executable.hpp>

namespace {

int fail(const reprise::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

}  // namespace

int main() {
  reprise::Builder b;
  const auto x = b.input();
  const auto w = b.capture(mlx::core::array({0.5f, -1.0f, 2.0f}), "w");
  const auto y = b.tanh(x * w + b.constant(1.0f));
  const auto program = b.build({y, b.op("sum", {y}, {{"axes", {0}}})});
  if (!program) return fail(program.error());

  const auto executable = reprise::compile(*program);
  if (!executable) return fail(executable.error());
  for (const float first : {0.0f, 2.0f}) {
    const auto outputs = executable->run({mlx::core::array({first, 1.0f, -0.5f})});
    if (!outputs) return fail(outputs.error());
    std::cout << "sum of " << (*outputs)[0] << " is " << (*outputs)[1].item<float>() << '\n';
  }
  const auto stats = executable->stats();
  std::cout << stats.runs << " runs, " << stats.specialisations << " specialisation\n";
}
