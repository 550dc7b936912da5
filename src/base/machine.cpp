#include "base/machine.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace reprise {
namespace {

// The first number of a small file, or nothing ("max", no file): 0.
double first_number(const char* path) {
  std::ifstream in(path);
  double value = 0;
  if (in >> value && value > 0) return value;
  return 0;
}

double cgroup_cpus() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::strtod(quota.c_str(), nullptr) / period;
  const double v1_quota = first_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const double v1_period = first_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return v1_quota > 0 && v1_period > 0 ? v1_quota / v1_period : 0;
}

}  // namespace

std::int64_t machine_memory() {
  static const std::int64_t bytes = [] {
    const double installed = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    double limit = first_number("/sys/fs/cgroup/memory.max");
    if (limit == 0) limit = first_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    double most = limit > 0 ? std::min(limit, installed) : installed;
    rlimit space{};
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
      most = std::min(most, static_cast<double>(space.rlim_cur));
    }
    return static_cast<std::int64_t>(most);
  }();
  return bytes;
}

int machine_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const double quota = cgroup_cpus(); quota > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(quota)));
  return std::max(cpus, 1);
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  in >> total >> resident;
  return resident * sysconf(_SC_PAGE_SIZE);
}

}  // namespace reprise
