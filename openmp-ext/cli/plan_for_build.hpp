// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates a plan to the program's present build. A plan names allocation sites by build and
// offset. If the program was rebuilt since, `omptier run` searches for the same sites by function,
// callee and the call's ordinal, and passes the program a plan with the new offsets. Sites that are
// not found, or not uniquely, are left out and reported.
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
  bool same_build = true;      // no search was needed
  bool of_another_program = false; // every entry names a program file that this one is not
  unsigned by_name = 0;        // entries found by name
  std::vector<LostEntry> lost; // entries left out
};

// program: path of the ELF file that will run. Its libraries are not searched: their sites match
// only if they are of the recorded build.
PlanForBuild plan_for_build(const Plan& plan, const std::string& program);

// On standard error: that the program was rebuilt since ("the plan was made"), and how many of the
// plan's entries were found again; and those that were not.
void report_rebuilt(const char* command, const PlanForBuild& now, const Plan& plan,
                    const char* since);
void report_lost(const char* command, const PlanForBuild& now);

} // namespace omptier
