// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier sites: runs a program once and writes a plan of its large malloc blocks and statics, to
// be edited by hand. Each call stack has one entry with names, peak of live bytes and number of
// blocks; each large static has one. All kinds are DRAM.
#include "base/os.hpp"
#include "base/text.hpp"
#include "cli/launch.hpp"
#include "cli/temporary_folder.hpp"
#include "objects/statics.hpp"
#include "plan/plan.hpp"
#include "symbols/symbols.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

namespace omptier {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t k_least_static = std::uint64_t{64} << 10;

struct SitesArguments {
  std::string output, runtime = "omptier";
  unsigned depth = 8;
  bool no_statics = false;
  std::vector<std::string> command;
};

struct Found {
  Plan plan;
  std::vector<ModuleInfo> modules;
};

std::uint64_t bytes_of(const Plan& plan) {
  std::uint64_t sum = 0;
  for (const PlanEntry& entry : plan.entries)
    sum += entry.bytes;
  return sum;
}

// The list with most memory: other processes are launchers or were started by the program.
Found largest_list(const std::string& folder) {
  Found largest;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".modules") continue;
    auto plan = read_plan(file.path().string());
    if (!plan || bytes_of(*plan) <= bytes_of(largest.plan)) continue;
    largest.plan = std::move(*plan);
    largest.modules.clear();
    std::ifstream paths(file.path().string() + ".modules");
    std::string path;
    for (const PlanModule& module : largest.plan.modules) {
      std::getline(paths, path);
      largest.modules.push_back({module.identity, module.name, path, 0, false});
    }
  }
  return largest;
}

void add_names(Found& found) {
  Symbols symbols;
  std::vector<std::vector<Frame>> sites;
  for (PlanEntry& entry : found.plan.entries) {
    std::vector<Frame>& frames = sites.emplace_back();
    for (PlanFrame& frame : entry.frames) {
      frame.portable = symbols.resolve(found.modules[frame.module], frame.offset).portable;
      frames.push_back({frame.module, frame.offset});
    }
  }
  const std::vector<std::string> labels = labels_of_sites(symbols, found.modules, sites);
  for (std::size_t i = 0; i < labels.size(); ++i)
    found.plan.entries[i].label = labels[i];
  for (const std::string& problem : symbols.problems())
    std::fprintf(stderr, "omptier sites: %s\n", problem.c_str());
}

void add_statics(Found& found) {
  const std::size_t first = found.plan.entries.size();
  for (std::uint32_t number = 0; number < found.modules.size(); ++number) {
    std::pair<Found*, std::uint32_t> argument{&found, number};
    list_statics(
        found.modules[number].path.c_str(), k_least_static,
        [](void* where, const NamedStatic& named) {
          auto& [list, module] = *static_cast<std::pair<Found*, std::uint32_t>*>(where);
          PlanEntry entry;
          entry.symbol = named.symbol;
          entry.symbol_module = module;
          entry.label = "static " + entry.symbol;
          entry.kinds = {MemoryKind::dram};
          entry.bytes = named.bytes;
          list->plan.entries.push_back(std::move(entry));
        },
        &argument);
  }
  std::stable_sort(found.plan.entries.begin() + static_cast<std::ptrdiff_t>(first),
                   found.plan.entries.end(),
                   [](const PlanEntry& a, const PlanEntry& b) { return a.bytes > b.bytes; });
}

// Lists the program's statics even if it allocates nothing.
void add_program(Found& found, const std::string& path) {
  const std::string identity = identity_of_file(path);
  if (identity.empty() ||
      std::ranges::find(found.modules, identity, &ModuleInfo::identity) != found.modules.end())
    return;
  const std::string name = fs::path(path).filename().string();
  if (found.plan.program.empty()) found.plan.program = name;
  found.plan.modules.push_back({identity, name});
  found.modules.push_back({identity, name, fs::absolute(path).string(), 0, false});
}

int write_list(const SitesArguments& arguments, const Found& found) {
  if (const int status = write_file("sites", arguments.output, write_plan(found.plan)); status != 0)
    return status;
  if (found.plan.entries.empty()) {
    std::fprintf(stderr,
                 "omptier sites: no block of malloc from 64 KiB on and no large static was found; "
                 "those of omp_alloc: omptier record, then advise\n");
    return 0;
  }
  std::fprintf(stderr,
               "omptier sites: %zu entries in %s: change their \"kinds\", delete the others, then: "
               "omptier run --plan %s -- …\n",
               found.plan.entries.size(), arguments.output.c_str(), arguments.output.c_str());
  return 0;
}

int sites(const CommandContext& context, const SitesArguments& arguments) {
  if (const std::string problem = problem_with_runtime(arguments.runtime); !problem.empty())
    return fail("sites", 2, problem);
  if (arguments.output != "-")
    if (const std::string problem = problem_with_output(arguments.output); !problem.empty())
      return fail("sites", 2, problem);
  Launch what;
  what.command = arguments.command;
  what.libraries = find_libraries(context);
  if (const std::string problem = problem_with_libraries(what.libraries); !problem.empty())
    return fail("sites", 125, problem);
  const Preload preload = preload_for(arguments.command[0], what.libraries);
  if (!preload.problem.empty()) return fail("sites", 125, preload.problem);
  what.preload = preload.library;
  if (arguments.runtime == "own") what.libraries.clear();
  const TemporaryFolder folder;
  if (folder.path().empty())
    return fail("sites", 125, std::string("no temporary folder: ") + std::strerror(errno));
  what.environment.emplace_back("OMPTIER_SITES", folder.path() + "/list");
  what.environment.emplace_back("OMPTIER_DEPTH", std::to_string(arguments.depth));
  const int status = launch("sites", what);
  Found found = largest_list(folder.path());
  add_names(found);
  if (!arguments.no_statics) {
    add_program(found, path_of_program(arguments.command[0]));
    add_statics(found);
  }
  const int failed = write_list(arguments, found);
  return status != 0 ? status : failed;
}

} // namespace

void add_sites(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "sites", "Run a program and list its large malloc blocks and statics, as a plan to edit");
  auto arguments = std::make_shared<SitesArguments>();
  command->add_option("-o,--output", arguments->output, "File for the plan")
      ->type_name("FILE")
      ->required();
  command->add_option("--depth", arguments->depth, "Frames kept of each call stack (default 8)")
      ->check(CLI::Range(1u, 32u));
  command->add_option("--runtime", arguments->runtime, "As of omptier run")
      ->type_name(choices(k_runtime_names));
  command->add_flag("--no-statics", arguments->no_statics, "List malloc's blocks only");
  command->add_option("command", arguments->command, "Program and its arguments, after --")
      ->type_name("PROGRAM")
      ->required();
  command->positionals_at_end();
  command->callback([&context, arguments] { context.status = sites(context, *arguments); });
}

} // namespace omptier
