// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan that the user names for a program: read before the program starts, translated to its
// present build, and compared with it, so that a useless plan is reported before the run.
#pragma once

#include "cli/handed_plan.hpp"

#include <string>

namespace omptier {

struct GivenPlan {
  const char* command; // "run": begins the lines on stderr
  std::string path;    // as the user named it
  std::string program; // as the user named it, path or name
  bool strict = false; // refuse a plan of another build or program
  bool own_runtime = false;
};

// Absolute path of the plan for the program's present build: the user's, or one kept by `handed`.
// Reports on stderr which parts of the plan do not apply. Fails if the plan cannot be read, is
// refused, or (handed.refused()) cannot be handed over.
Parsed<std::string> path_of_plan(const GivenPlan& given, HandedPlan& handed);

} // namespace omptier
