// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier advise: from profiles to a plan. Reports which memory each allocation site should get and
// why, writes the plan, and prints the same advice as C source with traits.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/explain.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/report_text.hpp"
#include "machine/as_platform.hpp"
#include "model/cost.hpp"
#include "platform/platform.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>

namespace omptier {
namespace {

struct AdviseArguments {
  std::vector<std::string> profiles;
  std::string capacity, nodes, xml, machine, plan;
  unsigned threads = 0; // 0: as recorded
  bool traits = true;
};

struct Input {
  ProfileSummary summary;
  Platform platform;
  CapacityByKind capacity;
};

// The machine to place on: a preset, a captured one, or this one.
Parsed<Platform> target_platform(const AdviseArguments& arguments, const CapacityByKind& capacity) {
  if (!arguments.machine.empty()) {
    const Machine* machine = find_machine(arguments.machine);
    if (machine == nullptr)
      return Parsed<Platform>::failure("--machine: unknown machine " + arguments.machine +
                                       "; there are: " + machine_names());
    return platform_of(*machine, capacity);
  }
  DiscoverOptions options;
  options.xml = arguments.xml;
  if (!arguments.nodes.empty()) {
    const auto nodes = parse_nodes(arguments.nodes);
    if (!nodes) return Parsed<Platform>::failure("--nodes: " + nodes.error());
    options.forced = *nodes;
  }
  return discover_platform(options);
}

Parsed<Input> read_input(const AdviseArguments& arguments, Symbols& symbols) {
  using Outcome = Parsed<Input>;
  Input input;
  if (!arguments.capacity.empty()) {
    const auto capacity = parse_capacity(arguments.capacity);
    if (!capacity) return Outcome::failure("--capacity: " + capacity.error());
    input.capacity = *capacity;
  }
  const auto platform = target_platform(arguments, input.capacity);
  if (!platform) return Outcome::failure(platform.error());
  input.platform = *platform;
  auto summary = summarize_files(
      arguments.profiles, [&](const ModuleInfo& module) { return symbols.statics_of(module); });
  if (!summary) return Outcome::failure(summary.error());
  input.summary = std::move(*summary);
  return input;
}

std::string kinds_in_words(const std::vector<TierChoice>& tiers) {
  std::string text;
  for (const TierChoice& tier : tiers)
    text += (text.empty() ? "" : ", ") + std::string(title_of(tier.kind)) + " " +
            format_size(tier.capacity) + (tier.estimated ? " (speed estimated)" : "");
  return text;
}

// One line if the firmware gives no figures for some of the kinds, or "".
std::string estimates_in_words(const std::vector<TierChoice>& tiers) {
  std::string kinds;
  for (const TierChoice& tier : tiers)
    if (tier.estimated) kinds += (kinds.empty() ? "" : ", ") + std::string(title_of(tier.kind));
  if (kinds.empty()) return {};
  return "the firmware does not give bandwidth and latency of " + kinds +
         " (no HMAT): the usual figures of such memory are used, and results that rest on them "
         "are called estimated; to use measured ones: lstopo --of xml m.xml; hwloc-annotate m.xml "
         "m.xml numanode:1 memattr ReadLatency 0x3 130 (CPUs, ns; WriteLatency; ReadBandwidth, "
         "WriteBandwidth: MiB/s); omptier advise --xml m.xml";
}

constexpr double k_least_share = 0.005; // of the samples, to be listed

void print_placement(const Advice& advice) {
  std::printf("Memory to place in: %s\n\n", kinds_in_words(advice.tiers).c_str());
  std::vector<std::size_t> order(advice.workload.sites.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return advice.placement.tier_of_site[a] < advice.placement.tier_of_site[b];
  });
  for (const std::size_t site : order) {
    const SiteDemand& demand = advice.workload.sites[site];
    if (!demand.placeable || !demand.by_plan) {
      if (demand.share >= k_least_share)
        std::printf("  %-7s %10s  %s\n          %.1f %% of the samples; no plan reaches it%s\n",
                    "stays", "-", demand.label.c_str(), 100 * demand.share,
                    demand.placeable ? " (below 64 KiB)" : "");
      continue;
    }
    const std::size_t tier = advice.placement.tier_of_site[site];
    const bool nowhere = tier == Placement::k_nowhere;
    std::printf("  %-7s %10s  %s\n          %s\n",
                nowhere ? "nowhere" : std::string(title_of(advice.tiers[tier].kind)).c_str(),
                format_size(advice.workload.sites[site].peak_bytes()).c_str(),
                advice.workload.sites[site].label.c_str(),
                reason_for(advice.workload, advice.tiers, advice.costs, site, tier).c_str());
  }
}

void print_moves(const Advice& advice) {
  if (advice.moves.empty()) return;
  std::printf("\nMoved when a region begins:\n");
  for (const RegionMove& move : advice.moves)
    std::printf("  %-7s %s when %s begins: saves %s, moving costs %s\n",
                std::string(title_of(advice.tiers[move.tier].kind)).c_str(),
                advice.workload.sites[move.site].label.c_str(),
                advice.workload.regions[move.region].label.c_str(),
                format_duration(move.saved / advice.workload.threads.most()).c_str(),
                format_duration(move.spent).c_str());
}

// Statics are left out: they have no allocator that could have traits.
template <typename IsStatic> void print_traits(const Advice& advice, IsStatic&& is_static) {
  std::printf("\nThe same as C source; paste it and allocate with these allocators:\n\n");
  std::map<std::string, int> uses; // of a label; repeated ones are numbered
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site) {
    const std::size_t tier = tier_in_source(advice, site);
    if (tier >= advice.tiers.size() || advice.workload.sites[site].demand.total() <= 0 ||
        is_static(site))
      continue;
    std::string name = identifier_from(advice.workload.sites[site].label);
    if (const int before = uses[name]++; before > 0) name += "_" + std::to_string(before + 1);
    std::fputs(traits_as_c(advice.workload, site, advice.tiers[tier].kind, name).c_str(), stdout);
  }
}

