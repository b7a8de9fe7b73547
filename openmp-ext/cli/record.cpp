// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier record: starts a program with the profiler as its OMPT tool, and with the preloaded
// library that intercepts malloc and starts the profiler if there is no OMPT. Works from an
// installation and from a build tree; returns the program's exit status. omptier env: prints the
// variables that record would set, for a job script that starts the program itself.
#include "base/options.hpp"
#include "base/text.hpp"
#include "cli/check_elf.hpp"
#include "cli/held_names.hpp"
#include "cli/recorded_launch.hpp"
#include "cli/written_profiles.hpp"
#include "placement/strategy.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace omptier {
namespace {

std::string why_no_profile(const std::string& program) {
  const std::string path = path_of_program(program);
  const auto elf = read_elf(path);
  if (!elf || is_launcher(path))
    return program + " started no program with an OpenMP runtime; --children all records whatever "
                     "it starts, or record that program itself";
  for (const char* sanitizer : {"__asan_init", "__tsan_init", "__msan_init"})
    if (elf->defined_symbols.contains(sanitizer) || elf->undefined_symbols.contains(sanitizer))
      return program + " was built with a sanitizer, so it is recorded from OpenMP's start only, "
                       "and it used no OpenMP; build it without";
  return program + " ended before it could be recorded, or sets LD_PRELOAD for itself; 'omptier "
                   "check " + program + "' looks for what is in the way";
}

// Every few seconds: how long the program has run, and how much is recorded.
class StatusLines {
public:
  StatusLines(const WrittenProfiles& profiles, double every) : profiles_(profiles), every_(every) {}

