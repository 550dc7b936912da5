#include "fuzz/driver.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/compare.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/shrink.hpp"

namespace reprise::fuzz {
namespace {

// A program of a few values that takes longer hangs. Generous: machines are slow under sanitizers.
constexpr unsigned kHangSeconds = 300;
constexpr std::size_t kTextBytes = std::size_t{1} << 20;
constexpr std::size_t kMutantInstructions = 6;
// With so many programs each op must have occurred.
constexpr std::uint64_t kProgramsForAllOps = 400;
constexpr std::uint64_t kTriesToJudge = 20;

struct Counts {
  Tally tally;
  CheckCounts checks;
  Comparison comparison;
  MutantCounts mutants;
};

struct Text {
  std::size_t size = 0;
  char bytes[kTextBytes];

  void set(std::string_view text) {
    size = std::min(text.size(), kTextBytes);
    std::memcpy(bytes, text.data(), size);
  }
  std::string get() const { return {bytes, size}; }
};

/// What a child leaves behind, whatever ends it.
struct Report {
  std::uint64_t current = 0;
  Counts counts;
  Text fault;  ///< empty: none
  Text about;
};

template <typename T>
class SharedMemory {
 public:
  SharedMemory() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    value_ = new (memory) T;
  }
  ~SharedMemory() { munmap(value_, sizeof(T)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

pid_t start(const std::function<void()>& work) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid > 0) return pid;
  int code = 0;
  try {
    work();
  } catch (const std::exception& e) {
    fmt::print(stderr, "reprise_fuzz: {}\n", e.what());
    code = 3;
  }
  std::fflush(nullptr);
  _exit(code);  // MLX's threads are not joined: nothing of the parent's is cleaned up twice
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// "ends with signal 11 (Segmentation fault)"; empty when the process ended by itself.
std::string end_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return fmt::format("does not come back within {} seconds", kHangSeconds);
    return fmt::format("ends with signal {} ({})", signal, strsignal(signal));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return fmt::format("exits with {}", WEXITSTATUS(status));
  return "";
}

bool uses(const std::vector<Instruction>& list, std::string_view op) {
  return std::any_of(list.begin(), list.end(), [&](const Instruction& i) {
    return i.op == op || std::any_of(i.subprograms.begin(), i.subprograms.end(),
                                     [&](const SubProgram& sub) { return uses(sub.instructions, op); });
  });
}

// The kind of a fault: what it says before its first number or name.
std::string kind_of(const std::string& fault) { return fault.substr(0, fault.find_first_of("0123456789:")); }

class Driver {
 public:
  explicit Driver(const DriverOptions& options) : options_(options) {}

  int run() {
    fmt::print("{}\n", command(options_.first, options_.programs, options_.mutants));
    if (!open_runners()) return 2;
    for (const bool mutants : {false, true}) {
      const std::uint64_t n = mutants ? options_.mutants : options_.programs;
      if (n > 0) run_all(mutants, n);
    }
    report();
    return failures_ == 0 ? 0 : 1;
  }

 private:
  std::string command(std::uint64_t first, std::uint64_t programs, std::uint64_t mutants) const {
    std::string out = fmt::format("reprise_fuzz --seed {} --first {}", options_.seed, first);
    if (programs > 0) out += fmt::format(" --programs {}", programs);
    if (mutants > 0) out += fmt::format(" --mutants {}", mutants);
    if (programs > 0 && !options_.compare.empty()) out += " --compare " + options_.compare;
    if (options_.max_instructions != DriverOptions().max_instructions) {
      out += fmt::format(" --max-instructions {}", options_.max_instructions);
    }
    if (!options_.float64) out += " --no-float64";
    if (!options_.plant.empty()) out += " --plant " + options_.plant;
    return out;
  }

  bool open_runners() {
    if (options_.compare.empty()) return true;
    const auto comma = options_.compare.find(',');
    auto first = make_runner(std::string_view(options_.compare).substr(0, comma));
    auto second = make_runner(comma == std::string::npos ? "" : std::string_view(options_.compare).substr(comma + 1));
    for (const auto* runner : {&first, &second}) {
      if (runner->ok()) continue;
      fmt::print(stderr, "reprise_fuzz: --compare: {}\n", runner->error().message());
      return false;
    }
    reference_ = *std::move(first);
    other_ = *std::move(second);
    return true;
  }

  FuzzCase make(std::uint64_t index, bool for_mutant, Tally& tally) const {
    return generate({.seed = options_.seed,
                     .index = index,
                     .max_instructions = for_mutant ? static_cast<int>(kMutantInstructions) : options_.max_instructions,
                     .float64 = options_.float64},
                    tally);
  }

