#include "backends/mlx/worker.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "base/machine.hpp"

namespace reprise {
namespace {

std::mutex threads_mutex;
std::atomic<int> threads_wanted = 0;  // 0: not asked for
bool threads_used = false;

}  // namespace

Status set_threads(int wanted) {
  if (wanted < 1 || wanted > 1024) {
    return make_error(ErrorCode::invalid_argument, "threads is {}; wanted 1 to 1024", wanted);
  }
  const std::lock_guard lock(threads_mutex);
  if (threads_used) return Error(ErrorCode::invalid_argument, "threads can only be set before the first run");
  threads_wanted = wanted;
  return {};
}

int threads() {
  static const int cpus = machine_cpus();  // reads files: too slow for each run
  const int wanted = threads_wanted.load(std::memory_order_relaxed);
  return wanted > 0 ? wanted : cpus;
}

void settle_threads() {
  const std::lock_guard lock(threads_mutex);
  threads_used = true;
}

namespace mlx_backend {
namespace {

namespace mx = mlx::core;

mx::Device to_mlx(const Device& device) {
  return mx::Device(device.kind == Device::Kind::cpu ? mx::Device::cpu : mx::Device::gpu, device.index);
}

struct Job {
  const WorkerJob* work = nullptr;
  std::exception_ptr failure;
  bool done = false;
  std::condition_variable finished;
};

/// The worker whose thread this is, if any.
struct Current {
  const Device* device = nullptr;
  const WorkerContext* context = nullptr;
};
thread_local Current current;

class Pool {
 public:
  Pool(const Device& device, int size) : device_(device), size_(size), own_(static_cast<std::size_t>(size)) {}

  void run(const WorkerJob& work, const WhileWaiting& while_waiting) {
    require_workers();
    std::unique_lock lock(mutex_);
    // Jobs that wait for a certain worker do not count: that one takes them.
    if (idle_ <= shared_.size() && started_ < size_) start();
    enqueue(shared_, work, lock, false, while_waiting);
  }

  int pick() {
    require_workers();
    const std::lock_guard lock(mutex_);
    if (started_ == 0 || (idle_ == 0 && started_ < size_)) start();
    next_ = (next_ + 1) % started_;
    return next_;
  }

  void run(int worker, const WorkerJob& work, const WhileWaiting& while_waiting) {
    require_workers();
    std::unique_lock lock(mutex_);
    enqueue(own_[static_cast<std::size_t>(worker)], work, lock, true, while_waiting);
  }

 private:
  // Threads do not survive a fork: a job would wait for ever. Before the lock, which may have been held at the fork.
  void require_workers() const {
    if (getpid() != process_) {
      throw std::runtime_error(
          "this process was forked after another had started to run programs; start it afresh "
          "instead (in Python: multiprocessing with the start method 'spawn')");
    }
  }

  // The threads live as long as the process; joining them at exit would race with MLX's own statics.
  void start() {
    const int index = started_;
    try {
      std::thread([this, index] { serve(index); }).detach();
      ++started_;
    } catch (...) {
      if (started_ == 0) throw;  // else the ones there do the work
    }
  }

  void enqueue(std::deque<Job*>& queue, const WorkerJob& work, std::unique_lock<std::mutex>& lock, bool pinned,
               const WhileWaiting& while_waiting) {
    Job job;
    job.work = &work;
    queue.push_back(&job);
    // Any worker can take a shared job, but only one a pinned job.
    pinned ? wake_.notify_all() : wake_.notify_one();
    const auto done = [&] { return job.done; };
    std::exception_ptr interruption;
    while (while_waiting && !job.finished.wait_for(lock, std::chrono::milliseconds(100), done)) {
      lock.unlock();
      try {
        while_waiting();
      } catch (...) {
        interruption = std::current_exception();  // the job refers to this frame: it has to end first
      }
      lock.lock();
    }
    job.finished.wait(lock, done);
    lock.unlock();
    if (interruption) std::rethrow_exception(interruption);
    if (job.failure) std::rethrow_exception(job.failure);
  }

  void serve(int index) {
    std::optional<WorkerContext> context;
    std::exception_ptr no_stream;
    try {
      context.emplace(WorkerContext{index, mx::default_stream(to_mlx(device_))});
    } catch (...) {
      no_stream = std::current_exception();
    }
    current = {&device_, context ? &*context : nullptr};
    std::deque<Job*>& own = own_[static_cast<std::size_t>(index)];
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [&] { return !own.empty() || !shared_.empty(); });
      --idle_;
      std::deque<Job*>& queue = own.empty() ? shared_ : own;
      Job* job = queue.front();
      queue.pop_front();
      lock.unlock();
      std::exception_ptr failure = no_stream;
      if (!failure) {
        try {
          (*job->work)(*context);
        } catch (...) {
          failure = std::current_exception();
        }
      }
      lock.lock();
      job->failure = std::move(failure);
      job->done = true;
      // Under the lock: the job lives on its caller's stack and is gone once the caller sees `done`.
      job->finished.notify_one();
    }
  }

  const Device device_;
  const int size_;
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> shared_;
  std::vector<std::deque<Job*>> own_;  // by worker
  std::size_t idle_ = 0;
  int started_ = 0;
  int next_ = 0;
};

Pool& pool(const Device& device) {
  static std::mutex mutex;
  static auto& pools = *new std::map<std::pair<Device::Kind, int>, std::unique_ptr<Pool>>();  // never destroyed
  const std::lock_guard lock(mutex);
  auto& slot = pools[{device.kind, device.index}];
  if (!slot) slot = std::make_unique<Pool>(device, max_workers(device));
  return *slot;
}

}  // namespace

int max_workers(const Device& device) {
  if (device.kind != Device::Kind::cpu) return 1;
  {
    const std::lock_guard lock(threads_mutex);
    threads_used = true;
  }
  return threads();
}

int pick_worker(const Device& device) {
  if (current.context && *current.device == device) return current.context->index;
  return pool(device).pick();
}

void run_on_worker(const Device& device, int worker, const WorkerJob& job, const WhileWaiting& while_waiting) {
  if (current.context && *current.device == device && current.context->index == worker) {
    job(*current.context);
    return;
  }
  pool(device).run(worker, job, while_waiting);
}

void run_on_worker(const Device& device, const WorkerJob& job, const WhileWaiting& while_waiting) {
  if (current.context && *current.device == device) {
    job(*current.context);
    return;
  }
  pool(device).run(job, while_waiting);
}

}  // namespace mlx_backend
}  // namespace reprise
