// B116: a loop of many turns does not build up a graph.
#include <chrono>

#include "base/machine.hpp"
#include "runtime/support.hpp"

namespace reprise {
namespace {

TEST(LongLoop, B116_MemoryStaysFlat) {
  const Executable exe = compiled(R"(inputs 2
    const0 = 1 : s32
    const1 = 0.5 : f32
    const2 = 1.0 : f32
    %0, %1 = while in0, in1 {
      cond {
        return carry0
      }
      body {
        %0 = subtract carry0, const0
        %1 = multiply carry1, const1
        %2 = add %1, const2
        return %0, %2
      }
    }
    return %1
  )");
  run(exe, {integer(1000), filled({64}, 0)});  // warm-up
  const auto before = resident_bytes();
  const auto start = std::chrono::steady_clock::now();
  constexpr int kTurns = 100000;
  const auto out = values(run(exe, {integer(kTurns), filled({64}, 0)})[0]);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  std::printf("%.1f us a turn\n", took.count() / kTurns);
  for (const double v : out) EXPECT_NEAR(v, 2.0, 1e-6);
  // One array of a turn kept would be more than 5 MiB.
  if (!kSanitized) {
    EXPECT_LT(resident_bytes() - before, 2 << 20);
  }
}

}  // namespace
}  // namespace reprise
