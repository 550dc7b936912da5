// runtime_call: when it fires, what the callback sees and gives, and what its failures leave behind.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "movement/movement.hpp"
#include "reprise/builder.hpp"
#include "reprise/executable.hpp"

namespace reprise::movement {
namespace {

using Arrays = std::vector<array>;
using Reply = Result<Arrays>;

Executable program(const std::function<Builder::Values(Builder&)>& write, const std::vector<int>& kept = {}) {
  Builder b;
  Builder::Values outputs = write(b);
  Builder::Values keep;
  for (const int k : kept) {
    keep.push_back(outputs[static_cast<std::size_t>(k)]);
    outputs.erase(outputs.begin() + k);
  }
  return compile(b.build(outputs, keep).value()).value();
}

Builder::Values call(Builder& b, std::int64_t number, const Builder::Values& operands,
                     std::vector<TensorType> results = {{float32, {2}}}) {
  return b.ops("runtime_call", operands, {{"callback", number}, {"results", std::move(results)}});
}

/// Answers with the first operand, or with what `answer` makes of the call, and remembers the numbers.
struct Host {
  std::mutex mutex;
  std::vector<std::int64_t> fired;
  HostCallback answer = [](const HostCall& c) -> Reply { return Arrays{c.operands[0]}; };

  RunOptions options() {
    RunOptions out;
    out.host = [this](const HostCall& c) {
      {
        const std::lock_guard lock(mutex);
        fired.push_back(c.callback);
      }
      return answer(c);
    };
    return out;
  }
};

using Numbers = std::vector<std::int64_t>;

void expect_error(const Reply& out, std::string_view text, ErrorCode code = ErrorCode::runtime) {
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), code);
  EXPECT_NE(out.error().message().find(text), std::string::npos) << out.error().message();
}

const array& two() {
  static const array x = make({2}, {1, 2});
  return x;
}

TEST(HostCall, FiresOncePerRunAndNeverWhileCompiling) {
  Host host;
  const Executable exe = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{call(b, 7, {x + x})[0] + x};
  });
  const TensorType type[] = {{float32, {2}}};
  ASSERT_TRUE(exe.specialise(type).ok());
  EXPECT_TRUE(host.fired.empty());
  for (int run = 1; run <= 5; ++run) {
    EXPECT_TRUE(equals(exe.run({two()}, host.options()).value()[0], {2}, {3, 6}));
    EXPECT_EQ(host.fired, Numbers(static_cast<std::size_t>(run), 7));
  }
  // Another signature: the declared result does not follow the operand.
  host.answer = [](const HostCall& c) -> Reply {
    EXPECT_EQ(c.operands[0].shape(), (mx::Shape{1}));
    return Arrays{two()};
  };
  EXPECT_TRUE(equals(exe.run({make({1}, {5})}, host.options()).value()[0], {2}, {6, 7}));
}

TEST(HostCall, InOrderAlongDataAndEqualCallsFireTwice) {
  Host host;
  const Executable exe = program([](Builder& b) {
    const Value x = b.input();
    const Value first = call(b, 1, {x})[0];
    const Value second = call(b, 2, {first + x})[0];
    const Value third = call(b, 3, {second * second})[0];
    return Builder::Values{third, call(b, 4, {x})[0], call(b, 4, {x})[0]};
  });
  EXPECT_TRUE(equals(exe.run({two()}, host.options()).value()[0], {2}, {4, 16}));
  EXPECT_EQ(host.fired, (Numbers{1, 2, 3, 4, 4}));
}

TEST(HostCall, OnlyWhatIsNeededFires) {
  Host host;
  const auto write = [](Builder& b) {
    const Value x = b.input();
    call(b, 1, {x});      // nobody reads it
    call(b, 2, {x}, {});  // nobody can
    const Value kept = call(b, 3, {x})[0];
    return Builder::Values{x + x, kept};
  };
  EXPECT_TRUE(equals(program(write, {1}).run({two()}, host.options()).value()[0], {2}, {2, 4}));
  EXPECT_EQ(host.fired, Numbers{3});
  EXPECT_EQ(program(write, {1}).run({two()}, host.options()).value().size(), 1u);
  host.fired.clear();
  EXPECT_EQ(program(write).run({two()}, host.options()).value().size(), 2u);
  EXPECT_EQ(host.fired, Numbers{3});
}