int write_plan_file(const std::string& path, const Plan& plan) {
  if (const int status = write_file("advise", path, write_plan(plan)); status != 0) return status;
  std::printf("\nPlan written to %s; use it with: omptier run --plan %s -- PROGRAM\n", path.c_str(),
              path.c_str());
  return 0;
}

// One line with the reason why there is nothing to decide, or "".
std::string nothing_to_decide(const Advice& advice) {
  if (std::ranges::none_of(advice.workload.sites, [](const SiteDemand& site) {
        return site.placeable && site.by_plan;
      }))
    return "the profile holds no allocation or static that a plan can place (blocks and statics "
           "from 64 KiB, and omp_alloc's)";
  if (advice.tiers.size() < 2)
    return "only one kind of memory may be used (" + kinds_in_words(advice.tiers) +
           "); name the machine to place on: --machine xeon-max-flat (others: omptier sandbox "
           "--list), or --xml FILE, made there by lstopo --of xml";
  return {};
}

int advise_command(const AdviseArguments& arguments) {
  Symbols symbols;
  const auto input = read_input(arguments, symbols);
  if (!input) return fail("advise", 2, input.error());
  const ProfileNames names = names_of(input->summary, symbols);
  for (const std::string& note : input->summary.notes)
    std::fprintf(stderr, "omptier advise: %s\n", note.c_str());

  Workload workload = workload_from(input->summary, {names.sites, names.regions},
                                    reference_figures(input->platform.tiers));
  if (arguments.threads > 0) workload.threads = arguments.threads;
  const Advice advice = advise(std::move(workload), usable_tiers(input->platform, input->capacity));
  if (const std::string why = nothing_to_decide(advice); !why.empty())
    return fail("advise", 2, why);
  if (const std::string estimated = estimates_in_words(advice.tiers); !estimated.empty())
    std::fprintf(stderr, "omptier advise: %s\n", estimated.c_str());
  print_placement(advice);
  print_moves(advice);
  if (arguments.traits)
    print_traits(advice, [&](std::size_t site) {
      return input->summary.sites[site].kind != SiteKind::allocation;
    });
  if (arguments.plan.empty()) return 0;

  Plan plan = plan_from(advice, input->summary, [&](const Frame& frame) {
    return symbols.resolve(input->summary.modules[frame.module], frame.offset).portable;
  });
  plan.platform_fingerprint = input->platform.fingerprint;
  plan.capacity = input->capacity;
  return write_plan_file(arguments.plan, plan);
}

} // namespace

void add_advise(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("advise", "Decide from profiles where allocations should live");
  auto arguments = std::make_shared<AdviseArguments>();
  command->add_option("profiles", arguments->profiles, "Profiles written by omptier record")
      ->required();
  command->add_option("--capacity", arguments->capacity,
                      "Bytes that may be used of each kind, such as dram:64M,hbm:0");
  auto* xml = command->add_option(
      "--xml", arguments->xml,
      "hwloc XML of the machine to place on (lstopo --of xml); default: this one");
  auto* nodes =
      command->add_option("--nodes", arguments->nodes,
                          "Which nodes are of which kind, such as hbm:1+3; default: by attributes");
  command
      ->add_option("--machine", arguments->machine,
                   "Machine to place on, one of omptier sandbox --list; --capacity then sets how "
                   "much it has of each kind")
      ->excludes(xml)
      ->excludes(nodes);
  command
      ->add_option("--threads", arguments->threads,
                   "Threads there, which share the bandwidth (default: as many as were recorded)")
      ->check(CLI::Range(1u, 1u << 16));
  command->add_option("-o,--output", arguments->plan, "Write the plan to this file");
  command->add_flag("--traits,!--no-traits", arguments->traits,
                    "Print the advice as C source, too (default)");
  command->callback([&context, arguments] { context.status = advise_command(*arguments); });
}

} // namespace omptier
