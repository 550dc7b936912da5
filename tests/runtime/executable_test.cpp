// Compiling, running and specialising.
#include <atomic>
#include <optional>

#include "runtime/support.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;
using List = std::vector<double>;

constexpr std::string_view kAddOne = "inputs 1\n const0 = 1.0 : f32\n %0 = add in0, const0\n return %0\n";

TEST(Executable, RunsAndReplays) {
  const Executable exe = compiled(kAddOne);
  for (int i = 0; i < 3; ++i) {
    const Arrays out = run(exe, {floats({1, 2, 3})});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(values(out[0]), (List{2, 3, 4}));
  }
  EXPECT_EQ(exe.stats().runs, 3u);
  EXPECT_EQ(exe.program()->num_inputs, 1);
  EXPECT_EQ(exe.options().device, Device::cpu());
}

TEST(Executable, IdsCountUpAndAreNeverReused) {
  const auto first = compiled(kAddOne).id();
  EXPECT_GE(first, 1u);
  EXPECT_GT(compiled(kAddOne).id(), first);
}

TEST(Executable, OutputsArePassedThroughAndRepeated) {
  const auto cap = make_capture(floats({5, 6})).value();
  const Executable exe = compiled(
      "inputs 2\n cap0 = \"\" : f32[2]\n const0 = 7 : s32\n %0 = add in0, in1\n"
      " return in1, cap0, const0, %0, in1, %0, cap0\n",
      {}, {cap});
  const Arrays out = run(exe, {floats({1, 2}), floats({3, 4})});
  ASSERT_EQ(out.size(), 7u);
  EXPECT_EQ(values(out[0]), (List{3, 4}));
  EXPECT_EQ(values(out[1]), (List{5, 6}));
  EXPECT_EQ(values(out[2]), (List{7}));
  EXPECT_EQ(values(out[3]), (List{4, 6}));
  EXPECT_EQ(values(out[4]), (List{3, 4}));
  EXPECT_EQ(values(out[5]), (List{4, 6}));
  EXPECT_EQ(values(out[6]), (List{5, 6}));
}

TEST(Executable, NoOutputsAndNoInputs) {
  EXPECT_TRUE(run(compiled("inputs 0\n return\n"), {}).empty());
  EXPECT_TRUE(run(compiled("inputs 1\n %0 = abs in0\n return\n"), {scalar(1)}).empty());
  EXPECT_TRUE(run(compiled("inputs 1\n %0 = abs in0\n return\n keep %0\n"), {scalar(1)}).empty());
  EXPECT_EQ(values(run(compiled("inputs 0\n const0 = 2.5 : f32\n return const0\n"), {})[0]), List{2.5});
}

TEST(Executable, TheKeepAliveTailIsNotReturned) {
  const Executable exe = compiled("inputs 1\n %0 = abs in0\n %1 = negate in0\n return %0\n keep %1, in0\n");
  const Arrays out = run(exe, {scalar(-2)});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(values(out[0]), List{2});
}

// Nothing that no output needs is run: this loop would never end.
TEST(Executable, UnreachableInstructionsAreNotRun) {
  const Executable exe = compiled(R"(inputs 1
    %0 = while in0 {
      cond {
        return carry0
      }
      body {
        return carry0
      }
    }
    %1 = add %0, in0
    %2 = negate in0
    return %2
    keep %1
  )");
  EXPECT_EQ(values(run(exe, {integer(3)})[0]), List{-3});
}

