// Many threads, one library.
#include <atomic>

#include "base/machine.hpp"
#include "runtime/support.hpp"

namespace reprise {
namespace {

using List = std::vector<double>;

constexpr int kReplays = 100;

// First in this file: set_threads wants a process that has not run yet, which ctest gives each test.
TEST(Threads, TheirNumberCanBeSetBeforeTheFirstRun) {
  EXPECT_EQ(set_threads(0).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(set_threads(-1).error().message(), "threads is -1; wanted 1 to 1024");
  EXPECT_FALSE(set_threads(1025).ok());
  EXPECT_GE(threads(), 1);
  const bool fresh = set_threads(1).ok();  // not so when another test of this program ran before
  if (fresh) {
    EXPECT_EQ(threads(), 1);
  }
  EXPECT_EQ(values(run(compiled("inputs 1\n %0 = abs in0\n return %0\n"), {scalar(-1)})[0]), List{1});
  EXPECT_NE(set_threads(2).error().message().find("before the first run"), std::string::npos);
}

// Made on one thread, run on a second, read on a third, destroyed on a fourth; none of them is there at the end.
TEST(Threads, B123_ArraysTravel) {
  std::optional<Executable> exe;
  on_thread([&] { exe = compiled("inputs 2\n %0 = multiply in0, in1\n %1 = add %0, in1\n return %1\n"); });
  for (int i = 0; i < 64; ++i) {
    Arrays arrays;
    on_thread([&] {
      arrays.push_back(floats({static_cast<float>(i), 2}));
      arrays.push_back(mlx::core::add(floats({1, 1}), floats({1, 2}), mlx::core::Device::cpu));
      arrays.back().eval();
    });
    on_thread([&] { arrays = run(*exe, std::move(arrays)); });
    on_thread([&] { EXPECT_EQ(values(arrays[0]), (List{2.0 * i + 2, 9})); });
    on_thread([&] { arrays.clear(); });
  }
  on_thread([&] { exe.reset(); });
}

TEST(Threads, B124_AProgramEach) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 16; ++t) {
    all.emplace_back([&wrong, t] {
      Builder b;
      const Value x = b.input();
      const Executable exe = compiled(b, {x * b.constant(static_cast<float>(t)) + b.constant(1.0f)});
      for (int i = 0; i < kReplays; ++i) {
        if (values(run(exe, {floats({1, static_cast<float>(i)})})[0]) != List{t + 1.0, t * i + 1.0}) ++wrong;
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, B124_OneProgramForAll) {
  const auto cap = make_capture(floats({1, 2})).value();
  const Executable exe = compiled(R"(inputs 2
    cap0 = "" : f32[2]
    const0 = 1 : s32
    %0, %1 = while in0, in1 {
      cond {
        return carry0
      }
      body {
        %0 = subtract carry0, const0
        %1 = add carry1, cap0
        return %0, %1
      }
    }
    return %1
  )",
                                  {}, {cap});
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 16; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < kReplays; ++i) {
        const auto start = static_cast<float>(t);
        if (values(run(exe, {integer(i % 4), floats({start, start})})[0]) != List{t + i % 4 * 1.0, t + i % 4 * 2.0}) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exe.stats().runs, 16u * kReplays);
}

TEST(Threads, ProgramsAreMadeAndDestroyedWhileOthersRun) {
  const Executable shared = compiled("inputs 1\n %0 = add in0, in0\n return %0\n");
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < kReplays; ++i) {
        if (t % 2 == 0) {
          if (values(run(shared, {scalar(2)})[0]) != List{4}) ++wrong;
        } else {
          Executable own = compiled("inputs 1\n %0 = negate in0\n return %0\n");
          const Executable copy = own;
          Arrays out = run(own, {scalar(2)});
          on_thread([gone = std::move(own)] {});
          if (values(out[0]) != List{-2} || values(run(copy, {scalar(3)})[0]) != List{-3}) ++wrong;
        }
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Without the host calls, which the table does not have yet.
TEST(Threads, B120_ALongProgramOnEightThreads) {
  Builder b;
  Value x = b.input();
  const Value one = b.constant(1.0f);
  for (int i = 0; i < 250; ++i) x = b.abs(x) + one;
  const Executable exe = compiled(b, {x});
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        if (values(run(exe, {floats({-1, 0})})[0]) != List{251, 250}) ++wrong;
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AnErrorStaysOnItsThread) {
  const Executable exe = compiled("inputs 2\n %0 = add in0, in1\n return %0\n");
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < kReplays; ++i) {
        const auto out = exe.run({floats({1, 2}), t % 2 == 0 ? floats({1, 2}) : floats({1, 2, 3})});
        if (out.ok() != (t % 2 == 0)) ++wrong;
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace reprise
