// Loops: what the cases beside the row (control.cases) cannot say.
#include <chrono>

#include "runtime/support.hpp"

namespace reprise {
namespace {

using List = std::vector<double>;
using namespace std::chrono_literals;

// Counts its input down to 0, and turns as often.
constexpr std::string_view kCountDown = R"(inputs 1
  const0 = 1 : s32
  const1 = 0 : s32
  %0, %1 = while in0, const1 {
    cond {
      return carry0
    }
    body {
      %0 = subtract carry0, const0
      %1 = add carry1, const0
      return %0, %1
    }
  }
  return %0, %1
)";

TEST(While, TurnsAreLimited) {
  const Executable exe = compiled(kCountDown);
  EXPECT_EQ(values(run(exe, {integer(5)}, {.max_loop_turns = 5})[1]), List{5});
  const auto out = exe.run({integer(6)}, {.max_loop_turns = 5});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::limit);
  EXPECT_EQ(values(run(exe, {integer(6)})[1]), List{6});
}

TEST(While, AnEmptyTripTurnsNoTimes) {
  const Executable exe = compiled(kCountDown);
  const Arrays out = run(exe, {integer(0)}, {.max_loop_turns = 1});
  EXPECT_EQ(values(out[0]), List{0});
  EXPECT_EQ(values(out[1]), List{0});
}

TEST(While, ACancelledRunStops) {
  const Executable exe = compiled(kEndless);
  CancelToken token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(50ms);
    token.cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  const auto out = exe.run({integer(0)}, {.cancel = &token});
  const auto took = std::chrono::steady_clock::now() - start;
  canceller.join();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::cancelled);
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 2s);  // a turn takes microseconds; the rest is for a busy machine
  // The executable and its worker are fine.
  EXPECT_EQ(run_error(exe, {integer(0)}, {.max_loop_turns = 3}), "run: a loop turned 3 times, the limit of this run");
}

TEST(While, TheWaitingThreadCanCancel) {
  const Executable exe = compiled(kEndless);
  CancelToken token;
  int calls = 0;
  const auto caller = std::this_thread::get_id();
  const auto out = exe.run({integer(0)}, {.cancel = &token, .while_waiting = [&] {
                                            EXPECT_EQ(std::this_thread::get_id(), caller);
                                            if (++calls == 2) token.cancel();
                                          }});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::cancelled);
  EXPECT_GE(calls, 2);
}

TEST(While, AWaitingThreadThatThrowsStillWaitsForTheRun) {
  const Executable exe = compiled(kEndless);
  const auto out = exe.run(
      {integer(0)}, {.max_loop_turns = 100'000, .while_waiting = [] { throw std::runtime_error("out of patience"); }});
  ASSERT_FALSE(out.ok());  // whichever came first
  EXPECT_TRUE(out.error().message().find("out of patience") != std::string::npos ||
              out.error().code() == ErrorCode::limit);
}

TEST(While, ACancelledTokenStopsBeforeTheFirstStep) {
  const Executable exe = compiled("inputs 1\n %0 = abs in0\n return %0\n");
  CancelToken token;
  token.cancel();
  EXPECT_EQ(exe.run({scalar(1)}, {.cancel = &token}).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(values(run(exe, {scalar(-1)})[0]), List{1});
}

TEST(While, AnInnerLoopIsCancelledAndLimitedToo) {
  const Executable exe = compiled(R"(inputs 1
    const0 = 1 : s32
    %0 = while in0 {
      cond {
        return const0
      }
      body {
        %0 = while carry0 {
          cond {
            return const0
          }
          body {
            %0 = add carry0, const0
            return %0
          }
        }
        return %0
      }
    }
    return %0
  )");
  CancelToken token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(20ms);
    token.cancel();
  });
  EXPECT_EQ(exe.run({integer(0)}, {.cancel = &token}).error().code(), ErrorCode::cancelled);
  canceller.join();
  EXPECT_EQ(exe.run({integer(0)}, {.max_loop_turns = 7}).error().code(), ErrorCode::limit);
}

TEST(While, EveryPredicateDType) {
  for (const DType d : {DType::bool_, DType::uint8, DType::int8, DType::uint16, DType::int16, DType::uint32,
                        DType::int32, DType::uint64, DType::int64, DType::float16, DType::bfloat16, DType::float32,
                        DType::float64, DType::complex64}) {
    Builder b;
    const Value x = b.input();
    const auto out = b.while_loop(
        {x, b.constant(std::int32_t{0})},
        [&](Builder& in, std::span<const Value> carry) { return in.astype(carry[0], d); },
        [](Builder& in, std::span<const Value> carry) {
          return Builder::Values{carry[0] - in.constant(1.0f), carry[1] + in.constant(std::int32_t{1})};
        });
    const Executable exe = compiled(b, {out[1]});
    EXPECT_EQ(values(run(exe, {scalar(3)})[0]), List{3}) << name(d);
  }
}

TEST(While, SeveralLoopsDependOnEachOther) {
  Builder b;
  Value x = b.input();
  for (int i = 0; i < 10; ++i) {
    x = b.while_loop(
        {x}, [](Builder& in, std::span<const Value> carry) { return carry[0] < in.constant(100.0f); },
        [](Builder&, std::span<const Value> carry) { return Builder::Values{carry[0] + carry[0]}; })[0];
    x = x - b.constant(60.0f);
  }
  float wanted = 3;
  for (int i = 0; i < 10; ++i) {
    while (wanted < 100) wanted += wanted;
    wanted -= 60;
  }
  EXPECT_EQ(values(run(compiled(b, {x}), {scalar(3)})[0]), List{wanted});
}

TEST(While, SixtyFourLoopsDeep) {
  const auto nested = [](int depth) {
    Builder b;
    const std::function<Value(Builder&, const Value&, int)> nest = [&](Builder& in, const Value& x, int left) -> Value {
      if (left == 0) return x + in.constant(1.0f);
      return in.while_loop(
          {in.constant(true), x}, [](Builder&, std::span<const Value> carry) { return carry[0]; },
          [&](Builder& inner, std::span<const Value> carry) {
            return Builder::Values{inner.constant(false), nest(inner, carry[1], left - 1)};
          })[1];
    };
    const Value x = b.input();
    return b.build({nest(b, x, depth)});
  };
  EXPECT_EQ(values(run(compile(nested(64).value()).value(), {scalar(1)})[0]), List{2});
  EXPECT_FALSE(nested(65).ok());
}

// The shapes of the slots are those of this run's inputs.
TEST(While, ReplaysWithOtherShapes) {
  const Executable exe = compiled(R"(inputs 2
    const0 = 1 : s32
    %0, %1 = while in0, in1 {
      cond {
        return carry0
      }
      body {
        %0 = subtract carry0, const0
        %1 = add carry1, carry1
        return %0, %1
      }
    }
    return %1
  )");
  EXPECT_EQ(values(run(exe, {integer(3), floats({1, 2})})[0]), (List{8, 16}));
  EXPECT_EQ(values(run(exe, {integer(2), floats({1, 2, 3})})[0]), (List{4, 8, 12}));
  EXPECT_EQ(values(run(exe, {integer(1), filled({0}, 0)})[0]), List{});
}

}  // namespace
}  // namespace reprise