TEST(Executable, InputErrorsNameWhatIsWrong) {
  const Executable exe = compiled("inputs 2\n %0 = add in0, in1\n return %0\n");
  EXPECT_EQ(run_error(exe, {scalar(1)}), "run: 1 inputs given; the program takes 2");
  EXPECT_EQ(run_error(exe, {scalar(1), scalar(1), scalar(1)}), "run: 3 inputs given; the program takes 2");
  EXPECT_NE(run_error(exe, {floats({1, 2}), floats({1, 2, 3})}).find("instruction 0 (add)"), std::string::npos);
  EXPECT_EQ(exe.run({scalar(1)}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(exe.run({floats({1, 2}), floats({1, 2, 3})}).error().code(), ErrorCode::infer);
  EXPECT_EQ(values(run(exe, {scalar(1), scalar(2)})[0]), List{3});

  const Executable bits = compiled("inputs 1\n %0 = bitwise_not in0\n return %0\n");
  EXPECT_NE(run_error(bits, {scalar(1)}).find("x has dtype float32"), std::string::npos);
  EXPECT_EQ(values(run(bits, {integer(1)})[0]), List{-2});
}

TEST(Executable, CompileRefusesFaultyPrograms) {
  ProgramData data;
  data.num_inputs = 1;
  data.instructions = {{"frobnicate", {input(0)}, {}, {}}};
  data.outputs = {result(0)};
  data.num_real_outputs = 1;
  const auto exe = compile(Program(data));
  ASSERT_FALSE(exe.ok());
  EXPECT_EQ(exe.error().code(), ErrorCode::verify);
  EXPECT_NE(exe.error().message().find("unknown op \"frobnicate\""), std::string::npos);
  EXPECT_EQ(compile(Program(data), {.device = Device::cuda(99)}).error().code(), ErrorCode::unsupported);
  data.instructions[0].op = "abs";
  data.num_real_outputs = 2;
  EXPECT_FALSE(compile(Program(data)).ok());
  data.num_real_outputs = -1;
  EXPECT_FALSE(compile(Program(data)).ok());
}

TEST(Executable, HugeValuesAreRefused) {
  const Executable exe = compiled(
      "inputs 1\n const0 = 0.0 : f32\n"
      " %0 = broadcast const0 {shape = [2000000000, 100], axes = []}\n"
      " %1 = sum %0 {axes = [0, 1]}\n %2 = add %1, in0\n return %2\n");
  const auto out = exe.run({scalar(1)});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::limit);
  EXPECT_NE(out.error().message().find("800000000000 bytes"), std::string::npos) << out.error().message();

  const CompileOptions small{.max_value_bytes = 100};
  const Executable tight = compiled(kAddOne, small);
  EXPECT_EQ(values(run(tight, {filled({25}, 1)})[0]).size(), 25u);
  EXPECT_EQ(tight.run({filled({26}, 1)}).error().code(), ErrorCode::limit);
}

TEST(Executable, LazyInputsAreForcedOnTheCallersThread) {
  const Executable exe = compiled(kAddOne);
  on_thread([&] {
    const mx::Stream mine = mx::default_stream(mx::Device::cpu);
    const array lazy = mx::multiply(floats({1, 2}), floats({3, 4}), mine);
    EXPECT_FALSE(lazy.is_available());
    EXPECT_EQ(values(run(exe, {lazy})[0]), (List{4, 9}));
  });
}

// Only the thread that recorded it can force a lazy array: an error says so, and nothing hangs or dies.
TEST(Executable, ALazyInputOfAnotherThreadIsAnError) {
  const Executable exe = compiled(kAddOne);
  std::optional<array> lazy;
  on_thread([&] {
    const mx::Stream mine = mx::new_stream(mx::Device::cpu);
    lazy = mx::multiply(floats({1, 2}), floats({3, 4}), mine);
  });
  const std::string message = run_error(exe, {*lazy});
  EXPECT_EQ(message.substr(0, 36), "run: input 0 cannot be evaluated: Th") << message;
  EXPECT_EQ(values(run(exe, {floats({1, 2})})[0]), (List{2, 3}));
}

// B127: an output can be read at once, a capture that was never evaluated is.
TEST(Executable, B127_OutputsAreEvaluated) {
  const array sum = mx::add(floats({1, 2}), floats({3, 4}), mx::Device::cpu);
  Builder b;
  const Executable exe = compiled(b, {b.capture(sum), b.input() + b.capture(sum)});
  for (const array& out : run(exe, {mx::add(floats({1, 2}), floats({3, 4}), mx::Device::cpu)})) {
    EXPECT_TRUE(out.is_available());
    EXPECT_NE(out.data<float>(), nullptr);
  }
}

TEST(Executable, InputsOfAnyLayout) {
  const Executable exe = compiled("inputs 1\n %0 = reshape in0 {shape = [6]}\n return %0\n");
  array t = mx::transpose(floats({2, 3}, {0, 1, 2, 3, 4, 5}), mx::Device::cpu);
  t.eval();
  EXPECT_EQ(values(run(exe, {t})[0]), (List{0, 3, 1, 4, 2, 5}));
}

// --- specialisations ---

TEST(Specialisation, EachSignatureIsMadeOnce) {
  const Executable exe = compiled(kAddOne);
  for (int i = 0; i < 3; ++i) {
    run(exe, {floats({1, 2})});
    run(exe, {filled({2, 2}, 1)});
  }
  EXPECT_EQ(exe.stats().misses, 2u);
  EXPECT_EQ(exe.stats().hits, 4u);
  EXPECT_EQ(exe.stats().specialisations, 2u);
  EXPECT_EQ(exe.stats().evictions, 0u);
  // A dtype is part of the signature.
  EXPECT_EQ(values(run(exe, {integer(2)})[0]), List{3});
  EXPECT_EQ(exe.stats().misses, 3u);
}

TEST(Specialisation, TheLeastRecentlyUsedGoes) {
  const Executable exe = compiled(kAddOne, {.max_specialisations = 2});
  const auto of_size = [&](std::int64_t n) { EXPECT_EQ(values(run(exe, {filled({n}, 1)})[0])[0], 2); };
  of_size(1);
  of_size(2);
  of_size(1);  // now 2 is the older
  of_size(3);  // evicts 2
  EXPECT_EQ(exe.stats().evictions, 1u);
  EXPECT_EQ(exe.stats().specialisations, 2u);
  const auto misses = exe.stats().misses;
  of_size(1);
  EXPECT_EQ(exe.stats().misses, misses);
  of_size(2);  // made again
  EXPECT_EQ(exe.stats().misses, misses + 1);
  EXPECT_EQ(exe.stats().evictions, 2u);
  for (std::int64_t n = 1; n < 50; ++n) of_size(n);
  EXPECT_EQ(exe.stats().specialisations, 2u);
}

TEST(Specialisation, AtLeastOneIsKept) {
  const Executable exe = compiled(kAddOne, {.max_specialisations = 0});
  EXPECT_EQ(values(run(exe, {scalar(1)})[0]), List{2});
  run(exe, {scalar(1)});
  EXPECT_EQ(exe.stats().hits, 1u);
}

TEST(Specialisation, AheadOfData) {
  const Executable exe = compiled("inputs 2\n %0 = add in0, in1\n return %0\n");
  const TensorType wide{DType::float32, {3}}, narrow{DType::float32, {2}};
  EXPECT_FALSE(exe.specialise(std::vector{wide, narrow}).ok());
  EXPECT_FALSE(exe.specialise(std::vector{wide}).ok());
  EXPECT_TRUE(exe.specialise(std::vector{wide, wide}).ok());
  run(exe, {floats({1, 2, 3}), floats({1, 2, 3})});
  EXPECT_EQ(exe.stats().hits, 1u);
}

// A specialisation that goes while it runs on another thread stays until that run is done.
TEST(Specialisation, EvictedWhileRunning) {
  const Executable exe = compiled(kAddOne, {.max_specialisations = 1});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const auto n = static_cast<std::size_t>(1 + (t + i) % 3);
        if (values(run(exe, {floats(std::vector<float>(n, 4))})[0]) != List(n, 5)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exe.stats().runs, 400u);
  EXPECT_EQ(exe.stats().specialisations, 1u);
}

}  // namespace
}  // namespace reprise
