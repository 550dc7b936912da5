// Programs of many instructions.
#include <chrono>

#include "runtime/support.hpp"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// abs, add, abs, add, ...: no two instructions are equal.
Program chain(int length) {
  ProgramData data;
  data.num_inputs = 1;
  data.constants = {Constant::of(1.0, DType::float32)};
  Ref last = input(0);
  for (int i = 0; i < length; ++i) {
    if (i % 2 == 0) {
      data.instructions.push_back({"abs", {last}, {}, {}});
    } else {
      data.instructions.push_back({"add", {last, constant(0)}, {}, {}});
    }
    last = result(i);
  }
  data.outputs = {last};
  data.num_real_outputs = 1;
  return Program(std::move(data));
}

// Recursion over it, in compiling, running or destroying, would end the process.
TEST(LargeProgram, ADeepChainDoesNotOverflowTheStack) {
  for (int round = 0; round < 2; ++round) {
    const Executable exe = compile(chain(20000)).value();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(values(run(exe, {scalar(-3)})[0]), std::vector<double>{10003});
  }
}

TEST(LargeProgram, CompileTime) {
  const Program program = chain(10000);
  const auto start = Clock::now();
  const Executable exe = compile(program).value();
  const auto compiled_at = Clock::now();
  ASSERT_TRUE(exe.specialise(std::vector{TensorType{DType::float32, {}}}).ok());
  const auto specialised_at = Clock::now();
  run(exe, {scalar(1)});
  const auto done = Clock::now();
  std::printf("10000 instructions: compile %.3f s, specialise %.3f s, run %.3f s\n",
              Seconds(compiled_at - start).count(), Seconds(specialised_at - compiled_at).count(),
              Seconds(done - specialised_at).count());
}

// Loops cut the program into stages; that must not cost their product.
TEST(LargeProgram, ManyLoops) {
  Builder b;
  Value x = b.input();
  const Value limit = b.constant(1e6f);
  for (int i = 0; i < 500; ++i) {
    x = b.while_loop(
        {x, b.constant(true)}, [](Builder&, std::span<const Value> carry) { return carry[1]; },
        [](Builder& in, std::span<const Value> carry) {
          return Builder::Values{carry[0] + in.constant(1.0f), in.constant(false)};
        })[0];
    for (int k = 0; k < 10; ++k) x = b.minimum(x, limit);
  }
  const auto start = Clock::now();
  const Executable exe = compiled(b, {x});
  EXPECT_EQ(values(run(exe, {scalar(0)})[0]), std::vector<double>{500});
  std::printf("500 loops: %.3f s\n", Seconds(Clock::now() - start).count());
}

}  // namespace
}  // namespace reprise
