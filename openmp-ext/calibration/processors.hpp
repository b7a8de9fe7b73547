// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which processors a measurement runs on: those that this process may use, cores before the second
// hardware threads of cores, and how much of their time control groups allow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace omptier {

// That this process may run on, ascending.
std::vector<unsigned> allowed_processors();

// Which hardware threads share a core, of these processors: the position of each among those of its
// core, 0 for the first. root: where /sys is.
std::vector<std::size_t> positions_in_cores(const std::vector<unsigned>& cpus,
                                            const std::string& root = "/sys");

// So many of the processors, spread over them, of each core one before any has two. alone: the
// first of them has a core to itself, where there are others.
std::vector<unsigned> spread_over_cores(const std::vector<unsigned>& cpus, std::size_t count,
                                        bool alone, const std::string& root = "/sys");

// Processors' worth of time that control groups (cpu.max, cpu.cfs_quota_us; parents included) give
// this process; 0 = no limit. groups: the file that names them, root: where they are mounted.
double cpu_quota(const std::string& groups = "/proc/self/cgroup",
                 const std::string& root = "/sys/fs/cgroup");

} // namespace omptier
