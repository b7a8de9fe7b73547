// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See recorded_launch.hpp. What cannot be recorded is reported; the program runs anyway.
#include "cli/recorded_launch.hpp"

#include "base/options.hpp"
#include "base/text.hpp"
#include "cli/check_elf.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace omptier {
namespace {

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
  const auto plan = path_of_plan(
      {command, arguments.plan, arguments.command[0], arguments.strict, arguments.runtime == "own"},
      handed);
  if (plan) set("OMPTIER_PLAN", *plan);
  return plan ? std::string() : plan.error();
}

} // namespace

int prepare_recording(const char* command, const CommandContext& context,
                      const RecordArguments& arguments, HandedPlan& handed, Launch& what) {
  const std::string folder = find_libraries(context);
  if (const std::string problem = problem_with_libraries(folder); !problem.empty())
    return fail(command, 125, problem);
  if (!std::filesystem::exists(folder + "/libomptier_ompt.so"))
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

} // namespace omptier
