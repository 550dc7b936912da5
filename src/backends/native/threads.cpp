#include "backends/native/threads.hpp"

#include <atomic>

#include "reprise/executable.hpp"

namespace reprise::native {
namespace {

// Threads beyond their callers' own that are at work now.
std::atomic<int> extra_at_work{0};
std::atomic<int> callers{0};

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

}  // namespace reprise::native
