// Facts about the machine that bound what we take of it.
#pragma once

#include <cstdint>

namespace reprise {

/// Bytes of memory that this process may use: what is installed, the cgroup's limit or that on address space.
std::int64_t machine_memory();

/// CPUs that affinity and the cgroup's quota grant, at least 1.
int machine_cpus();

/// Greatest resident size of this process so far, in bytes.
std::int64_t peak_resident_bytes();
/// Resident size now, in bytes.
std::int64_t resident_bytes();

}  // namespace reprise
