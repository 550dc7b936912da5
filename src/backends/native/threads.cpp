#include "backends/native/threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace reprise::native {
namespace {

constexpr int kMaxTeam = 256;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// One run_parts(), on the stack of its caller. Each member of the team has a range of parts of its own, so that a
/// core finds again in its cache what it worked on in the step before, and helps out in the others' ranges after it.
struct Job {
  // Plain numbers behind an atomic_ref, so that a team of two does not pay for clearing all.
  struct alignas(64) Range {
    std::int64_t next;
    std::int64_t end;
  };

  PartFn fn;
  const void* context;
  int team;
  std::array<Range, kMaxTeam> ranges;
  std::atomic<int> joined{1};    // members that have a range
  std::atomic<int> finished{0};  // pool threads that will not touch the job again
  std::atomic<bool> failed{false};
  std::exception_ptr error;

  void work(int member) {
    for (int k = 0; k < team; ++k) {
      Range& range = ranges[static_cast<std::size_t>((member + k) % team)];
      const std::atomic_ref next(range.next);
      while (next.load(std::memory_order_relaxed) < range.end) {
        const std::int64_t part = next.fetch_add(1, std::memory_order_relaxed);
        if (part >= range.end) break;
        try {
          fn(context, part);
        } catch (...) {
          if (!failed.exchange(true)) error = std::current_exception();
        }
      }
    }
  }
};

/// A pool thread and the place where it finds its next job.
class Worker {
 public:
  bool offer(Job& job) {
    Job* none = nullptr;
    if (!job_.compare_exchange_strong(none, &job)) return false;
    if (asleep_.load() != 0) {
      asleep_.store(0);
      asleep_.notify_one();
    }
    return true;
  }

  /// True when the worker had not begun.
  bool take_back(Job& job) {
    Job* mine = &job;
    return job_.compare_exchange_strong(mine, nullptr);
  }

  [[noreturn]] void loop() {
    for (;;) {
      Job* job = wait();
      const int member = job->joined.fetch_add(1);
      job->work(member % job->team);
      job->finished.fetch_add(1, std::memory_order_release);
    }
  }

 private:
  // Steps of a replay follow each other within microseconds, a sleeping thread takes fifty to wake: looks for a while.
  Job* wait() {
    constexpr auto kPatience = std::chrono::microseconds(60);
    for (;;) {
      const auto until = std::chrono::steady_clock::now() + kPatience;
      do {
        for (int i = 0; i < 32; ++i) {
          if (job_.load(std::memory_order_relaxed)) {
            if (Job* job = job_.exchange(nullptr)) return job;
          }
          pause();
        }
      } while (std::chrono::steady_clock::now() < until);
      asleep_.store(1);
      if (!job_.load()) asleep_.wait(1);
      asleep_.store(0);
    }
  }

  alignas(64) std::atomic<Job*> job_{nullptr};
  std::atomic<int> asleep_{0};
};

/// Never destroyed: its threads wait until the process ends. After a fork() the child has none; offers are then taken
/// back, and all is done by the caller.
class Workers {
 public:
  static Workers& instance() {
    static Workers* workers = new Workers;
    return *workers;
  }

  /// The first `wanted` workers, or as many as the system lets be made.
  int at_least(int wanted) {
    int made = made_.load(std::memory_order_acquire);
    if (made >= wanted) return wanted;
    const std::lock_guard lock(mutex_);
    for (made = made_.load(); made < std::min(wanted, most_); ++made) {
      auto& worker = workers_[static_cast<std::size_t>(made)];
      worker = std::make_unique<Worker>();
      try {
        std::thread([&w = *worker] { w.loop(); }).detach();
      } catch (const std::system_error&) {
        most_ = made;
        break;
      }
      made_.store(made + 1, std::memory_order_release);
    }
    return std::min(made, wanted);
  }

  Worker& operator[](int i) { return *workers_[static_cast<std::size_t>(i)]; }
  int made() const { return made_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  int most_ = 1023;
  std::atomic<int> made_{0};
  std::array<std::unique_ptr<Worker>, 1023> workers_;
};

// Threads beyond their callers' own that are at work now.
std::atomic<int> extra_at_work{0};
std::atomic<int> callers{0};

void wait_for(const std::atomic<int>& finished, int begun) {
  for (int spins = 0; finished.load(std::memory_order_acquire) < begun; ++spins) {
    if (spins < 4000) {
      pause();
    } else if (spins < 4100) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace

ThreadLease::ThreadLease(int wanted) {
  const int others = callers.fetch_add(1);
  int taken = extra_at_work.load();
  for (;;) {
    const int free = wanted - 1 - taken - others;
    if (free <= 0) return;
    if (extra_at_work.compare_exchange_weak(taken, taken + free)) {
      extra_ = free;
      return;
    }
  }
}

ThreadLease::~ThreadLease() {
  extra_at_work.fetch_sub(extra_);
  callers.fetch_sub(1);
}

void run_parts(int team, std::int64_t parts, PartFn fn, const void* context) {
  Job job;
  job.fn = fn;
  job.context = context;
  job.team = static_cast<int>(std::min<std::int64_t>({team, parts, kMaxTeam}));
  for (int t = 0; t < job.team; ++t) {
    auto& range = job.ranges[static_cast<std::size_t>(t)];
    range.next = parts * t / job.team;
    range.end = parts * (t + 1) / job.team;
  }
  Workers& pool = Workers::instance();
  // Workers may be busy for other callers: those that are free now are asked, each at most once.
  const int known = std::max(pool.at_least(job.team - 1), pool.made());
  std::array<int, kMaxTeam> asked;
  int count = 0;
  for (int w = 0; w < known && count < job.team - 1; ++w) {
    if (pool[w].offer(job)) asked[static_cast<std::size_t>(count++)] = w;
  }
  job.work(0);
  int begun = 0;
  for (int k = 0; k < count; ++k) begun += pool[asked[static_cast<std::size_t>(k)]].take_back(job) ? 0 : 1;
  wait_for(job.finished, begun);
  if (job.failed.load()) std::rethrow_exception(job.error);
}

}  // namespace reprise::native
