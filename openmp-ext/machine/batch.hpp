// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many commands in few machines, for sweeps: the lines of a file are dealt to machines side by
// side, each booted once. A result is a line of JSON; what a file of results has is not run again.
#pragma once

#include "machine/guest_run.hpp"

#include <string>

namespace omptier {

struct BatchOptions {
  std::string file;    // a shell command a line; empty lines and those that begin with # do nothing
  std::string results; // file that results are appended to, and taken from; "": none
  unsigned jobs = 0;   // machines at a time; 0: as many as the host has processors for
};

// Prints the results in the order in which they are known, and the progress on stderr. Returns 0; 1
// if a command failed; or as run_commands.
int run_batch(const Machine& machine, const SandboxOptions& options, const BatchOptions& batch);

} // namespace omptier
