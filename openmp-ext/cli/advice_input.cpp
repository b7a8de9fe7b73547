// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See advice_input.hpp.
#include "cli/advice_input.hpp"

#include "advisor/kept.hpp"
#include "cli/advice_text.hpp"
#include "cli/held_names.hpp"
#include "cli/plan_for_build.hpp"
#include "cli/tuned.hpp"
#include "machine/as_platform.hpp"
#include "model/cost.hpp"
#include "platform/platform.hpp"

#include <algorithm>
#include <cstdio>

namespace omptier {
namespace {

Parsed<AdviceTarget> target_of(const AdviceArguments& arguments, const CapacityByKind& capacity,
                               unsigned threads) {
  if (arguments.machine.given()) {
    const auto machine = chosen_machine(arguments.machine);
    if (!machine) return Parsed<AdviceTarget>::failure(machine.error());
    return AdviceTarget{platform_of(*machine, capacity, threads),
                        static_cast<double>(machine->core.outstanding)};
  }
  DiscoverOptions options;
  options.xml = arguments.xml;
  if (!arguments.nodes.empty()) {
    const auto nodes = parse_nodes(arguments.nodes);
    if (!nodes) return Parsed<AdviceTarget>::failure("--nodes: " + nodes.error());
    options.forced = *nodes;
  }
  const auto platform = discover_platform(options);
  if (!platform) return Parsed<AdviceTarget>::failure(platform.error());
  if (!platform->figures_problem.empty())
    std::fprintf(stderr, "omptier: %s\n", platform->figures_problem.c_str());
  return AdviceTarget{*platform};
}

std::string estimates_in_words(const std::vector<TierChoice>& tiers) {
  std::string kinds;
  for (const TierChoice& tier : tiers)
    if (tier.estimated) kinds += (kinds.empty() ? "" : ", ") + std::string(title_of(tier.kind));
  if (kinds.empty()) return {};
  return "bandwidth and latency of " + kinds +
         " are not known (no HMAT): the usual figures of such memory are used, and results that "
         "rest on them are called estimated; 'omptier calibrate', run on the machine to place on, "
         "measures them (with --xml FILE for advice elsewhere: omptier advise --xml FILE)";
}

bool has_samples(const ProfileSummary& summary) {
  return summary.small.samples > 0 || summary.other.samples > 0 ||
         std::ranges::any_of(summary.sites,
                             [](const SiteSummary& site) { return site.samples > 0; });
}

// Bytes of a kind that the target does not have: another machine was meant.
std::string kinds_not_there(const AdviceInput& input) {
  std::string kinds, there;
  for (const Tier& tier : input.platform.tiers)
    there += (there.empty() ? "" : ", ") + std::string(title_of(tier.kind));
  for (std::size_t kind = 0; kind < input.capacity.size(); ++kind) {
    const auto same = [&](const Tier& tier) { return static_cast<std::size_t>(tier.kind) == kind; };
    if (input.capacity[kind].value_or(0) > 0 && std::ranges::none_of(input.platform.tiers, same))
      kinds +=
          (kinds.empty() ? "" : " and ") + std::string(title_of(static_cast<MemoryKind>(kind)));
  }
  return kinds.empty() ? ""
                       : "--capacity: the machine to place on has no " + kinds + ", but " + there +
                             "; name those, or another machine (--machine, --xml)";
}

// One line if the description of the target contains what the user did not give; "" if not.
std::string assumptions(const AdviceArguments& arguments, const AdviceInput& input,
                        const Workload& workload) {
  const bool elsewhere = arguments.machine.given() || !arguments.xml.empty();
  const bool small = !arguments.machine.name.empty() && arguments.capacity.empty();
  const bool threads = elsewhere && arguments.threads == 0;
  if (!small && !threads) return {};
  std::string text;
  if (small)
    text = arguments.machine.name + " is taken as small as it is emulated (" +
           kinds_in_words(input.tiers) + ")";
  if (threads)
    text += std::string(small ? ", with" : "the program gets") +
            " the part of the caches and bandwidth that belongs to " +
            format_threads(workload.threads) + " as recorded";
  text += "; name the real machine's:";
  if (small) text += " --capacity hbm:64G,dram:256G";
  return text + (threads ? " --threads 56" : "");
}

bool names_build(const Plan& plan, const std::string& identity) {
  return std::ranges::find(plan.modules, identity, &PlanModule::identity) != plan.modules.end();
}

} // namespace

Parsed<AdviceInput> read_advice_input(const AdviceArguments& arguments, Symbols& symbols) {
  using Outcome = Parsed<AdviceInput>;
  AdviceInput input;
  if (!arguments.capacity.empty()) {
    const auto capacity = parse_capacity(arguments.capacity);
    if (!capacity) return Outcome::failure("--capacity: " + capacity.error());
    input.capacity = *capacity;
  }
  auto summary =
      summarize_with_names(symbols, arguments.profiles,
                           arguments.force ? Programs::any : Programs::one, arguments.resolve);
  if (!summary) return Outcome::failure(summary.error());
  input.summary = std::move(*summary);
  const auto target = target_of(arguments, input.capacity,
                                arguments.threads > 0 ? arguments.threads : input.summary.threads);
  if (!target) return Outcome::failure(target.error());
  static_cast<AdviceTarget&>(input) = *target;
  if (const std::string why = kinds_not_there(input); !why.empty()) return Outcome::failure(why);
  input.names = names_of(input.summary, symbols);
  input.tiers = usable_tiers(input.platform, input.capacity);
  if (!arguments.tuned) return input;
  auto learned = learned_by_tuning(arguments, input);
  if (!learned) return Outcome::failure("--tuned: " + learned.error());
  input.learned = std::move(*learned);
  return input;
}

Parsed<Workload> workload_for(const AdviceArguments& arguments, const AdviceInput& input,
                              const Terms& terms) {
  const unsigned threads =
      arguments.threads > 0 ? arguments.threads : std::max(input.summary.threads, 1u);
  Workload workload = workload_from(
      input.summary,
      {input.names.sites, input.names.regions, input.names.barriers, input.names.reductions},
      reference_figures(input.platform.tiers), terms, input.platform.last_level.of(threads));
  workload.threads = threads;
  workload.threads.gathers = input.gathers;
  correct(workload, input.learned);
  for (const std::string& wish : arguments.keep)
    if (const std::string why = keep_sites(workload, input.tiers, wish); !why.empty())
      return Parsed<Workload>::failure("--keep " + why);
  return workload;
}

Parsed<Workload> whole_workload_for(const AdviceArguments& arguments, const AdviceInput& input,
                                    Terms terms) {
  terms.parts = false;
  return workload_for(arguments, input, terms);
}

Parsed<Plan> plan_for_recorded(const char* command, const std::string& path,
                               const AdviceInput& input) {
  auto plan = read_plan(path);
  if (!plan) return plan;
  const auto program = std::ranges::find(input.summary.modules, plan->program, &ModuleInfo::name);
  if (program == input.summary.modules.end() || names_build(*plan, program->identity)) return plan;
  if (identity_of_file(program->path) != program->identity)
    return Parsed<Plan>::failure(path + " is of another build than the one recorded, and " +
                                 program->name + " was built anew since: record it again");
  const PlanForBuild now = plan_for_build(*plan, program->path);
  report_rebuilt(command, now, *plan, "the plan was made");
  return now.plan;
}

Parsed<EarlierPlacement> placed_by_plan(const Plan& plan, const std::string& path,
                                        const AdviceInput& input, const Workload& workload) {
  EarlierPlacement placed = placed_by(plan, workload, input.summary, input.tiers);
  if (placed.names_any()) return placed;
  return Parsed<EarlierPlacement>::failure(path + " (made for " + plan.program +
                                           ") places nothing of what was recorded in " +
                                           kinds_in_words(input.tiers));
}

// A note on the profile may be the reason, so it belongs to that line.
std::string nothing_to_decide(const Workload& workload, const AdviceArguments& arguments,
                              const AdviceInput& input) {
  const std::vector<std::string>& notes = input.summary.notes;
  if (std::ranges::none_of(workload.sites,
                           [](const SiteDemand& site) { return site.placeable && site.by_plan; }))
    return "the profile holds no allocation or static that a plan can place (blocks and statics "
           "from 64 KiB, small blocks of a site that are 256 KiB together, and omp_alloc's)" +
           (notes.empty() ? "" : "; " + notes.front());
  if (input.tiers.empty())
    return "--capacity " + arguments.capacity + " leaves no memory to place in";
  if (input.tiers.size() < 2 && arguments.machine.given())
    return "only one kind of memory may be used (" + kinds_in_words(input.tiers) +
           "); let --capacity leave two, or name another machine (omptier sandbox --list)";
  if (input.tiers.size() < 2)
    return "only one kind of memory may be used (" + kinds_in_words(input.tiers) +
           "); name the machine to place on: --machine xeon-max-flat (others: omptier sandbox "
           "--list), or --xml FILE, made there by lstopo --of xml";
  return {};
}

void print_limits(const char* command, const AdviceArguments& arguments, const AdviceInput& input,
                  const Workload& workload) {
  for (const std::string& line : input.summary.notes)
    std::fprintf(stderr, "omptier %s: %s\n", command, line.c_str());
  if (!has_samples(input.summary))
    std::fprintf(stderr,
                 "omptier %s: %s: no samples, so nothing is known of what is accessed; record a "
                 "longer run, or more often (omptier record --rate)\n",
                 command, arguments.profiles[0].c_str());
  if (arguments.tuned)
    std::fprintf(stderr, "omptier %s: %s: %s\n", command, arguments.tuned->c_str(),
                 learned_in_words(input.learned, input.names.sites).c_str());
  for (const std::string& line :
       {assumptions(arguments, input, workload), estimates_in_words(input.tiers)})
    if (!line.empty()) std::fprintf(stderr, "omptier %s: %s\n", command, line.c_str());
}

void add_advice_options(CLI::App& command, AdviceArguments& arguments,
                        const std::string& capacity_help) {
  command.add_option("profiles", arguments.profiles, "Profiles written by omptier record")
      ->type_name("FILE")
      ->required();
  command.add_option("--capacity", arguments.capacity, capacity_help)->type_name("KIND:SIZE,...");
  auto* xml = command.add_option(
      "--xml", arguments.xml,
      "hwloc XML of the machine to place on (lstopo --of xml); default: this one");
  xml->type_name("FILE");
  auto* nodes =
      command.add_option("--nodes", arguments.nodes,
                         "Which nodes are of which kind, such as hbm:1+3; default: by attributes");
  nodes->type_name("KIND:NODES,...");
  add_machine_options(command, arguments.machine,
                      "Machine to place on, one of omptier sandbox --list; --capacity then sets "
                      "how much it has of each kind");
  for (const char* option : {"--machine", "--machine-file"})
    command.get_option(option)->excludes(xml)->excludes(nodes);
  command
      .add_option("--threads", arguments.threads,
                  "Threads there, which share the bandwidth (default: as many as were recorded); "
                  "of a --machine, its emulated CPUs' part unless there are more threads than "
                  "these")
      ->check(CLI::Range(1u, 1u << 16));
  command
      .add_option("--keep", arguments.keep,
                  "NAME=KIND: what has NAME in its name stays in this kind, such as grid=hbm; "
                  "may be repeated")
      ->type_name("NAME=KIND");
  command
      .add_option("--tuned", arguments.tuned,
                  "Correct the model by what omptier tune learned, in this file, such as my.tune")
      ->type_name("FILE");
  command.add_flag("--force", arguments.force, "Join profiles of different programs");
  command.add_flag("--resolve", arguments.resolve, k_resolve_help);
}

} // namespace omptier
