// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See given_plan.hpp.
#include "cli/given_plan.hpp"

#include "cli/launch.hpp"
#include "cli/plan_for_build.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace omptier {
namespace {

using Outcome = Parsed<std::string>;

void report_regions(const GivenPlan& given, const Plan& plan) {
  const auto for_regions = std::ranges::count_if(
      plan.entries, [](const PlanEntry& entry) { return !entry.region.empty(); });
  if (given.own_runtime && for_regions != 0)
    std::fprintf(
        stderr,
        "omptier %s: %td entries of the plan are for parallel regions, which only OMPTier's "
        "runtime reports: nothing is moved for them\n",
        given.command, for_regions);
}

// The program may start the one that the plan was made for; launchers and shells do only that.
Outcome plan_of_another(const GivenPlan& given, const Plan& plan, const std::string& path) {
  if (is_launcher(path_of_program(given.program))) return path;
  const std::string what = given.path + " was made for " + plan.program + ": none of its " +
                           std::to_string(plan.entries.size()) + " entries applies to " +
                           given.program;
  if (given.strict)
    return Outcome::failure(what + "; record and advise " + given.program +
                            " itself, or run without --strict");
  std::fprintf(stderr,
               "omptier %s: %s, only to a %s that it starts; record and advise %s itself\n",
               given.command, what.c_str(), plan.program.c_str(), given.program.c_str());
  return path;
}

Outcome plan_of_another_build(const GivenPlan& given, const PlanForBuild& now, const Plan& plan,
                              HandedPlan& handed) {
  if (given.strict)
    return Outcome::failure(given.path +
                            " was made for another build of the program; record it again, or run "
                            "without --strict");
  report_rebuilt(given.command, now, plan, "the plan was made");
  report_lost(given.command, now);
  return handed.write(write_plan(now.plan));
}

} // namespace

Parsed<std::string> path_of_plan(const GivenPlan& given, HandedPlan& handed) {
  // Absolute, because the program may change its folder before OpenMP starts.
  const std::string path = std::filesystem::absolute(given.path).string();
  const auto plan = read_plan(path);
  if (!plan) return Outcome::failure(plan.error());
  report_regions(given, *plan);
  const PlanForBuild now = plan_for_build(*plan, path_of_program(given.program));
  if (now.of_another_program) return plan_of_another(given, *plan, path);
  return now.same_build ? path : plan_of_another_build(given, now, *plan, handed);
}

} // namespace omptier
