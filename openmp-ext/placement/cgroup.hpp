// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of the kernel on this process: memory limits of its control groups (versions 1 and 2,
// parents included), which kill when exceeded, so room is checked before memory is taken; and the
// nodes of its cpuset. Groups are looked up once; without a limit nothing is read later.
#pragma once

#include "placement/pages.hpp"

#include <array>
#include <cstdint>

namespace omptier {

struct CgroupFiles; // file names of a version

class CgroupLimits {
public:
  static constexpr std::uint64_t k_no_limit = ~std::uint64_t{0};

  // Finds the limited groups, from the process's own upwards. root: where control groups are
  // mounted (version 2 there or in unified/, version 1 in memory/).
  void find(const char* root = "/sys/fs/cgroup");
  // Page cache counts as free, and a margin for page tables and other users is subtracted;
  // k_no_limit without a limit.
  std::uint64_t room() const;
  bool limited() const { return count_ != 0; }
  std::uint64_t least_limit() const; // k_no_limit when there is none

private:
  void find_upwards(const char* mount, const char* path, std::size_t length,
                    const CgroupFiles& files);
  static constexpr unsigned k_most_levels = 8;
  struct Level {
    std::uint64_t limit;
    bool version_1;
    char folder[240];
  };
  std::array<Level, k_most_levels> levels_;
  unsigned count_ = 0;
};

// From Mems_allowed; all nodes when that is unreadable.
NodeSet allowed_nodes();

} // namespace omptier
