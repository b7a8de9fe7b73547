// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier run --online: places a program while it runs, without an earlier profile. The program is
// recorded into a folder of its own; from time to time a process looks at what has been recorded
// and moves pages (online_look.hpp). Looks come ever less often while nothing changes.
#pragma once

#include "base/kind.hpp"
#include "cli/command.hpp"

#include <string>
#include <vector>

namespace omptier {

struct OnlineArguments {
  std::vector<std::string> command; // program and its arguments
  std::string capacity, runtime;    // as of omptier run
  std::string learn;                // file for the plan; "": none
  bool strict = false;
};

// Returns the program's exit status, as `omptier run` does.
int run_online(const CommandContext& context, const OnlineArguments& arguments);

} // namespace omptier
