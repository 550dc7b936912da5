// Threads of the native backend: one pool for the process, out of which each replay gets what is free.
//
//   const ThreadLease lease(threads());
//   parallel_for(lease.threads(), rows, grain, [&](std::int64_t begin, std::int64_t end) { ... });
#pragma once

#include <cstdint>

namespace reprise::native {

/// Takes as many threads as are wanted and free, at least the caller's own, and gives them back at its end. With many
/// callers at once each works alone: as many as there are CPUs keep the machine busy, and no more are started.
class ThreadLease {
 public:
  explicit ThreadLease(int wanted);
  ~ThreadLease();
  ThreadLease(const ThreadLease&) = delete;
  ThreadLease& operator=(const ThreadLease&) = delete;
  int threads() const { return 1 + extra_; }

 private:
  int extra_ = 0;
};

/// Below so many bytes or simple operations a second thread costs more than it brings.
inline constexpr std::int64_t kParallelGrain = 32 * 1024;

/// Work cut into parts [0, parts). Part p runs once, on the caller or on a pool thread.
using PartFn = void (*)(const void* context, std::int64_t part);

/// Runs all parts on the caller and on at most team - 1 pool threads, and returns when all are done. Whatever no pool
/// thread has begun, the caller does itself: it waits for nobody but those in the middle of a part, so nesting and many
/// callers at once cannot block each other. What a part throws reaches the caller, after the others have ended.
void run_parts(int team, std::int64_t parts, PartFn fn, const void* context);

/// Calls work(part) for each part in [0, parts).
template <typename Work>
void parallel_parts(int team, std::int64_t parts, const Work& work) {
  if (team <= 1 || parts <= 1) {
    for (std::int64_t p = 0; p < parts; ++p) work(p);
    return;
  }
  run_parts(
      team, parts, [](const void* context, std::int64_t part) { (*static_cast<const Work*>(context))(part); }, &work);
}

/// Calls work(begin, end) over parts of [0, count), none much smaller than `grain` unless all is, on up to `threads`
/// threads. There are more parts than threads, so that one that is held up leaves its share to the others. Where the
/// parts end depends on `threads`; each index must be computed alike wherever that is.
template <typename Work>
void parallel_for(int threads, std::int64_t count, std::int64_t grain, const Work& work) {
  constexpr std::int64_t kPartsPerThread = 4;
  const std::int64_t grains = grain > 0 ? count / grain : count;
  if (threads <= 1 || grains <= 1) {
    if (count > 0) work(std::int64_t{0}, count);
    return;
  }
  const std::int64_t most = threads * kPartsPerThread;
  const std::int64_t parts = grains < most ? grains : most;
  parallel_parts(threads, parts, [&](std::int64_t p) { work(count * p / parts, count * (p + 1) / parts); });
}

}  // namespace reprise::native
