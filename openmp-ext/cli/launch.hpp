// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts the user's program for `omptier run` and `omptier record`: puts our libraries first, sets
// variables, forwards signals and returns its exit status. A watcher may observe the process while
// it runs. The program's standard streams are its own.
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
  std::vector<std::pair<std::string, std::string>> environment; // set for the program only
  std::string libraries;            // folder put in front of LD_LIBRARY_PATH; "" = none
  std::string preload;              // library put in front of LD_PRELOAD; "" = none
  std::function<void(pid_t)> watch; // called every watch_every while it runs; may be empty
  std::chrono::milliseconds watch_every{50};
  std::function<void()> in_child;     // just before the program: async-signal-safe calls only
  std::function<void(pid_t)> started; // called once, when the program has begun
  bool own_signals = false;           // the caller handles signals; else they are forwarded
};

// Folder of libomp and libomptier.so of this omptier: <prefix>/lib of an installation (or its
// multi-arch form) or of a build tree; "" if there is none.
std::string find_libraries(const CommandContext& context);

// "", or one line on why no program can be started with the libraries of this folder.
std::string problem_with_libraries(const std::string& folder);

// "" if it is not in the folder.
std::string find_preload(const std::string& libraries);

// For a given program. If its malloc cannot be reached, problem gives the reason in one line and
// library is "". closed: no library can be loaded into it (it is static, or has more rights than
// its user).
struct Preload {
  std::string library, problem;
  bool closed = false;
};
Preload preload_for(const std::string& program, const std::string& libraries);

inline constexpr const char* k_runtime_names = "omptier, own"; // of OpenMP

// "", or one line if the text names no OpenMP runtime.
std::string problem_with_runtime(const std::string& runtime);

// One line on invalid or exclusive options, or "". All may be empty. The plan is not read.
std::string problem_with_placement(const std::string& capacity, const std::string& plan,
                                   const std::string& strategy);

// Shells, MPI launchers and others that only start another program.
bool is_launcher(const std::string& path);

// Runs the program to its end. Returns its exit status, 128 + signal if a signal ended it, 126 if
// it could not be executed, 127 if there is no such program, 125 if we failed; the last three with
// one line on stderr that begins "omptier <name>:".
int launch(const char* name, const Launch& what);

} // namespace omptier
