// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier run: starts a program on the patched runtime with a plan or a strategy. With --where it
// reports how many bytes the kernel had in which memory kind when the program used most, with
// --time what the program took and was expected to take.
#include "base/text.hpp"
#include "cli/check_elf.hpp"
#include "cli/given_plan.hpp"
#include "cli/kernel_pages.hpp"
#include "cli/launch.hpp"
#include "cli/online.hpp"
#include "placement/job.hpp"
#include "placement/strategy.hpp"
#include "plan/plan.hpp"
#include "platform/fingerprint.hpp"
#include "platform/platform.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace omptier {
namespace {

struct RunArguments {
  std::string plan, strategy, capacity, where, learn, runtime = "omptier";
  bool strict = false, no_preload = false, time = false, online = false;
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

// What the program took, beside what the plan's advice expected; that holds for the recorded input.
void report_time(const RunArguments& arguments, double seconds, int status) {
  std::string line = "took " + format_duration(seconds * 1e9);
  const auto plan = read_plan(arguments.plan);
  const auto platform = discover_platform({});
  if (status != 0)
    line += " and ended with status " + std::to_string(status) + ", so it is not compared";
  else if (!plan || plan->predicted_seconds <= 0)
    line += "; the plan has no expected time (omptier advise writes it, from samples of time)";
  else if (!platform || !same_memory(platform->fingerprint, plan->platform_fingerprint))
    line += "; the plan was made for another machine, so its expected time is not compared";
  else
    line += "; the advice expected " + format_duration(plan->predicted_seconds * 1e9) +
            " for the recorded input, which took " + format_duration(plan->recorded_seconds * 1e9) +
            (same_platform(platform->fingerprint, plan->platform_fingerprint)
                 ? ""
                 : " (by other figures of this machine's memory; advise again to use today's)");
  std::fprintf(stderr, "omptier run: %s\n", line.c_str());
}

std::string problem_with(const RunArguments& arguments) {
  if (std::string problem =
          problem_with_placement(arguments.capacity, arguments.plan, arguments.strategy);
      !problem.empty())
    return problem;
  if (std::string problem = problem_with_runtime(arguments.runtime); !problem.empty())
    return problem;
  if (arguments.runtime == "own" && !arguments.strategy.empty())
    return "--strategy needs OMPTier's runtime";
  if (arguments.runtime == "own" && arguments.no_preload)
    return "with --runtime own and --no-preload nothing applies the plan";
  if (arguments.time && arguments.plan.empty())
    return "--time compares with what a plan's advice expected; name one (--plan)";
  if (!arguments.learn.empty() && !arguments.online)
    return "--learn keeps what --online has learned; add --online";
  if (!arguments.learn.empty() && launcher_share(own_environment).ranks > 1)
    return "--learn: several ranks would write one plan; record the job (omptier record) and "
           "advise";
  return {};
}

int run(const CommandContext& context, const RunArguments& arguments);

bool places(const RunArguments& arguments) {
  return !arguments.plan.empty() || !arguments.strategy.empty();
}

// For malloc's blocks under plans and strategies. A failure is reported, and fatal only if strict.
Parsed<std::string> preload_of(const RunArguments& arguments, const std::string& libraries) {
  if (!places(arguments) || arguments.no_preload) return std::string();
  const Preload preload = preload_for(arguments.command[0], libraries);
  if (preload.problem.empty()) return preload.library;
  const std::string what =
      preload.problem + ": " +
      (preload.closed ? "nothing is placed" : "malloc and statics are not placed");
  if (arguments.strict) return Parsed<std::string>::failure(what + " (--strict)");
  std::fprintf(stderr, "omptier run: %s\n", what.c_str());
  return preload.library;
}

// --capacity alone limits only memory that the source's traits place: says so if there are none.
void report_idle_capacity(const RunArguments& arguments) {
  if (arguments.capacity.empty() || places(arguments)) return;
  const std::string path = path_of_program(arguments.command[0]);
  const auto program = read_elf(path);
  if (!program || is_launcher(path) ||
      std::ranges::any_of(program->undefined_symbols, is_allocator_symbol))
    return;
  std::fprintf(stderr,
               "omptier run: --capacity limits what a plan, a strategy or the source's allocators "
               "place; %s calls none of OpenMP's allocators itself: add --strategy first-come, or "
               "--plan\n",
               arguments.command[0].c_str());
}

// Places by what was learned at an earlier start, else learns.
int run_or_learn(const CommandContext& context, RunArguments arguments) {
  if (!arguments.learn.empty() && std::filesystem::exists(arguments.learn)) {
    if (const auto plan = read_plan(arguments.learn)) {
      std::fprintf(stderr,
                   "omptier run: --learn: places by %s, learned before; remove it to learn anew\n",
                   arguments.learn.c_str());
      arguments.plan = std::exchange(arguments.learn, {});
      arguments.online = false;
      return run(context, arguments);
    } else {
      std::fprintf(stderr, "omptier run: --learn: %s; it stays as it is, and no plan is kept\n",
                   plan.error().c_str());
      arguments.learn.clear();
    }
  }
  if (!arguments.learn.empty())
    if (const std::string problem = problem_with_output(arguments.learn); !problem.empty())
      return fail("run", 2, problem);
  return run_online(context, {arguments.command, arguments.capacity, arguments.runtime,
                              arguments.learn, arguments.strict});
}

int run(const CommandContext& context, const RunArguments& arguments) {
  std::string problem = problem_with(arguments);
  if (problem.empty() && !arguments.where.empty() && arguments.where != "-")
    problem = problem_with_output(arguments.where);
  if (!problem.empty()) return fail("run", 2, problem);
  Launch what;
  what.libraries = find_libraries(context);
  if (problem = problem_with_libraries(what.libraries); !problem.empty())
    return fail("run", 125, problem);
  if (arguments.online) return run_or_learn(context, arguments);
  what.command = arguments.command;
  const auto preload = preload_of(arguments, what.libraries);
  if (!preload) return fail("run", 2, preload.error());
  what.preload = *preload;
  report_idle_capacity(arguments);
  if (arguments.runtime == "own") what.libraries.clear();
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) what.environment.emplace_back(name, value);
  };
  HandedPlan handed; // lives as long as the program runs
  if (!arguments.plan.empty()) {
    const auto plan =
        path_of_plan({"run", arguments.plan, arguments.command[0], arguments.strict,
                      arguments.runtime == "own"},
                     handed);
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
  const auto start = std::chrono::steady_clock::now();
  const int status = launch("run", what);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (arguments.time) report_time(arguments, taken.count(), status);
  if (!arguments.where.empty())
    if (const int failed = report_where(arguments.where, fullest); status == 0) return failed;
  return status;
}

} // namespace

