// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting the user's program for `omptier run` and `omptier record`: with our libraries found
// first, the variables set, signals passed on, and its end turned into our exit status. While it
// runs, a watcher may look at it from outside. The program's standard streams are its own.
#pragma once

#include "base/program_path.hpp"
#include "cli/command.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace omptier {

struct Launch {
  std::vector<std::string> command;                             // program and arguments
  std::vector<std::pair<std::string, std::string>> environment; // set in the program only
  std::string libraries;            // folder put in front of LD_LIBRARY_PATH; "" = none
  std::string preload;              // library put in front of LD_PRELOAD; "" = none
  std::function<void(pid_t)> watch; // called between starts and end; may be empty
  std::chrono::milliseconds watch_every{50};
};

// Folder of libomp and libomptier.so beside the running omptier program: <prefix>/lib of an
// installation (or its multi-arch form) or of a build tree; "" when there is none.
std::string find_libraries(const CommandContext& context);

// libomptier_preload.so in such a folder; "" when it is not there.
std::string find_preload(const std::string& libraries);

// The same for a certain program: why its malloc cannot be reached is one line in problem, and the
// library then "". closed: nothing at all can be loaded into it (static, or with more rights than its
// user).
struct Preload {
  std::string library, problem;
  bool closed = false;
};
Preload preload_for(const std::string& program, const std::string& libraries);

// One line when the text is no OpenMP runtime to choose ("own", "omptier"), or "".
std::string problem_with_runtime(const std::string& runtime);

// Runs the program to its end. Returns its exit status, 128 + signal when a signal ended it, 126
// when it could not be executed, 127 when there is no such program, 125 when we failed (all but the
// first two with one line on stderr, beginning "omptier <name>:").
int launch(const char* name, const Launch& what);

} // namespace omptier
