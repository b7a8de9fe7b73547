// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier run: starts a program on the patched runtime with a plan or a strategy, and can say
// afterwards how many bytes the kernel had in which memory kind at the program's fullest moment.
#include "base/text.hpp"
#include "cli/kernel_pages.hpp"
#include "cli/launch.hpp"
#include "plan/plan.hpp"
#include "platform/platform.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

struct RunArguments {
  std::string plan, strategy, capacity, where;
  bool strict = false;
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

// "-" = one line on stderr, else a JSON file.
int tell_where(const std::string& where, const BytesByNode& fullest) {
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
  std::ofstream file(where);
  file << json.dump(1) << '\n';
  return file.good() ? 0 : fail("run", 125, where + ": cannot be written");
}

// One line saying why the arguments make no sense, or "".
std::string problem_with(const RunArguments& arguments) {
  if (!arguments.capacity.empty())
    if (const auto capacity = parse_capacity(arguments.capacity); !capacity)
      return "--capacity: " + capacity.error();
  if (!arguments.plan.empty() && !arguments.strategy.empty())
    return "--plan and --strategy exclude each other";
  return {};
}

int run(const CommandContext& context, const RunArguments& arguments) {
  if (const std::string problem = problem_with(arguments); !problem.empty())
    return fail("run", 2, problem);
  Launch what;
  what.command = arguments.command;
  what.libraries = find_libraries(context);
  if (what.libraries.empty())
    return fail("run", 125, "libomptier.so is not beside this program; reinstall OMPTier");
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) what.environment.emplace_back(name, value);
  };
  // The program may change its folder before OpenMP starts: the plan's path is made absolute.
  if (!arguments.plan.empty()) set("OMPTIER_PLAN", std::filesystem::absolute(arguments.plan));
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
    if (const int failed = tell_where(arguments.where, fullest); status == 0) return failed;
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
      "Say how many bytes the kernel had in which kind: a JSON file, or - for stderr");
  command->add_flag("--strict", arguments->strict, "Refuse a plan made for another build");
  command->add_option("command", arguments->command, "Program and its arguments, after --")
      ->required();
  command->positionals_at_end();
  command->callback([&context, arguments] { context.status = run(context, *arguments); });
}

} // namespace omptier