void add_run(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("run", "Run a program, its data placed by a plan or a strategy");
  auto arguments = std::make_shared<RunArguments>();
  auto* plan = command->add_option("--plan", arguments->plan, "Plan written by omptier advise")
                   ->type_name("FILE");
  auto* strategy =
      command
          ->add_option("--strategy", arguments->strategy,
                       "Without a plan: places OpenMP's allocations, and malloc's from 64 KiB")
          ->type_name(choices(k_strategy_names));
  command
      ->add_option("--capacity", arguments->capacity,
                   "Bytes allowed of each kind, such as dram:64M,hbm:0")
      ->type_name("KIND:SIZE,...");
  auto* where =
      command
          ->add_option(
              "--where", arguments->where,
              "Report how many bytes the kernel had in which kind: a JSON file, or - for stderr")
          ->type_name("FILE");
  auto* alone =
      command->add_flag("--no-preload", arguments->no_preload,
                        "Leave malloc and statics alone, place OpenMP's allocations only");
  command
      ->add_flag("--online", arguments->online,
                 "Without a plan or profile: sample the program while it runs, and move malloc's "
                 "blocks from 64 KiB to where they should be")
      ->excludes(plan)
      ->excludes(strategy)
      ->excludes(where)
      ->excludes(alone);
  command
      ->add_option("--learn", arguments->learn,
                   "With --online: where the plan is kept that is learned; if it is there, the "
                   "program is placed by it instead")
      ->type_name("FILE");
  command->add_flag("--time", arguments->time,
                    "Report what the program took, and what the plan's advice expected");
  command
      ->add_option("--runtime", arguments->runtime,
                   "OpenMP runtime: omptier (default), or own: the one the program was linked "
                   "with, on which a plan's moves per region are left out")
      ->type_name(choices(k_runtime_names));
  command->add_flag("--strict", arguments->strict,
                    "Refuse (status 2) a plan of another build or program, and a program that "
                    "cannot be reached");
  command->add_option("command", arguments->command, "Program and its arguments, after --")
      ->type_name("PROGRAM")
      ->required();
  command->positionals_at_end();
  command->callback([&context, arguments] { context.status = run(context, *arguments); });
}

} // namespace omptier
