// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a command in a virtual machine with several kinds of memory, as `omptier sandbox` does.
#pragma once

#include "machine/machine.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omptier {

struct SandboxOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment; // "NAME=value", besides what is inherited
  double timeout = 0;                   // seconds of real time; 0: none
  bool forward_input = false;           // the command reads our stdin
  bool unprivileged = false;            // the command runs as an ordinary user
  bool snapshot = true;                 // boot once, then restore a snapshot
  bool console = false;                 // the kernel's messages go to stderr
  std::string kernel_options;           // added to the kernel's command line

  std::optional<double> dilation; // memory takes modelled time, slowed down by this factor
  std::string misses;             // file for exported misses
  std::string statistics;         // file for the time model's counters
  bool memory_events = false;     // record misses in the memory-event unit
  unsigned events_period = 0;     // mean misses per record; 0: the plugin's default

  std::filesystem::path make_guest; // program that makes the guest's image
  std::filesystem::path plugin;     // the time model
};

// Whether the command gets this variable ("NAME=value") of the caller's.
bool is_inherited(std::string_view variable);

// Passes the command's output on. Returns its exit status as a shell would, or 124 (time-out), 125
// (our failure, reported on stderr), 128 + signal (sent to us). One call at a time: it handles the
// process's signals.
int run_sandbox(const Machine& machine, const SandboxOptions& options);

struct EndedCommand {
  int status = 0;     // as a shell's; 124: it took longer than the time-out
  double seconds = 0; // of guest time
  std::string output, errors;
};
using NextCommand = std::function<std::vector<std::string>()>; // empty: no more
using CommandEnd = std::function<void(const EndedCommand&)>;

// Runs commands one after the other in one machine, each with empty caches and a time-out of its
// own (a machine that ran into it is replaced). options: without command, input and files of the
// time model. Returns 0, or 125 or 128 + signal as above.
int run_commands(const Machine& machine, const SandboxOptions& options, const NextCommand& next,
                 const CommandEnd& end);

} // namespace omptier
