// Faults that other systems had in compiling and replaying, by the number of their report.
#include "base/machine.hpp"
#include "runtime/support.hpp"

namespace reprise {
namespace {

using List = std::vector<double>;

TEST(Faults, B103_ProgramsOfEqualShapeStayApart) {
  const Executable a = compiled("inputs 1\n const0 = 1.0 : f32\n %0 = add in0, const0\n return %0\n");
  const Executable b = compiled("inputs 1\n const0 = 10.0 : f32\n %0 = multiply in0, const0\n return %0\n");
  EXPECT_EQ(values(run(a, {scalar(2)})[0]), List{3});
  EXPECT_EQ(values(run(b, {scalar(2)})[0]), List{20});
  EXPECT_EQ(values(run(a, {scalar(2)})[0]), List{3});
}

// With the multi-output op of the table, and a loop.
TEST(Faults, B104_CompilingAndFreeingDoesNotLeak) {
  const auto once = [] {
    const Executable exe = compiled(R"(inputs 2
      const0 = 1 : s32
      const1 = true : bool
      %0 = iota {dtype = float32, axis = -1, shape = [1, 1, 1, 64]}
      %1 = broadcast const1 {shape = [1, 64], axes = []}
      %2, %3, %4 = kv_cache_sdpa_update %0, %0, %0, in0, in0, in1, %1 {scale = 1.0, kv_offset = 63}
      %5, %6 = while const0, %3 {
        cond {
          return carry0
        }
        body {
          %0 = subtract carry0, const0
          %1 = negate carry1
          return %0, %1
        }
      }
      return %2, %6
    )");
    EXPECT_EQ(run(exe, {filled({1, 64, 1, 64}, 0), integer(3)}).size(), 2u);
  };
  for (int i = 0; i < 200; ++i) once();
  const auto before = resident_bytes();
  for (int i = 0; i < 1000; ++i) once();
  // A leak of the program's 16 KiB cache alone would be 16 MiB.
  if (!kSanitized) {
    EXPECT_LT(resident_bytes() - before, 4 << 20);
  }
}

TEST(Faults, B106_AFailedTraceLeavesNothingBehind) {
  const Executable exe = compiled(
      "inputs 2\n %0 = dot in0, in1 {contract_a = [1], contract_b = [0], batch_a = [],"
      " batch_b = []}\n return %0\n");
  const std::string first = run_error(exe, {filled({2, 3}, 1), filled({4, 2}, 1)});
  EXPECT_NE(first, "");
  EXPECT_EQ(run_error(exe, {filled({2, 3}, 1), filled({4, 2}, 1)}), first);
  EXPECT_EQ(values(run(exe, {filled({2, 3}, 1), filled({3, 2}, 1)})[0]), (List{3, 3, 3, 3}));
  EXPECT_EQ(exe.stats().specialisations, 1u);
}

// The run fails in its middle; what it had computed must not stay in the way.
TEST(Faults, B107_AFailedRunLeavesTheProgramUsable) {
  const Executable exe = compiled(R"(inputs 2
    const0 = 1 : s32
    %0 = add in1, in1
    %1 = while in0 {
      cond {
        return carry0
      }
      body {
        %0 = subtract carry0, const0
        return %0
      }
    }
    %2 = add %0, %0
    return %1, %2
  )");
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(run_error(exe, {integer(50), scalar(1)}, {.max_loop_turns = 10}).find("a loop turned 10 times"),
              std::string::npos);
    const Arrays out = run(exe, {integer(5), scalar(1)}, {.max_loop_turns = 10});
    EXPECT_EQ(values(out[0]), List{0});
    EXPECT_EQ(values(out[1]), List{4});
  }
}

TEST(Faults, B109_ManyDifferentConstantsStayApart) {
  Builder b;
  const Value x = b.input();
  const Value c = b.capture(scalar(1));
  Value sum = b.constant(0.0f);
  for (int i = 0; i < 20; ++i) {
    const auto f = static_cast<float>(i);
    sum = sum + b.constant(2 * f) * x * b.constant(f) * c;
  }
  EXPECT_EQ(values(run(compiled(b, {sum}), {floats({1, 2})})[0]), (List{4940, 9880}));
}

TEST(Faults, B110_TheChoiceOfOutputsMatters) {
  constexpr std::string_view kBody = "inputs 1\n %0 = negate in0\n %1 = abs %0\n %2 = abs %1\n";
  const Executable both = compiled(std::string(kBody) + " return %1, %2\n");
  const Executable one = compiled(std::string(kBody) + " return %2\n");
  const Arrays out = run(both, {scalar(-1)});
  EXPECT_EQ(values(out.at(0)), List{1});
  EXPECT_EQ(values(out.at(1)), List{1});
  EXPECT_EQ(values(run(one, {scalar(-1)}).at(0)), List{1});
}

TEST(Faults, B111_ProgramsShareACapture) {
  const auto b = make_capture(floats({2, 3}, {0, 1, 2, 3, 4, 5})).value();
  const Executable sum = compiled("inputs 1\n cap0 = \"\" : f32[2, 3]\n %0 = add in0, cap0\n return %0\n", {}, {b});
  const Executable product =
      compiled("inputs 1\n cap0 = \"\" : f32[2, 3]\n %0 = multiply in0, cap0\n return %0\n", {}, {b});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(values(run(sum, {filled({2, 3}, 1)})[0]), (List{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(values(run(product, {filled({2, 3}, 1)})[0]), (List{0, 1, 2, 3, 4, 5}));
  }
}

TEST(Faults, B113_AUnitAxisFirst) {
  const Executable exe = compiled("inputs 1\n %0 = sum in0 {axes = [0]}\n return %0\n");
  EXPECT_EQ(values(run(exe, {floats({4})})[0]), List{4});
  EXPECT_EQ(values(run(exe, {floats({1, 2, 3})})[0]), List{6});
}

TEST(Faults, B114_BatchesOfOtherLengths) {
  const Executable exe = compiled(
      "inputs 2\n %0 = dot in0, in1 {contract_a = [2], contract_b = [0], batch_a = [],"
      " batch_b = []}\n return %0\n");
  const array right = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(exe, {filled({1, 4, 2}, 1), right})[0].shape(), (mlx::core::Shape{1, 4, 3}));
  const array out = run(exe, {filled({1, 7, 2}, 1), right})[0];
  EXPECT_EQ(out.shape(), (mlx::core::Shape{1, 7, 3}));
  for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(values(out)[i], (List{5, 7, 9}[i % 3]));
}

}  // namespace
}  // namespace reprise
