// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sites a program's loops access together, from the instructions that samples were blamed on:
// the innermost loop around an instruction is the place where accesses overlap.
#pragma once

#include "analysis/aggregate.hpp"
#include "model/loop_time.hpp"

#include <vector>

namespace omptier {

struct LoopsOfSites {
  std::size_t loops = 0;
  std::vector<std::vector<LoopPart>> of_site; // by site of the summary
};

LoopsOfSites loops_of_sites(const ProfileSummary& summary);

} // namespace omptier