TEST(HostCall, OneOfSeveralResultsIsEnough) {
  Host host;
  host.answer = [](const HostCall& c) -> Reply {
    EXPECT_TRUE(c.operands.empty());
    EXPECT_EQ(c.results.size(), 3u);
    return Arrays{make({2}, {1, 2}), make({}, {9}, int8), make({0, 3}, {}, complex64)};
  };
  const std::vector<TensorType> types{{float32, {2}}, {int8, {}}, {complex64, {0, 3}}};
  const Executable exe = program([&](Builder& b) {
    return Builder::Values{call(b, 0, {}, types)[1], call(b, 0, {}, types)[2]};
  });
  const auto out = exe.run({}, host.options()).value();
  EXPECT_TRUE(equals(out[0], {}, {9}));
  EXPECT_TRUE(equals(out[1], {0, 3}, {}));
  EXPECT_EQ(host.fired, (Numbers{0, 0}));
}

// H6: the callback reads plain memory.
TEST(HostCall, OperandsAreDense) {
  for (const DType d : kEveryDType) {
    const array dense = sample({3, 4}, d, 5);
    const auto wanted = elements(dense);
    for (const array& x : layouts(dense)) {
      for (const int form : {0, 1, 2}) {  // the input itself, a transposed view, a broadcast
        Host host;
        host.answer = [&](const HostCall& c) -> Reply {
          const array& seen = c.operands[0];
          EXPECT_TRUE(seen.is_available());
          EXPECT_TRUE(seen.flags().row_contiguous);
          EXPECT_GE(seen.buffer_size(), seen.nbytes());
          mx::Dtype bytes = mx::uint8;
          const auto* data = seen.data<std::uint8_t>();
          const std::vector<std::uint8_t> copy(data, data + seen.nbytes());
          EXPECT_EQ(type_of(seen).dtype, d);
          const array plain(copy.data(), {static_cast<int>(copy.size())}, bytes);
          const auto got = elements(mx::reshape(mx::view(plain, seen.dtype()), seen.shape()));
          for (std::size_t k = 0; k < got.size(); ++k) {
            const std::size_t from = form == 0 ? k : form == 1 ? k % 3 * 4 + k / 3 : k % 12;
            EXPECT_TRUE(same(got[k], wanted[from])) << name(d) << " form " << form << " element " << k;
          }
          return Arrays{two()};
        };
        const Executable exe = program([form](Builder& b) {
          Value v = b.input();
          if (form == 1) v = b.transpose(v, {1, 0});
          if (form == 2) v = b.broadcast(v, {2, 3, 4}, {1, 2});
          return call(b, 0, {v});
        });
        EXPECT_TRUE(exe.run({x}, host.options()).ok());
      }
    }
  }
}

TEST(HostCall, RepliesMayHaveAnyLayoutAndBeLazy) {
  Host host;
  const Executable exe = program([](Builder& b) {
    const Value x = call(b, 0, {}, {{float32, {2, 3}}})[0];
    return Builder::Values{b.reverse(x, {1}), x};
  });
  for (const array& x : layouts(iota({2, 3}))) {
    host.answer = [&](const HostCall&) -> Reply { return Arrays{x}; };
    const auto out = exe.run({}, host.options()).value();
    EXPECT_TRUE(equals(out[0], {2, 3}, {2, 1, 0, 5, 4, 3}));
    EXPECT_TRUE(equals(out[1], {2, 3}, {0, 1, 2, 3, 4, 5}));
  }
  host.answer = [](const HostCall&) -> Reply { return Arrays{mx::add(mx::ones({2, 3}), mx::ones({2, 3}))}; };
  EXPECT_TRUE(equals(exe.run({}, host.options()).value()[1], {2, 3}, {2, 2, 2, 2, 2, 2}));
}

