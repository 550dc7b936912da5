// Compile once, replay many times.
//
//   Result<Executable> exe = compile(program, {.device = Device::cpu()});
//   Result<std::vector<mlx::core::array>> out = exe->run({x, y});
//
// An Executable may be called from many threads at once. It keeps one specialisation for each input signature (shapes
// and dtypes), the least recently used going first. An array that is moved into run() and that nobody else holds is
// donated: its buffer may become an output's, which is how a cache is updated in place.
#pragma once

#include <mlx/array.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reprise/plan.hpp"
#include "reprise/program.hpp"
#include "reprise/status.hpp"

namespace reprise {

/// Where a program runs.
struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;

  static Device cpu() { return {}; }
  static Device cuda(int index = 0) { return {Kind::cuda, index}; }
  bool operator==(const Device&) const = default;
};

/// "cpu", "cuda:0"
std::string to_string(const Device& device);

/// From "cpu", "cuda" or "cuda:N". Errors: unknown text; a device that this machine does not have.
Result<Device> parse_device(std::string_view text);

enum class Backend : std::uint8_t {
  automatic,  ///< the fastest on the device: `native` on the CPU, `mlx` elsewhere
  mlx,        ///< complete, on every device that MLX has
  native,     ///< fast, on the CPU; what has no kernel of its own runs through `mlx`, step by step
};
/// From "auto", "mlx" or "native". Errors: unknown text.
Result<Backend> parse_backend(std::string_view text);
/// What `automatic` stands for on the device; others stay.
Backend resolve(Backend backend, const Device& device);

struct CompileOptions {
  Backend backend = Backend::automatic;
  Device device = Device::cpu();
  std::size_t max_specialisations = 16;  ///< kept at once; at least 1
  std::int64_t max_value_bytes = 0;      ///< refuse programs with a larger value; 0: the machine's memory
  /// Names of passes() that the native backend leaves out, or "all". The mlx backend runs programs as they are written.
  std::vector<std::string> disabled_passes;
};

/// Asks a run to stop: at the next step of the program or turn of a loop it ends with ErrorCode::cancelled.
class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

/// One firing of a `runtime_call`.
struct HostCall {
  std::int64_t callback = 0;                   ///< the instruction's number
  std::span<const mlx::core::array> operands;  ///< evaluated, dense, row-major
  std::span<const TensorType> results;         ///< what must come back, in order
};

/// Answers a host call with one array for each declared result, of that dtype and shape. It is called on the thread
/// that called run(), while no lock is held and no worker is kept busy: it may compile and run other programs. An
/// error, or an exception, ends the run with ErrorCode::runtime.
using HostCallback = std::function<Result<std::vector<mlx::core::array>>(const HostCall&)>;

struct RunOptions {
  const CancelToken* cancel = nullptr;  ///< must outlive the run
  HostCallback host;                    ///< answers `runtime_call`
  std::int64_t max_loop_turns = 0;      ///< a `while` that turns more often ends with ErrorCode::limit; 0: no limit
  /// Called on the thread that called run(), about ten times a second, while that thread waits for a worker. It may
  /// look for signals and set `cancel`.
  std::function<void()> while_waiting;
};

/// What an executable has done so far.
struct ExecutableStats {
  std::uint64_t runs = 0;
  std::uint64_t specialisations = 0;  ///< held now
  std::uint64_t hits = 0;             ///< runs that found their specialisation
  std::uint64_t misses = 0;           ///< runs that had to make it
  std::uint64_t evictions = 0;
};

class Executable {
 public:
  /// Runs the program. Inputs may be lazy; they are forced on the calling thread. Outputs are evaluated and usable on
  /// any thread. Errors leave the executable usable. Consumes what is moved in.
  Result<std::vector<mlx::core::array>> run(std::vector<mlx::core::array> inputs, const RunOptions& options = {}) const;

  /// Makes the specialisation for these input types now, so that shape errors show before any data is there.
  Status specialise(std::span<const TensorType> inputs) const;

  /// What a run with these input types does, step by step. Makes their specialisation. Errors: as specialise();
  /// a backend other than native, which has no plan.
  Result<PlanInfo> plan(std::span<const TensorType> inputs) const;

  const Program& program() const;
  const CompileOptions& options() const;
  ExecutableStats stats() const;
  /// Process-wide and never reused; the first is 1.
  std::uint64_t id() const;

 private:
  class Impl;
  explicit Executable(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend Result<Executable> compile(const Program&, const CompileOptions&);

  std::shared_ptr<const Impl> impl_;
};

/// Verifies the program and prepares it for a device. Errors: everything that verify() finds; a device that is not
/// there.
Result<Executable> compile(const Program& program, const CompileOptions& options = {});

/// How many threads work for the whole process at most. Call it before the first compile. The default is the number of
/// CPUs that affinity and cgroup quota grant. Errors: fewer than 1 or more than 1024; work has begun.
Status set_threads(int threads);
int threads();

}  // namespace reprise
