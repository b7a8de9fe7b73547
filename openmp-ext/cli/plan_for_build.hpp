// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan for the program as it is built now. A plan names allocation sites by build and offset;
// when the program was rebuilt since, `omptier run` looks for the same sites by function, callee
// and which of those calls it is, and gives the program a plan with the new offsets. Sites that are
// not found, or not uniquely, are left out and told.
#pragma once

#include "plan/plan.hpp"

#include <string>

namespace omptier {

struct LostEntry {
  std::string label;
  std::string why; // one line
};

struct PlanForBuild {
  Plan plan;
  bool same_build = true;      // nothing had to be looked for
  unsigned by_name = 0;        // entries found by name
  std::vector<LostEntry> lost; // left out
};

// program: path of the ELF file that will run. Libraries of the program are taken as they are:
// their sites match when they are of the recorded build.
PlanForBuild plan_for_build(const Plan& plan, const std::string& program);

} // namespace omptier