TEST(HostCall, WrongRepliesAndFailures) {
  Host host;
  const Executable exe = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{call(b, 1, {x + x})[0] + x};
  });
  const auto fails = [&](HostCallback answer, std::string_view text) {
    Host bad;
    bad.answer = std::move(answer);
    expect_error(exe.run({two()}, bad.options()), text);
    EXPECT_TRUE(equals(exe.run({two()}, host.options()).value()[0], {2}, {3, 6}));
  };
  const std::string front = "run: instruction 1 (runtime_call): runtime_call callback failed: ";
  fails([](const HostCall&) -> Reply { return Arrays{}; }, front + "runtime_call reply has 0 arrays; wanted 1");
  fails([](const HostCall&) -> Reply { return Arrays{two(), two()}; }, front + "runtime_call reply has 2 arrays");
  fails(
      [](const HostCall&) -> Reply {
        return Arrays{make({3}, {1, 2, 3})};
      },
      front + "runtime_call reply 0 is f32[3]; wanted f32[2]");
  fails([](const HostCall&) -> Reply { return Arrays{make({2, 1}, {1, 2})}; }, "is f32[2, 1]; wanted f32[2]");
  fails([](const HostCall&) -> Reply { return Arrays{make({2}, {1, 2}, int32)}; }, "is s32[2]; wanted f32[2]");
  fails([](const HostCall&) -> Reply { return Error(ErrorCode::io, "no such answer"); }, front + "no such answer");
  fails([](const HostCall&) -> Reply { throw std::runtime_error("thrown"); }, front + "thrown");
  fails([](const HostCall&) -> Reply { return Arrays{mlx_backend::array({2}, mx::float32, nullptr, {})}; }, front);
  fails([](const HostCall&) -> Reply { throw 42; }, front);
}

TEST(HostCall, NobodyToCall) {
  const Executable exe = program([](Builder& b) { return call(b, 1, {b.input()}); });
  expect_error(exe.run({two()}), "no caller pid in scope");
  Host host;
  EXPECT_TRUE(exe.run({two()}, host.options()).ok());
}

/// A loop of `turns` turns that calls 0 with the counter in the condition, or 1 in the body, or both.
Executable counting(bool in_cond, bool in_body) {
  return program([=](Builder& b) {
    const std::vector<TensorType> counter{{int32, {}}};
    return b.while_loop(
        {b.input(), b.input()},
        [&](Builder& in, std::span<const Value> c) {
          const Value i = in_cond ? call(in, 0, {c[0]}, counter)[0] : c[0];
          return i < c[1];
        },
        [&](Builder& in, std::span<const Value> c) {
          const Value i = in_body ? call(in, 1, {c[0]}, counter)[0] : c[0];
          return Builder::Values{i + in.constant(1), c[1]};
        });
  });
}

TEST(HostCall, B119_InLoops) {
  const array zero = make({}, {0}, int32), three = make({}, {3}, int32);
  for (const bool in_cond : {false, true}) {
    for (const bool in_body : {false, true}) {
      const Executable exe = counting(in_cond, in_body);
      for (int again = 0; again < 3; ++again) {
        Host host;
        std::vector<std::int64_t> counters;
        host.answer = [&](const HostCall& c) -> Reply {
          counters.push_back(static_cast<std::int64_t>(elements(c.operands[0])[0].i));
          return Arrays{c.operands[0]};
        };
        EXPECT_TRUE(equals(exe.run({zero, three}, host.options()).value()[0], {}, {3}));
        Numbers fired, seen;
        for (std::int64_t turn = 0; turn <= 3; ++turn) {
          if (in_cond) fired.push_back(0), seen.push_back(turn);
          if (in_body && turn < 3) fired.push_back(1), seen.push_back(turn);
        }
        EXPECT_EQ(host.fired, fired);
        EXPECT_EQ(counters, seen);
      }
    }
  }
}

TEST(HostCall, LoopLimitsAndFailuresInLoops) {
  const Executable exe = counting(true, true);
  const array zero = make({}, {0}, int32), many = make({}, {1000}, int32);
  Host host;
  RunOptions options = host.options();
  options.max_loop_turns = 5;
  expect_error(exe.run({zero, many}, options), "turned 5 times", ErrorCode::limit);
  EXPECT_EQ(host.fired.size(), 6u + 5u);

  host.fired.clear();
  host.answer = [&](const HostCall& c) -> Reply {
    if (host.fired.size() == 10) return Error(ErrorCode::runtime, "tired");
    return Arrays{c.operands[0]};
  };
  expect_error(exe.run({zero, many}, host.options()), "runtime_call callback failed: tired");
  EXPECT_EQ(host.fired.size(), 10u);
}

TEST(HostCall, CancelledBetweenCalls) {
  CancelToken token;
  Host host;
  host.answer = [&](const HostCall& c) -> Reply {
    if (c.callback == 2) token.cancel();
    return Arrays{c.operands[0]};
  };
  const Executable exe = program([](Builder& b) {
    Value x = b.input();
    for (std::int64_t k = 0; k < 5; ++k) x = call(b, k, {x})[0];
    return Builder::Values{x};
  });
  RunOptions options = host.options();
  options.cancel = &token;
  expect_error(exe.run({two()}, options), "cancelled", ErrorCode::cancelled);
  EXPECT_EQ(host.fired, (Numbers{0, 1, 2}));
}

