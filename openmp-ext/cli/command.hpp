// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The omptier command, one file a subcommand. Each registers itself on the parser and stores its
// exit status in the context; main prints CLI11's own errors (status 2) and returns the status.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace omptier {

struct CommandContext {
  int status = 0;   // exit status of the process
  std::string self; // folder of the omptier program ("…/bin"); its libraries are in ../lib
  std::string version; // "1.1.0"
};

void add_topology(CLI::App& app, CommandContext& context);
void add_check(CLI::App& app, CommandContext& context);
void add_sandbox(CLI::App& app, CommandContext& context);
void add_record(CLI::App& app, CommandContext& context);
void add_env(CLI::App& app, CommandContext& context);
void add_run(CLI::App& app, CommandContext& context);
void add_sites(CLI::App& app, CommandContext& context);
void add_report(CLI::App& app, CommandContext& context);
void add_phases(CLI::App& app, CommandContext& context);
void add_advise(CLI::App& app, CommandContext& context);
void add_explain(CLI::App& app, CommandContext& context);
void add_whatif(CLI::App& app, CommandContext& context);
void add_calibrate(CLI::App& app, CommandContext& context);
void add_tune(CLI::App& app, CommandContext& context);
void add_diff(CLI::App& app, CommandContext& context);
void add_help(CLI::App& app, CommandContext& context);

// The type name of an option that takes one of these: "{a,b}" of "a, b". --help shows it, and
// completion offers them. It also knows the type names FILE, PROGRAM and those of value_names.hpp.
std::string choices(std::string_view names);

int fail(const char* command, int status, const std::string& line);

// Why no file can be written there, in one line "PATH: what; what to do", or "". To be asked before
// a program runs for hours. Does not touch an existing file.
std::string problem_with_output(const std::string& path);

// "-" is standard output; a regular file appears whole, or stays as it was. Returns 0, or 125 after
// an error message.
int write_file(const char* command, const std::string& path, const std::string& text);

} // namespace omptier
