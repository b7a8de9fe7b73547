// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier run: starts a program on the patched runtime with a plan or a strategy. With --where it
// reports how many bytes the kernel had in which memory kind when the program used most.
#include "base/text.hpp"
#include "cli/handed_plan.hpp"
#include "cli/kernel_pages.hpp"
#include "cli/launch.hpp"
#include "cli/plan_for_build.hpp"
#include "plan/plan.hpp"
#include "platform/platform.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

struct RunArguments {
  std::string plan, strategy, capacity, where, runtime = "omptier";
  bool strict = false, no_preload = false;
  std::vector<std::string> command;
};

std::array<std::uint64_t, k_memory_kinds + 1> by_kind(const BytesByNode& bytes,
                                                      const Platform& platform) {
  std::array<std::uint64_t, k_memory_kinds + 1> sums{};
  for (const auto& [number, count] : bytes) {
    const Node* node = platform.node(number);
    sums[static_cast<std::size_t>(node != nullptr ? node->kind : MemoryKind::unknown)] += count;
  }
  return sums;
}

// where: "-" = one line on stderr, else the path of a JSON file.
int report_where(const std::string& where, const BytesByNode& fullest) {
  const auto platform = discover_platform({});
  if (!platform) return fail("run", 125, platform.error());
  const auto sums = by_kind(fullest, *platform);
  nlohmann::json json = {{"bytes_by_kind", nlohmann::json::object()},
                         {"bytes_by_node", nlohmann::json::object()}};
  std::string line = "omptier run: the kernel had";
  for (std::size_t kind = 0; kind < sums.size(); ++kind) {
    if (sums[kind] == 0) continue;
    json["bytes_by_kind"][name_of(static_cast<MemoryKind>(kind))] = sums[kind];
    line += " " + format_size(sums[kind]) + " in " +
            std::string(title_of(static_cast<MemoryKind>(kind)));
  }
  for (const auto& [node, count] : fullest)
    json["bytes_by_node"][std::to_string(node)] = count;
  if (where == "-") {
    std::fprintf(stderr, "%s\n", line.c_str());
    return 0;
  }
  return write_file("run", where, json.dump(1) + "\n");
}

// One line with the reason why the arguments exclude each other, or "".
std::string problem_with(const RunArguments& arguments) {
  if (!arguments.capacity.empty())
    if (const auto capacity = parse_capacity(arguments.capacity); !capacity)
      return "--capacity: " + capacity.error();
  if (!arguments.plan.empty() && !arguments.strategy.empty())
    return "--plan and --strategy exclude each other";
  if (std::string problem = problem_with_runtime(arguments.runtime); !problem.empty())
    return problem;
  if (arguments.runtime == "own" && !arguments.strategy.empty())
    return "--strategy needs OMPTier's runtime";
  if (arguments.runtime == "own" && arguments.no_preload)
    return "with --runtime own and --no-preload nothing applies the plan";
  return {};
}

// Path of the plan for the program's present build. A plan that cannot be read is a usage error,
// reported before the program runs for hours without it.
Parsed<std::string> path_of_plan(const RunArguments& arguments, HandedPlan& handed) {
  // Absolute, because the program may change its folder before OpenMP starts.
  const std::string path = std::filesystem::absolute(arguments.plan).string();
  const auto plan = read_plan(path);
  if (!plan) return Parsed<std::string>::failure(plan.error());
  const auto for_regions = std::ranges::count_if(
      plan->entries, [](const PlanEntry& entry) { return !entry.region.empty(); });
  if (arguments.runtime == "own" && for_regions != 0)
    std::fprintf(
        stderr,
        "omptier run: %td entries of the plan are for parallel regions, which only OMPTier's "
        "runtime reports: nothing is moved for them\n",
        for_regions);
  const PlanForBuild now = plan_for_build(*plan, path_of_program(arguments.command[0]));
  if (now.same_build) return path;
  if (arguments.strict)
    return Parsed<std::string>::failure(
        arguments.plan + " was made for another build of the program; record it again, or run "
                         "without --strict");
  std::fprintf(stderr,
               "omptier run: the program was rebuilt since the plan was made: %u of %zu entries "
               "found again by name\n",
               now.by_name, plan->entries.size());
  for (const LostEntry& entry : now.lost)
    std::fprintf(stderr, "omptier run: left unplaced: %s: %s\n", entry.label.c_str(),
                 entry.why.c_str());
  return handed.write(write_plan(now.plan));
}

// A plan also places malloc's blocks. Reports if it cannot; the program runs all the same.
std::string preload_of_plan(const RunArguments& arguments, const std::string& libraries) {
  if (arguments.plan.empty() || arguments.no_preload) return {};
  const Preload preload = preload_for(arguments.command[0], libraries);
  if (!preload.problem.empty())
    std::fprintf(stderr, "omptier run: %s: malloc and statics are not placed\n",
                 preload.problem.c_str());
  return preload.library;
}

int run(const CommandContext& context, const RunArguments& arguments) {
  if (const std::string problem = problem_with(arguments); !problem.empty())
    return fail("run", 2, problem);
  Launch what;
  what.command = arguments.command;
  what.libraries = find_libraries(context);
  if (what.libraries.empty())
    return fail("run", 125, "libomptier.so is not beside this program; reinstall OMPTier");
  what.preload = preload_of_plan(arguments, what.libraries);
  if (arguments.runtime == "own") what.libraries.clear();
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) what.environment.emplace_back(name, value);
  };
  HandedPlan handed; // lives as long as the program runs
  if (!arguments.plan.empty()) {
    const auto plan = path_of_plan(arguments, handed);
    if (!plan) return fail("run", handed.refused() ? 125 : 2, plan.error());
    set("OMPTIER_PLAN", *plan);
  }
  set("OMPTIER_STRATEGY", arguments.strategy);
  set("OMPTIER_CAPACITY", arguments.capacity);
  if (arguments.strict) set("OMPTIER_STRICT", "1");

  BytesByNode fullest;
  if (!arguments.where.empty())
    what.watch = [&fullest](pid_t program) {
      BytesByNode now = anonymous_bytes_by_node(program);
      if (total_bytes(now) >= total_bytes(fullest)) fullest = std::move(now);
    };
  const int status = launch("run", what);
  if (!arguments.where.empty())
    if (const int failed = report_where(arguments.where, fullest); status == 0) return failed;
  return status;
}

} // namespace

void add_run(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("run", "Run a program, its data placed by a plan or a strategy");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("--plan", arguments->plan, "Plan written by omptier advise");
  command->add_option("--strategy", arguments->strategy,
                      "Without a plan: first-come, only-dram, only-hbm, only-nvm, only-cxl");
  command->add_option("--capacity", arguments->capacity,
                      "Bytes allowed of each kind, such as dram:64M,hbm:0");
  command->add_option(
      "--where", arguments->where,
      "Report how many bytes the kernel had in which kind: a JSON file, or - for stderr");
  command->add_option("--runtime", arguments->runtime,
                      "OpenMP runtime: omptier (default), or own: the one the program was linked "
                      "with, on which a plan's moves per region are left out");
  command->add_flag("--no-preload", arguments->no_preload,
                    "With --plan: leave malloc and statics alone, place OpenMP's allocations only");
  command->add_flag("--strict", arguments->strict, "Refuse a plan made for another build");
  command->add_option("command", arguments->command, "Program and its arguments, after --")
      ->required();
  command->positionals_at_end();
  command->callback([&context, arguments] { context.status = run(context, *arguments); });
}

} // namespace omptier
