// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier record: starts a program with the profiler as its OMPT tool, and with the preloaded
// library that intercepts malloc and starts the profiler if there is no OMPT. Works from an
// installation and from a build tree; returns the program's exit status. omptier env: prints the
// variables that record would set, for a job script that starts the program itself.
#include "base/options.hpp"
#include "base/text.hpp"
#include "cli/launch.hpp"

#include <algorithm>
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
  double rate = 0;
  unsigned depth = 0;
  std::vector<std::string> command;
};

// Programs that only start the one to be recorded.
bool is_launcher(const std::string& path) {
  static constexpr const char* k_launchers[] = {
      "sh",   "bash",          "dash",  "zsh",    "ksh",     "csh",    "tcsh",    "fish",
      "env",  "nice",          "nohup", "setsid", "timeout", "time",   "taskset", "numactl",
      "sudo", "stdbuf",        "chrt",  "ionice", "make",    "mpirun", "mpiexec", "orterun",
      "srun", "mpiexec.hydra", "xargs", "strace", "gdb"};
  const std::string name = std::filesystem::path(path).filename().string();
  return std::ranges::find(k_launchers, name) != std::end(k_launchers);
}

// Records malloc's blocks too. Reports what cannot be recorded; the program runs all the same.
// Without a program (omptier env), all programs with an OpenMP runtime are recorded.
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

// An output that cannot be written is an error now, not after the program has run for hours.
std::string problem_with_output(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::string folder = path.parent_path().string();
  if (!std::filesystem::is_directory(folder, ignored))
    return "there is no folder " + folder + "; create it first";
  if (std::filesystem::is_directory(path, ignored)) return "this is a folder; name a file in it";
  if (::access(folder.c_str(), W_OK) != 0)
    return "the folder " + folder + " cannot be written to; name another";
  return {};
}

bool names_program(const Launch& what) {
  return std::ranges::any_of(what.environment,
                             [](const auto& set) { return set.first == "OMPTIER_RECORD"; });
}

// Returns 0 and what to launch, or the exit status after an error message.
int prepare(const char* command, const CommandContext& context, const RecordArguments& arguments,
            Launch& what) {
  const std::string folder = find_libraries(context);
  if (folder.empty() || !std::filesystem::exists(folder + "/libomptier_ompt.so"))
    return fail(command, 125, "libomptier_ompt.so is not beside this program; reinstall OMPTier");
  if (!arguments.capacity.empty())
    if (const auto capacity = parse_capacity(arguments.capacity); !capacity)
      return fail(command, 2, "--capacity: " + capacity.error());
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
    // Absolute, because the program may change its folder before OpenMP starts.
    std::error_code error;
    const auto path = std::filesystem::absolute(arguments.output, error);
    if (const std::string problem = problem_with_output(path); !problem.empty())
      return fail(command, 2, arguments.output + ": " + problem);
    set("OMPTIER_PROFILE", path.string());
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
  set("OMPTIER_CAPACITY", arguments.capacity);
  if (!arguments.plan.empty())
    set("OMPTIER_PLAN", std::filesystem::absolute(arguments.plan).string());
  set("OMPTIER_STRATEGY", arguments.strategy);
  return 0;
}

int record(const CommandContext& context, const RecordArguments& arguments) {
  Launch what;
  if (const int status = prepare("record", context, arguments, what); status != 0) return status;
  return launch("record", what);
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
  if (const int status = prepare("env", context, arguments, what); status != 0) return status;
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
