// Convolutions that several threads share: oneDNN's fast kernels take each part, and the parts join without a seam.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include "native/plan_run.hpp"
#include "reprise/builder.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

constexpr int kThreads = 3;

struct Shared {
  std::int64_t images, rows, stride, low, high, dilation;
};

TEST(NativeConv, PartsRunOnFastKernelsAndJoin) {
  ASSERT_TRUE(set_threads(kThreads).ok());
  for (const Shared& s : {Shared{1, 56, 1, 1, 1, 1}, Shared{2, 40, 1, 1, 1, 1}, Shared{3, 20, 1, 1, 1, 1},
                          Shared{1, 57, 2, 1, 0, 1}, Shared{1, 41, 1, 0, 2, 2}}) {
    const std::string what = fmt::format("{} images of {} rows, stride {}, padding {} and {}, dilation {}", s.images,
                                         s.rows, s.stride, s.low, s.high, s.dilation);
    Builder b;
    const auto x = b.input();
    const auto w = b.input();
    const auto y = b.op("conv_general", {x, w},
                        {{"strides", {s.stride, 1}},
                         {"low", {s.low, 1}},
                         {"high", {s.high, 1}},
                         {"kernel_dilation", {s.dilation, 1}},
                         {"input_dilation", {1, 1}},
                         {"groups", 1}});
    const Program program = b.build({y}).value();
    const mx::StreamOrDevice cpu = mx::Device::cpu;
    std::vector<mx::array> inputs{
        mx::random::normal({static_cast<int>(s.images), static_cast<int>(s.rows), 56, 64}, mx::random::key(1), cpu),
        mx::random::normal({64, 3, 3, 64}, mx::random::key(2), cpu)};
    for (mx::array& in : inputs) in.eval();

    const Replayer replayer = replayer_of(program, inputs);
    std::string steps;
    for (const auto& step : replayer.plan().steps) steps += step->describe() + "\n";
    EXPECT_EQ(steps.find("mlx:"), std::string::npos) << what << "\n" << steps;
    EXPECT_NE(steps.find("parts"), std::string::npos) << what << "\n" << steps;
    const auto wanted = compile(program, {.backend = Backend::mlx}).value().run(inputs).value();
    for (const int threads : {1, kThreads}) {
      const auto got = replayer.run(inputs, {}, threads).value();
      const auto apart = mx::max(mx::abs(mx::subtract(got[0], wanted[0], cpu), cpu), cpu).item<float>();
      EXPECT_LT(apart, 1e-3F) << what << ", " << threads << " threads";  // sums of 576 terms, up to about 100
    }
  }
}

}  // namespace
}  // namespace reprise::native
