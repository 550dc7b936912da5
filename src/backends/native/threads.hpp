// Threads of the native backend: OpenMP teams, which oneDNN uses too, out of one allowance for the whole process.
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

/// Below so many bytes or simple operations a second thread costs more than it brings (measured: a team of two takes
/// about 1 us to start and join).
inline constexpr std::int64_t kParallelGrain = 32 * 1024;

/// Calls work(begin, end) over parts of [0, count), none smaller than `grain` unless all is, on up to `threads`
/// threads. Parts depend on `threads` and `count` only through their bounds: each index is computed alike whatever they
/// are.
template <typename Work>
void parallel_for(int threads, std::int64_t count, std::int64_t grain, const Work& work) {
  const std::int64_t parts = grain > 0 ? (count + grain - 1) / grain : 1;
  const int team = static_cast<int>(parts < threads ? parts : threads);
  if (team <= 1) {
    if (count > 0) work(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(team) schedule(static, 1)
  for (int t = 0; t < team; ++t) {
    const std::int64_t begin = count * t / team;
    const std::int64_t end = count * (t + 1) / team;
    if (begin < end) work(begin, end);
  }
}

}  // namespace reprise::native
