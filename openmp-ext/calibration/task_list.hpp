// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which quantities are measured, and in which order: what decisions need comes first, memory seen
// from its nearest processors before the rest. So a calibration that ends early (--time, an
// interrupt) has measured what matters most. Pure functions.
#pragma once

#include "calibration/measurement.hpp"
#include "platform/platform.hpp"

#include <vector>

namespace omptier {

// Processors that own a node and see all memory alike.
struct CpuGroup {
  std::vector<unsigned> all;    // as the machine has them
  std::vector<unsigned> usable; // by this process; ascending, never empty
  double quota = 0;             // processors' worth of time that control groups allow; 0 = no limit
};

// Of those nodes that have processors which this process may use.
std::vector<CpuGroup> cpu_groups(const Platform& platform, const std::vector<unsigned>& allowed,
                                 double quota = 0);

// 1, 2, 4, … and all.
std::vector<unsigned> thread_counts(unsigned cpus);

// Of the nodes that can be measured. What becomes a figure is visited twice, with the other nodes'
// figures in between.
std::vector<Task> make_task_list(const Platform& platform, const std::vector<CpuGroup>& groups,
                                 const std::vector<unsigned>& nodes, bool quick);

// Seconds that the tasks from `next` on will take, by what the ones before took on average; `first`
// is taken for each while there were none.
double seconds_left(std::size_t tasks, std::size_t next, double seconds_so_far, double first);

} // namespace omptier