  void look() {
    const double now =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (now < next_) return;
    next_ = now + every_;
    const auto written = profiles_.now();
    std::fprintf(stderr, "omptier record: after %.0f s: %s in %zu profile%s\n", now,
                 format_size(written.bytes).c_str(), written.files, written.files == 1 ? "" : "s");
  }

private:
  const WrittenProfiles& profiles_;
  double every_, next_ = every_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

int record(const CommandContext& context, const RecordArguments& arguments) {
  Launch what;
  HandedPlan handed; // lives as long as the program runs
  if (const int status = prepare_recording("record", context, arguments, handed, what); status != 0)
    return status;
  const std::string output = arguments.output.empty() ? option_text(Option::profile)
                                                      : arguments.output;
  std::error_code gone; // the current folder: problem_with_output says so below
  const WrittenProfiles profiles(std::filesystem::absolute(output, gone));
  const std::uint64_t recording = new_recording();
  if (!arguments.no_names)
    what.environment.emplace_back("OMPTIER_RECORDING", std::to_string(recording));
  StatusLines lines(profiles, arguments.status);
  if (arguments.status > 0) what.watch = [&lines](pid_t) { lines.look(); };
  const int status = launch("record", what);
  const bool started = status < 125 || status > 127;
  // The reason has been given if the library is missing, or if no file can be there.
  const bool told = what.preload.empty() || !problem_with_output(output).empty() ||
                    std::filesystem::is_character_file(output);
  if (started && !arguments.no_names) add_names(profiles.paths(), recording);
  if (!started || told || profiles.now().files > 0) return status;
  std::fprintf(stderr, "omptier record: no profile was written: %s\n",
               why_no_profile(arguments.command[0]).c_str());
  return arguments.strict && status == 0 ? 125 : status;
}

// Quoted for shells of the Bourne family.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

int print_environment(const CommandContext& context, const RecordArguments& arguments) {
  Launch what;
  if (!arguments.command.empty())
    if (const std::string path = path_of_program(arguments.command[0]);
        path.empty() || ::access(path.c_str(), X_OK) != 0)
      return fail("env", 127,
                  arguments.command[0] + ": there is no such program; give its path, or none");
  HandedPlan handed; // stays empty: no program started later could use it
  if (const int status = prepare_recording("env", context, arguments, handed, what); status != 0)
    return status;
  std::string text;
  for (const auto& [name, value] : what.environment)
    text += "export " + name + "=" + quoted(value) + "\n";
  const auto in_front = [&](const std::string& name, const std::string& value) {
    if (!value.empty())
      text += "export " + name + "=" + quoted(value) + "\"${" + name + ":+:$" + name + "}\"\n";
  };
  in_front("LD_LIBRARY_PATH", what.libraries);
  in_front("LD_PRELOAD", what.preload);
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    return fail("env", 125, "standard output cannot be written");
  return 0;
}

void add_options(CLI::App* command, const std::shared_ptr<RecordArguments>& arguments) {
  command
      ->add_option("-o,--output", arguments->output,
                   "Profile to write; %h host, %p process, %r rank, which is added where "
                   "several ranks would write one file (default omptier-%h-%p.profile)")
      ->type_name("FILE");
  command
      ->add_option("--rate", arguments->rate,
                   "Samples per second of CPU time of each thread (default 100)")
      ->check(CLI::Range(1.0, 20000.0));
  command->add_option("--events", arguments->events, "Source of access samples (default auto)")
      ->check(CLI::IsMember({"auto", "exact", "machine", "hardware", "perf", "timer", "none"}));
  command
      ->add_option("--children", arguments->children,
                   "yes: forked children too, in profiles of their own, and what they start if it "
                   "uses OpenMP; all: whatever they start; no: the program alone (default yes)")
      ->check(CLI::IsMember({"yes", "no", "all"}));
  command
      ->add_option("--size", arguments->size,
                   "Largest size of the profile, such as 64M: the nearer it comes, the fewer "
                   "samples are kept (default 256M)")
      ->type_name("SIZE");
  command->add_option("--depth", arguments->depth, "Frames kept of a call stack (default 8)")
      ->check(CLI::Range(1, 32));
  command
      ->add_option("--capacity", arguments->capacity,
                   "Bytes allowed of each kind, such as dram:64M,hbm:0")
      ->type_name("KIND:SIZE,...");
  command->add_option("--plan", arguments->plan, "Record a run that follows a plan")
      ->type_name("FILE");
  command->add_option("--strategy", arguments->strategy, "Record a run with a strategy")
      ->type_name(choices(k_strategy_names));
  command->add_option("--runtime", arguments->runtime, "As of omptier run")
      ->type_name(choices(k_runtime_names));
}

} // namespace

void add_record(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("record", "Run a program and record how it uses its memory");
  auto arguments = std::make_shared<RecordArguments>();
  add_options(command, arguments);
  command->add_option("command", arguments->command, "Program and its arguments, after --")
      ->type_name("PROGRAM")
      ->required();
  command->add_flag("--strict", arguments->strict,
                    "Status 125 if no profile was written, 2 if the plan is of another build or "
                    "program");
  command->add_flag("--no-names", arguments->no_names,
                    "Leave it to report and advise to resolve names, by the program's files then; "
                    "default: names are added to the profile when the program has ended");
  command
      ->add_option("--status", arguments->status,
                   "Print a line on stderr every so many seconds: how much is recorded (10)")
      ->expected(0, 1)
      ->default_str("10")
      ->check(CLI::Range(0.05, 86400.0));
  command->positionals_at_end();
  command->callback([&context, arguments] { context.status = record(context, *arguments); });
}

void add_env(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "env", "Print the variables that make programs be recorded: eval \"$(omptier env)\"");
  auto arguments = std::make_shared<RecordArguments>();
  add_options(command, arguments);
  command
      ->add_option("program", arguments->command,
                   "Program that is recorded with or without OpenMP; programs with an OpenMP "
                   "runtime always are")
      ->type_name("PROGRAM")
      ->expected(0, 1);
  command->callback(
      [&context, arguments] { context.status = print_environment(context, *arguments); });
}

} // namespace omptier