  std::optional<std::string> fault_of(const FuzzCase& one, std::uint64_t index, Counts& counts) const {
    if (!options_.plant.empty()) {
      const auto colon = options_.plant.find(':');
      if (uses(one.data.instructions, std::string_view(options_.plant).substr(colon + 1))) {
        if (options_.plant.starts_with("signal")) raise(SIGSEGV);
        return "planted fault";
      }
    }
    if (!reference_) return check(one, &counts.checks);
    ++counts.checks.programs;
    counts.checks.instructions += count_instructions(one.data.instructions);
    return compare(one, *reference_, *other_, options_.seed + index, counts.comparison);
  }

  // Splits [first, first + n) among the jobs; a child that fails is followed by one that goes on behind its failure.
  void run_all(bool mutants, std::uint64_t n) {
    struct Job {
      std::unique_ptr<SharedMemory<Report>> memory = std::make_unique<SharedMemory<Report>>();
      std::uint64_t next = 0;
      std::uint64_t end = 0;
      pid_t pid = 0;
    };
    const auto count = std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max(options_.jobs, 1)), n);
    std::vector<Job> jobs(count);
    const auto launch = [&](Job& job) {
      job.pid = 0;
      if (job.next >= job.end || failures_ >= options_.max_failures) return;
      Report& report = **job.memory;
      report.counts = {};
      report.fault.size = 0;
      report.about.size = 0;
      report.current = job.next;
      job.pid = start([&] { mutants ? run_mutants(report, job.end) : run_programs(report, job.end); });
    };
    for (std::uint64_t j = 0; j < count; ++j) {
      jobs[j].next = options_.first + n * j / count;
      jobs[j].end = options_.first + n * (j + 1) / count;
      launch(jobs[j]);
    }
    for (;;) {
      int status = 0;
      const pid_t pid = wait(&status);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) break;
      const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) { return j.pid == pid; });
      if (job == jobs.end()) continue;
      const Report& report = **job->memory;
      add(report.counts);
      const std::string end = end_of(status);
      job->next = report.current + 1;
      if (!end.empty() || report.fault.size > 0) {
        mutants ? mutant_failed(report, end) : program_failed(report, end);
      } else {
        job->next = job->end;
      }
      launch(*job);
    }
  }

  void run_programs(Report& report, std::uint64_t end) const {
    for (std::uint64_t i = report.current; i < end; ++i) {
      report.current = i;
      alarm(kHangSeconds);
      const FuzzCase one = make(i, false, report.counts.tally);
      if (options_.show) {
        fmt::print("--- {}\n{}", i, describe(one));
        std::fflush(stdout);
      }
      if (const auto fault = fault_of(one, i, report.counts)) return report.fault.set(*fault);
    }
  }

  void run_mutants(Report& report, std::uint64_t end) const {
    for (std::uint64_t i = report.current; i < end; ++i) {
      report.current = i;
      alarm(kHangSeconds);
      Tally unused;
      const FuzzCase one = make(i, true, unused);
      Random random(options_.seed, i ^ (std::uint64_t{0x6d} << 56));
      const auto fault = check_mutant(one, kMutantLevels[i % kMutantLevels.size()], random, report.counts.mutants,
                                      [&](const std::string& text) { report.about.set(text); });
      if (options_.show) fmt::print("--- {}\n{}\n", i, report.about.get());
      if (fault) return report.fault.set(*fault);
    }
  }

  void add(const Counts& counts) {
    counts_.tally.add(counts.tally);
    counts_.comparison.add(counts.comparison);
    counts_.mutants.add(counts.mutants);
    counts_.checks.programs += counts.checks.programs;
    counts_.checks.instructions += counts.checks.instructions;
    counts_.checks.loops += counts.checks.loops;
    counts_.checks.refused_values += counts.checks.refused_values;
  }

  void mutant_failed(const Report& report, const std::string& end) {
    ++failures_;
    fmt::print("\nFAILED: {}\n{} mutant: {}\n{}\n", command(report.current, 0, 1),
               to_string(kMutantLevels[report.current % kMutantLevels.size()]), end.empty() ? report.fault.get() : end,
               report.about.get());
  }

  void program_failed(const Report& report, const std::string& end) {
    ++failures_;
    const std::uint64_t index = report.current;
    fmt::print("\nFAILED: {}\n{}\n", command(index, 1, 0), end.empty() ? report.fault.get() : "the program " + end);
    Tally unused;
    FuzzCase one = make(index, false, unused);
    if (options_.shrink) {
      fmt::print("shrunk from {} instructions:\n", count_instructions(one.data.instructions));
      std::fflush(stdout);
      if (!end.empty()) {
        one = shrink(one, [&](const FuzzCase& c) { return ends_badly(c, index, end); }, {.max_tries = 600});
        show(one, index);
      } else {
        // In a process of its own, which may use MLX.
        wait_for(start([&] {
          const std::string kind = kind_of(report.fault.get());
          Counts ignored;
          const auto fails = [&](const FuzzCase& c) {
            const auto fault = fault_of(c, index, ignored);
            return fault && kind_of(*fault) == kind;
          };
          const auto plain = make_runner("mlx").value();
          show(shrink(one, fails, {.evaluate = plain.get()}), index);
        }));
      }
    } else {
      show(one, index);
    }
  }

  bool ends_badly(const FuzzCase& one, std::uint64_t index, const std::string& end) const {
    return end == end_of(wait_for(start([&] {
             alarm(kHangSeconds);
             Counts ignored;
             static_cast<void>(fault_of(one, index, ignored));
           })));
  }

  void show(const FuzzCase& one, std::uint64_t index) const {
    fmt::print("{}", describe(one));
    if (options_.save.empty()) {
      fmt::print("(--save FOLDER writes it with its inputs, ready for reprise run)\n");
      return;
    }
    const auto saved = save(one, fmt::format("{}/seed{}-{}", options_.save, options_.seed, index));
    fmt::print("{}\n", saved ? *saved : "it cannot be saved: " + saved.error().message());
  }

  void report() {
    if (options_.programs > 0) report_programs();
    if (options_.mutants > 0) {
      const MutantCounts& m = counts_.mutants;
      fmt::print(
          "{} mutants: {} refused by the text or wire reader, {} by verify, {} by inference, {} by the run; {} were "
          "valid and ran\n",
          m.mutants, m.refused_by_reader, m.refused_by_verify, m.refused_by_infer, m.refused_by_run, m.valid);
    }
    if (failures_ > 0) fmt::print("{} failures\n", failures_);
  }

  void report_programs() {
    const CheckCounts& c = counts_.checks;
    fmt::print("{} programs, {} instructions", c.programs, c.instructions);
    if (!reference_) fmt::print(", {} loops, {} runs ended by values that an op refuses", c.loops, c.refused_values);
    fmt::print("\n");
    const Tally& t = counts_.tally;
    std::uint64_t tried = 0;
    std::uint64_t accepted = 0;
    std::uint64_t too_large = 0;
    std::string missing;
    std::string refused;
    const ops::OpDef* rarest = nullptr;
    for (const ops::OpDef* op : ops::all_defs()) {
      const std::size_t i = op_index(*op);
      tried += t.tried[i];
      accepted += t.accepted[i];
      too_large += t.too_large[i];
      if (!rarest || t.accepted[i] < t.accepted[op_index(*rarest)]) rarest = op;
      if (t.accepted[i] == 0) missing += fmt::format(" {}", op->name);
      if (t.tried[i] >= kTriesToJudge && 2 * (t.accepted[i] + t.too_large[i]) < t.tried[i]) {
        refused += fmt::format(" {} ({} of {})", op->name, t.accepted[i], t.tried[i]);
      }
    }
    fmt::print(
        "{} candidates, {:.1f}% accepted by inference, {} of them too large; {} whole programs refused\n", tried,
        100.0 * static_cast<double>(accepted + too_large) / static_cast<double>(std::max<std::uint64_t>(tried, 1)),
        too_large, t.refused_programs);
    if (c.programs >= kProgramsForAllOps) {
      fmt::print("the rarest of {} ops, {}, occurred {} times\n", ops::all_defs().size(), rarest->name,
                 t.accepted[op_index(*rarest)]);
    }
    if (reference_) {
      const Comparison& s = counts_.comparison;
      fmt::print(
          "{} against {}: {} elements equal, {} within their op's tolerance, {} within what noise spreads, {} not "
          "compared since noise changes their kind; {} programs end with the same error\n",
          other_->name(), reference_->name(), s.equal, s.tolerated, s.spread, s.unstable, s.same_error);
    }
    // A generator that loses ops proves nothing.
    if (c.programs >= kProgramsForAllOps && !missing.empty()) {
      ++failures_;
      fmt::print("FAILED: these ops never occurred:{}\n", missing);
    }
    if (!refused.empty()) {
      ++failures_;
      fmt::print("FAILED: most candidates of these ops are refused:{}\n", refused);
    }
  }

  const DriverOptions& options_;
  std::unique_ptr<const Runner> reference_;
  std::unique_ptr<const Runner> other_;
  Counts counts_;
  int failures_ = 0;
};

}  // namespace

int drive(const DriverOptions& options) { return Driver(options).run(); }

}  // namespace reprise::fuzz
