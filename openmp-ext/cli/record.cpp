// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier record: starts a program with the profiler as its OMPT tool, and with the preloaded
// library that intercepts malloc and starts the profiler if there is no OMPT. Works from an
// installation and from a build tree; returns the program's exit status. omptier env: prints the
// variables that record would set, for a job script that starts the program itself.
#include "base/options.hpp"
#include "base/text.hpp"
#include "cli/check_elf.hpp"
#include "cli/given_plan.hpp"
#include "cli/held_names.hpp"
#include "cli/launch.hpp"
#include "cli/written_profiles.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace omptier {
namespace {

struct RecordArguments {
  std::string output, events = "auto", size, children = "yes", capacity, plan, strategy,
                      runtime = "omptier";
  double rate = 0, status = 0; // samples a second; seconds between two lines of status
  unsigned depth = 0;
  bool strict = false, no_names = false;
  std::vector<std::string> command;
};

// For malloc's blocks. Reports what cannot be recorded; the program runs anyway. Without a program
// (omptier env), all programs with an OpenMP runtime are recorded.
void add_preload(const char* command, Launch& what, const std::string& folder) {
  const bool any_program = what.command.empty();
  const Preload preload = preload_for(any_program ? std::string() : what.command[0], folder);
  if (!preload.problem.empty())
    std::fprintf(stderr, "omptier %s: %s: %s\n", command, preload.problem.c_str(),
                 preload.closed ? "nothing is recorded" : "only OpenMP's allocations are recorded");
  what.preload = preload.library;
  if (any_program) return;
  std::error_code error;
  const auto program = std::filesystem::canonical(path_of_program(what.command[0]), error);
  if (!error && !is_launcher(program.string()))
    what.environment.emplace_back("OMPTIER_RECORD", program.string());
}

bool names_program(const Launch& what) {
  return std::ranges::any_of(what.environment,
                             [](const auto& set) { return set.first == "OMPTIER_RECORD"; });
}

// "", or one line about a value that is invalid. `handed` keeps the plan.
std::string set_placement(const char* command, const RecordArguments& arguments, HandedPlan& handed,
                          Launch& what) {
  if (std::string problem =
          problem_with_placement(arguments.capacity, arguments.plan, arguments.strategy);
      !problem.empty())
    return problem;
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) what.environment.emplace_back(name, value);
  };
  set("OMPTIER_CAPACITY", arguments.capacity);
  set("OMPTIER_STRATEGY", arguments.strategy);
  if (arguments.plan.empty()) return {};
  if (arguments.command.empty()) { // omptier env: for several programs, later
    if (const auto plan = read_plan(arguments.plan); !plan) return plan.error();
    set("OMPTIER_PLAN", std::filesystem::absolute(arguments.plan).string());
    return {};
  }
  const auto plan = path_of_plan({command, arguments.plan, arguments.command[0], arguments.strict,
                                  arguments.runtime == "own"},
                                 handed);
  if (plan) set("OMPTIER_PLAN", *plan);
  return plan ? std::string() : plan.error();
}

// Returns 0 and what to launch, or the exit status after an error message.
int prepare(const char* command, const CommandContext& context, const RecordArguments& arguments,
            HandedPlan& handed, Launch& what) {
  const std::string folder = find_libraries(context);
  if (folder.empty() || !std::filesystem::exists(folder + "/libomptier_ompt.so"))
    return fail(command, 125, "libomptier_ompt.so is not beside this program; reinstall OMPTier");
  if (const std::string problem = problem_with_runtime(arguments.runtime); !problem.empty())
    return fail(command, 2, problem);
  what.command = arguments.command;
  if (arguments.runtime != "own") what.libraries = folder;
  add_preload(command, what, folder);
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) what.environment.emplace_back(name, value);
  };
  const char* others = std::getenv("OMP_TOOL_LIBRARIES");
  set("OMP_TOOL_LIBRARIES",
      folder + "/libomptier_ompt.so" +
          (others != nullptr && *others != 0 ? ":" + std::string(others) : ""));
  set("OMP_TOOL", "enabled");
  if (!arguments.output.empty()) {
    if (arguments.output == "-")
      return fail(command, 2, "-o -: a profile is no text for standard output; name a file");
    if (const std::string problem = problem_with_output(arguments.output); !problem.empty())
      return fail(command, 2, problem);
    // Absolute, because the program may change its folder before OpenMP starts.
    std::error_code error;
    set("OMPTIER_PROFILE", std::filesystem::absolute(arguments.output, error).string());
  }
  set("OMPTIER_CHILDREN", arguments.children == "yes" ? "" : arguments.children);
  if (arguments.children == "no" && !names_program(what)) set("OMPTIER_RECORD", "-");
  set("OMPTIER_EVENTS", arguments.events == "auto" ? "" : arguments.events);
  if (arguments.rate > 0)
    set("OMPTIER_RATE", std::to_string(std::max(1L, std::lround(arguments.rate))));
  if (!arguments.size.empty()) {
    if (const std::string problem = problem_with(OptionType::size, arguments.size.c_str());
        !problem.empty())
      return fail(command, 2, "--size: " + problem);
    set("OMPTIER_PROFILE_SIZE", arguments.size);
  }
  if (arguments.depth > 0) set("OMPTIER_DEPTH", std::to_string(arguments.depth));
  const std::string problem = set_placement(command, arguments, handed, what);
  return problem.empty() ? 0 : fail(command, handed.refused() ? 125 : 2, problem);
}

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
  if (const int status = prepare("record", context, arguments, handed, what); status != 0)
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
  if (const int status = prepare("env", context, arguments, handed, what); status != 0)
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
  command->add_option("-o,--output", arguments->output,
                      "Profile to write; %h host, %p process, %r rank, which is added where "
                      "several ranks would write one file (default omptier-%h-%p.profile)");
  command
      ->add_option("--rate", arguments->rate,
                   "Samples per second of CPU time of each thread (default 100)")
      ->check(CLI::Range(1.0, 20000.0));
  command
      ->add_option("--events", arguments->events,
                   "auto, exact, machine, hardware, perf, timer or none")
      ->check(CLI::IsMember({"auto", "exact", "machine", "hardware", "perf", "timer", "none"}));
  command
      ->add_option("--children", arguments->children,
                   "yes: forked children too, in profiles of their own, and what they start if it "
                   "uses OpenMP; all: whatever they start; no: the program alone (default yes)")
      ->check(CLI::IsMember({"yes", "no", "all"}));
  command->add_option("--size", arguments->size,
                      "Largest size of the profile, such as 64M: the nearer it comes, the fewer "
                      "samples are kept (default 256M)");
  command->add_option("--depth", arguments->depth, "Frames kept of a call stack (default 8)")
      ->check(CLI::Range(1, 32));
  command->add_option("--capacity", arguments->capacity,
                      "Bytes allowed of each kind, such as dram:64M,hbm:0");
  command->add_option("--plan", arguments->plan, "Record a run that follows a plan");
  command->add_option("--strategy", arguments->strategy, "Record a run with a strategy");
  command->add_option("--runtime", arguments->runtime, "As of omptier run");
}

} // namespace

void add_record(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("record", "Run a program and record how it uses its memory");
  auto arguments = std::make_shared<RecordArguments>();
  add_options(command, arguments);
  command->add_option("command", arguments->command, "Program and its arguments, after --")
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
      ->expected(0, 1);
  command->callback(
      [&context, arguments] { context.status = print_environment(context, *arguments); });
}

} // namespace omptier
