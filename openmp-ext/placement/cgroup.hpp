// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory limits of the control groups (version 2) this process is in: passing one gets the process
// killed, so room is asked for before memory is taken. Groups are looked up once; without a limit
// nothing is read later.
#pragma once

#include <array>
#include <cstdint>

namespace omptier {

class CgroupLimits {
public:
  static constexpr std::uint64_t k_no_limit = ~std::uint64_t{0};

  // Finds the limited groups from the process's own upwards. root: where control groups are
  // mounted.
  void find(const char* root = "/sys/fs/cgroup");
  // Bytes until the nearest limit, page cache counted as free; k_no_limit when there is none.
  std::uint64_t room() const;

private:
  static constexpr unsigned k_most_levels = 8;
  struct Level {
    std::uint64_t limit;
    char folder[240];
  };
  std::array<Level, k_most_levels> levels_;
  unsigned count_ = 0;
};

} // namespace omptier
