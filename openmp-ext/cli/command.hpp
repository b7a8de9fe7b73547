// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The omptier command: one file a subcommand. Each registers itself on the parser and leaves its
// exit status in the context; main prints CLI11's own errors (status 2) and returns the status.
#pragma once

#include <CLI/CLI.hpp>

namespace omptier {

struct CommandContext {
  int status = 0;   // what the process returns
  std::string self; // folder the omptier program lies in ("…/bin"), for ../lib beside it
};

void add_topology(CLI::App& app, CommandContext& context);
void add_check(CLI::App& app, CommandContext& context);
void add_sandbox(CLI::App& app, CommandContext& context);
void add_record(CLI::App& app, CommandContext& context);
void add_env(CLI::App& app, CommandContext& context);
void add_run(CLI::App& app, CommandContext& context);
void add_sites(CLI::App& app, CommandContext& context);
void add_report(CLI::App& app, CommandContext& context);
void add_advise(CLI::App& app, CommandContext& context);

// One line on stderr, "omptier <command>: what; what to do", and the status for the caller to
// return.
int fail(const char* command, int status, const std::string& line);

// Writes the whole file: 0, or 125 and said.
int write_file(const char* command, const std::string& path, const std::string& text);

} // namespace omptier
