// MLX ties streams, encoders and compile caches to threads, and never gives a stream's thread back. So a few workers,
// one thread and one stream each, do all the work of a device; callers wait for them.
#pragma once

#include <mlx/mlx.h>

#include <functional>

#include "reprise/executable.hpp"

namespace reprise::mlx_backend {

/// What a job sees of the worker that runs it.
struct WorkerContext {
  int index = 0;  ///< among the workers of its device
  mlx::core::Stream stream;
};

/// Most workers that a device may have; the index of one is below it.
int max_workers(const Device& device);

using WorkerJob = std::function<void(const WorkerContext&)>;
/// Called by the waiting thread about ten times a second; may be empty.
using WhileWaiting = std::function<void()>;

/// A worker to run several jobs on, so that what one recorded the next can use. Others' jobs may run in between.
int pick_worker(const Device& device);

/// As run_on_worker, on the worker that pick_worker gave.
void run_on_worker(const Device& device, int worker, const WorkerJob& job, const WhileWaiting& while_waiting = {});

/// Runs `job` on a worker of the device and waits for it. Called from a job on the same device, it runs at once on the
/// same worker, so that nesting cannot wait for itself. Exceptions come back to the caller. A process that was forked
/// after the workers had started has none: an error.
void run_on_worker(const Device& device, const WorkerJob& job, const WhileWaiting& while_waiting = {});

}  // namespace reprise::mlx_backend
