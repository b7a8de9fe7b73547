// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts a program with the profiler in it: for `omptier record`, `env` and `run --online`.
#pragma once

#include "cli/given_plan.hpp"
#include "cli/launch.hpp"

#include <string>
#include <vector>

namespace omptier {

struct RecordArguments {
  std::string output, events = "auto", size, children = "yes", capacity, plan, strategy,
                      runtime = "omptier";
  double rate = 0, status = 0; // samples a second; seconds between two lines of status
  unsigned depth = 0;
  bool strict = false, no_names = false;
  std::vector<std::string> command;
};

// Sets what to launch: the runtime's folder, what is preloaded, and variables. Returns 0, or the
// exit status after an error message that begins "omptier <command>:". handed keeps the plan as
// long as the program runs.
int prepare_recording(const char* command, const CommandContext& context,
                      const RecordArguments& arguments, HandedPlan& handed, Launch& what);

} // namespace omptier