TEST(HostCall, CallbacksRunPrograms) {
  const Executable other = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{x * x};
  });
  const Executable exe = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{call(b, 0, {x + x})[0] + x};
  });
  Host host;
  host.answer = [&](const HostCall& c) -> Reply { return other.run({c.operands[0]}); };
  EXPECT_TRUE(equals(exe.run({two()}, host.options()).value()[0], {2}, {5, 18}));
  // Compiled inside the callback.
  host.answer = [&](const HostCall& c) -> Reply {
    return program([](Builder& b) {
             const Value x = b.input();
             return Builder::Values{x - b.constant(1.0f)};
           })
        .run({c.operands[0]});
  };
  EXPECT_TRUE(equals(exe.run({two()}, host.options()).value()[0], {2}, {2, 5}));
  // The same program, ten deep: f(x) = f(2x) + x, then 2x.
  int depth = 0;
  host.answer = [&](const HostCall& c) -> Reply {
    if (++depth == 10) return Arrays{c.operands[0]};
    return exe.run({c.operands[0]}, host.options());
  };
  EXPECT_TRUE(equals(exe.run({two()}, host.options()).value()[0], {2}, {1024 + 1023, 2 * (1024 + 1023)}));
  EXPECT_EQ(depth, 10);
}

// While callbacks sleep on more threads than there are workers, others' runs go on.
TEST(HostCall, SlowCallbacksHoldNobodyUp) {
  constexpr int kThreads = 8;
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;
  bool open = false;
  Host host;
  host.answer = [&](const HostCall& c) -> Reply {
    std::unique_lock lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(60), [&] { return open; });
    EXPECT_TRUE(open);
    return Arrays{c.operands[0]};
  };
  const Executable slow = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{call(b, 0, {x + x})[0] + x};
  });
  const Executable quick = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{x * x};
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] { EXPECT_TRUE(equals(slow.run({two()}, host.options()).value()[0], {2}, {3, 6})); });
  }
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return waiting == kThreads; }));
  }
  // All callbacks are inside now; nobody lets them go before these are done.
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(equals(quick.run({two()}).value()[0], {2}, {1, 4}));
  {
    const std::lock_guard lock(mutex);
    open = true;
  }
  changed.notify_all();
  for (std::thread& t : threads) t.join();
}

TEST(HostCall, B120_ManyCallsFromManyThreads) {
  constexpr std::size_t kCalls = 500;
  const Executable exe = program([](Builder& b) {
    const Value x = b.input();
    Value sum = x;
    for (std::size_t k = 0; k < kCalls; ++k) sum = call(b, static_cast<std::int64_t>(k), {sum})[0] + x;
    return Builder::Values{sum};
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Host host;
      const array x = make({2}, {1, static_cast<double>(t)});
      EXPECT_TRUE(equals(exe.run({x}, host.options()).value()[0], {2}, {kCalls + 1.0, t * (kCalls + 1.0)}));
      ASSERT_EQ(host.fired.size(), kCalls);
      for (std::size_t k = 0; k < kCalls; ++k) EXPECT_EQ(host.fired[k], static_cast<std::int64_t>(k));
    });
  }
  for (std::thread& t : threads) t.join();
}

// Callbacks of all kinds at once: slow, failing, nested.
TEST(HostCall, ThreadsMixed) {
  const Executable exe = program([](Builder& b) {
    const Value x = b.input();
    return Builder::Values{call(b, 0, {x + x})[0] + x};
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Host plain;
      for (int i = 0; i < 20; ++i) {
        Host host;
        host.answer = [&](const HostCall& c) -> Reply {
          if ((i + t) % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          if ((i + t) % 4 == 1) return Error(ErrorCode::runtime, "no");
          if ((i + t) % 4 == 2) return exe.run({c.operands[0]}, plain.options());
          return Arrays{c.operands[0]};
        };
        const auto out = exe.run({two()}, host.options());
        EXPECT_EQ(out.ok(), (i + t) % 4 != 1);
        if (!out.ok()) continue;
        const double factor = (i + t) % 4 == 2 ? 7 : 3;
        EXPECT_TRUE(equals((*out)[0], {2}, {factor, 2 * factor}));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace reprise::movement
