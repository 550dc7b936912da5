// Loops in native plans, against MLX and against what they must count.
#include <cmath>
#include <limits>

#include "runtime/support.hpp"

namespace reprise {
namespace {

Executable on(Backend backend, std::string_view text) { return compiled(text, {.backend = backend}); }

void same_on_both(std::string_view text, const Arrays& inputs) {
  const Arrays native = run(on(Backend::native, text), inputs);
  const Arrays mlx = run(on(Backend::mlx, text), inputs);
  ASSERT_EQ(native.size(), mlx.size());
  for (std::size_t i = 0; i < native.size(); ++i) EXPECT_EQ(values(native[i]), values(mlx[i])) << "output " << i;
}

// `turns` and three more carries; BODY gives the next three.
std::string counted(std::string_view body) {
  return "inputs 4\nconst0 = 1 : s32\nconst1 = 0 : s32\nconst2 = 0.5 : f32\n"
         "%0, %1, %2, %3 = while in0, in1, in2, in3 {\n"
         "  cond {\n    %0 = greater carry0, const1\n    return %0\n  }\n"
         "  body {\n    %0 = subtract carry0, const0\n" +
         std::string(body) + "  }\n}\nreturn %0, %1, %2, %3\n";
}

Arrays vectors(std::int32_t turns) {
  return {integer(turns), floats({1, 2, 3}), floats({10, 20, 30}), floats({-1, 0, 1})};
}

TEST(NativeLoop, CarriesMoveBetweenSlots) {
  // Rotated, duplicated, passed on, replaced by a constant, made of a part of something.
  for (const char* body : {
           "    return %0, carry2, carry3, carry1\n",
           "    return %0, carry1, carry1, carry1\n",
           "    return %0, carry1, carry2, carry3\n",
           "    %1 = add carry1, carry2\n    return %0, %1, %1, carry1\n",
           "    %1 = add carry1, carry2\n    %2 = reverse %1 {axes = [0]}\n    return %0, %2, %1, carry1\n",
           "    %1 = reverse carry1 {axes = [0]}\n    return %0, %1, carry2, %1\n",
           "    %1 = broadcast const2 {shape = [3], axes = []}\n    return %0, %1, carry1, %1\n",
           "    %1 = sum carry1 {axes = [0], keep_axes = true}\n    %2 = multiply carry2, %1\n"
           "    return %0, %2, carry1, carry3\n",
           "    %1 = concatenate carry1, carry2 {axis = 0}\n    %2 = reshape %1 {shape = [2, 3]}\n"
           "    %3 = reduce_max %2 {axes = [0], keep_axes = false}\n    %4 = reduce_min %2 {axes = [0], keep_axes = "
           "false}\n"
           "    return %0, %3, %4, carry3\n",
           "    %1 = cumulative_sum carry1 {axis = 0, reverse = false}\n    %2 = negate %1\n"
           "    return %0, %2, %1, %2\n",
           // On MLX: no native kernel.
           "    %1 = fft carry1 {length = 3, axis = 0}\n    %2 = real %1\n    return %0, %2, carry1, carry3\n",
       }) {
    for (const int turns : {0, 1, 2, 3, 7}) {
      SCOPED_TRACE(std::string(body) + std::to_string(turns) + " turns");
      same_on_both(counted(body), vectors(turns));
    }
  }
}

constexpr std::string_view kWhileNonZero = R"(inputs 2
  const0 = 1 : s32
  %0, %1 = while in0, in1 {
    cond {
      %0 = take carry0, carry1 {axis = 0}
      return %0
    }
    body {
      %0 = add carry1, const0
      return carry0, %0
    }
  }
  return %1
)";

TEST(NativeLoop, APredicateHoldsWhileItIsNotZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Executable exe = on(Backend::native, kWhileNonZero);
  EXPECT_EQ(values(run(exe, {floats({nan, 0.5F, 1e-45F, -0.0F, 1}), integer(0)})[0]), std::vector<double>{3});
  EXPECT_EQ(values(run(exe, {mlx::core::array({256, 65536, 0, 1}), integer(0)})[0]), std::vector<double>{2});
}

TEST(NativeLoop, APredicateMayBeAPartOfALargerValue) {
  same_on_both(R"(inputs 2
    const0 = 1 : s32
    %0, %1 = while in0, in1 {
      cond {
        %0 = greater carry1, const0
        %1 = slice %0 {dynamic_mask = 0, input_shape = [5000], lengths = [1], strides = [1], starts = [2]}
        return %1
      }
      body {
        %0 = add carry0, const0
        %1 = subtract carry1, const0
        return %0, %1
      }
    }
    return %0, %1
  )",
               {integer(0), mlx::core::full({5000}, 9, mlx::core::int32, mlx::core::Device::cpu)});
}

TEST(NativeLoop, Nested) {
  same_on_both(R"(inputs 2
    const0 = 1 : s32
    const1 = 0 : s32
    const2 = 3 : s32
    const3 = 1.5 : f32
    %0, %1 = while in0, in1 {
      cond {
        %0 = greater carry0, const1
        return %0
      }
      body {
        %0 = subtract carry0, const0
        %1, %2 = while const2, carry1 {
          cond {
            %0 = greater carry0, const1
            return %0
          }
          body {
            %0 = subtract carry0, const0
            %1 = multiply carry1, const3
            return %0, %1
          }
        }
        return %0, %2
      }
    }
    return %0, %1
  )",
               {integer(4), floats({1, 2, 3, 4, 5})});
}

TEST(NativeLoop, LimitsAndCancelling) {
  const Executable exe = on(Backend::native, kEndless);
  EXPECT_NE(run_error(exe, {integer(0)}, {.max_loop_turns = 1000}).find("turned 1000 times"), std::string::npos);
  CancelToken cancel;
  RunOptions options{.cancel = &cancel};
  int called = 0;
  options.while_waiting = [&] {
    ++called;
    cancel.cancel();
  };
  EXPECT_NE(run_error(exe, {integer(0)}, options).find("cancelled"), std::string::npos);
  EXPECT_EQ(called, 1);
}

TEST(NativeLoop, ManyThreadsAtOnce) {
  const std::string text =
      counted("    %1 = multiply carry1, const2\n    %2 = add carry2, %1\n    return %0, %1, %2, carry3\n");
  const Executable exe = on(Backend::native, text);
  const std::vector<double> wanted = values(run(exe, vectors(50))[2]);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) EXPECT_EQ(values(run(exe, vectors(50))[2]), wanted);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace reprise
