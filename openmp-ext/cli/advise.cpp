// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier advise: from profiles to a plan. Reports which memory each allocation site should get and
// why (text or JSON), writes the plan, and prints the same advice as C source with traits.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/kept.hpp"
#include "base/text.hpp"
#include "cli/advice_text.hpp"
#include "cli/chosen_machine.hpp"
#include "cli/command.hpp"
#include "cli/held_names.hpp"
#include "cli/plan_for_build.hpp"
#include "cli/report_text.hpp"
#include "machine/as_platform.hpp"
#include "model/cost.hpp"
#include "platform/platform.hpp"
#include "symbols/variable_in_line.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>

namespace omptier {
namespace {

struct AdviseArguments {
  std::vector<std::string> profiles;
  std::string capacity, nodes, xml, plan, strategy, after;
  MachineChoice machine;
  std::vector<std::string> keep;
  unsigned threads = 0; // 0: as recorded
  bool traits = true, json = false, force = false, resolve = false, compare = false;
  std::string without;
  Terms terms; // of the model, all but those
};

struct Target {
  Platform platform;
  double gathers = k_gathered_at_once; // of a core
};

struct Input : Target {
  ProfileSummary summary;
  CapacityByKind capacity;
};

Parsed<Target> target_of(const AdviseArguments& arguments, const CapacityByKind& capacity,
                         unsigned threads) {
  if (arguments.machine.given()) {
    const auto machine = chosen_machine(arguments.machine);
    if (!machine) return Parsed<Target>::failure(machine.error());
    return Target{platform_of(*machine, capacity, threads),
                  static_cast<double>(machine->core.outstanding)};
  }
  DiscoverOptions options;
  options.xml = arguments.xml;
  if (!arguments.nodes.empty()) {
    const auto nodes = parse_nodes(arguments.nodes);
    if (!nodes) return Parsed<Target>::failure("--nodes: " + nodes.error());
    options.forced = *nodes;
  }
  const auto platform = discover_platform(options);
  if (!platform) return Parsed<Target>::failure(platform.error());
  return Target{*platform};
}

Parsed<Input> read_input(const AdviseArguments& arguments, Symbols& symbols) {
  using Outcome = Parsed<Input>;
  Input input;
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
  static_cast<Target&>(input) = *target;
  return input;
}

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

bool has_samples(const ProfileSummary& summary) {
  return summary.small.samples > 0 || summary.other.samples > 0 ||
         std::ranges::any_of(summary.sites,
                             [](const SiteSummary& site) { return site.samples > 0; });
}

// A kind of --capacity that the target does not have counts for nothing, which is said.
std::string kinds_not_there(const Input& input) {
  std::string kinds;
  for (std::size_t kind = 0; kind < input.capacity.size(); ++kind) {
    const auto same = [&](const Tier& tier) { return static_cast<std::size_t>(tier.kind) == kind; };
    if (input.capacity[kind].value_or(0) > 0 && std::ranges::none_of(input.platform.tiers, same))
      kinds +=
          (kinds.empty() ? "" : " and ") + std::string(title_of(static_cast<MemoryKind>(kind)));
  }
  return kinds.empty() ? "" : "--capacity: the machine to place on has no " + kinds;
}

// A note on the profile may be the reason, so it belongs to that line.
std::string nothing_to_decide(const Advice& advice, const AdviseArguments& arguments,
                              const std::vector<std::string>& notes) {
  if (std::ranges::none_of(advice.workload.sites, [](const SiteDemand& site) {
        return site.placeable && site.by_plan;
      }))
    return "the profile holds no allocation or static that a plan can place (blocks and statics "
           "from 64 KiB, small blocks of a site that are 256 KiB together, and omp_alloc's)" +
           (notes.empty() ? "" : "; " + notes.front());
  if (advice.tiers.empty())
    return "--capacity " + arguments.capacity + " leaves no memory to place in";
  if (advice.tiers.size() < 2 && arguments.machine.given())
    return "only one kind of memory may be used (" + kinds_in_words(advice.tiers) +
           "); let --capacity leave two, or name another machine (omptier sandbox --list)";
  if (advice.tiers.size() < 2)
    return "only one kind of memory may be used (" + kinds_in_words(advice.tiers) +
           "); name the machine to place on: --machine xeon-max-flat (others: omptier sandbox "
           "--list), or --xml FILE, made there by lstopo --of xml";
  return {};
}

// One line if the description of the target contains what the user did not give; "" if not.
std::string assumptions(const AdviseArguments& arguments, const Advice& advice) {
  const bool elsewhere = arguments.machine.given() || !arguments.xml.empty();
  const bool small = !arguments.machine.name.empty() && arguments.capacity.empty();
  const bool threads = elsewhere && arguments.threads == 0;
  if (!small && !threads) return {};
  std::string text;
  if (small)
    text = arguments.machine.name + " is taken as small as it is emulated (" +
           kinds_in_words(advice.tiers) + ")";
  if (threads)
    text += (small ? ", with " : "the bandwidth is shared by ") +
            format_threads(advice.workload.threads) + " as recorded";
  text += "; name the real machine's:";
  if (small) text += " --capacity hbm:64G,dram:256G";
  return text + (threads ? " --threads 56" : "");
}

// Whether C source of the program could ask for a site's memory. A static has no allocator, Fortran
// is another language, and the source of numpy is not the user's.
bool is_from_c_source(const SiteSummary& site, const std::vector<ModuleInfo>& modules,
                      Symbols& symbols) {
  if (site.kind != SiteKind::allocation) return false;
  bool by_library = false; // that has no lines
  for (const Frame& frame : site.frames) {
    const ModuleInfo& module = modules[frame.module];
    if (module.system) continue;
    for (const SourceLocation& location : symbols.resolve(module, frame.offset).locations)
      if (location.line > 0 && !is_library_file(location.file))
        return fortran_form(location.file) == FortranForm::none;
    by_library = by_library || module.name.find(".so") != std::string::npos;
  }
  return !by_library;
}

// If the plan goes to stdout, the text goes to stderr.
int print_advice(const AdviseArguments& arguments, const Advice& advice,
                 std::span<const StrategyTime> times, const Plan& plan,
                 const std::function<bool(std::size_t)>& is_from_c) {
  const bool plan_on_stdout = arguments.plan == "-";
  std::string text = arguments.json ? advice_json(advice, times, arguments.threads == 0)
                                    : placement_text(advice) + region_moves_text(advice) +
                                          strategies_text(advice, times);
  if (!arguments.json && arguments.traits) text += traits_text(advice, is_from_c);
  if (!arguments.plan.empty()) {
    if (const int status = write_file("advise", arguments.plan, write_plan(plan)); status != 0)
      return status;
    if (!plan_on_stdout && !arguments.json)
      text += "\nPlan written to " + arguments.plan + "; use it with: omptier run --plan " +
              arguments.plan + " -- PROGRAM\n";
  }
  std::FILE* out = plan_on_stdout ? stderr : stdout;
  if (std::fputs(text.c_str(), out) < 0 || std::fflush(out) != 0)
    return fail("advise", 125, "standard output cannot be written");
  return 0;
}

Parsed<Workload> workload_for(const AdviseArguments& arguments, const Input& input,
                              const ProfileNames& names, const std::vector<TierChoice>& tiers,
                              const Terms& terms) {
  const unsigned threads =
      arguments.threads > 0 ? arguments.threads : std::max(input.summary.threads, 1u);
  Workload workload = workload_from(input.summary, {names.sites, names.regions},
                                    reference_figures(input.platform.tiers), terms,
                                    input.platform.last_level.of(threads));
  workload.threads = threads;
  workload.threads.gathers = input.gathers;
  for (const std::string& wish : arguments.keep)
    if (const std::string why = keep_sites(workload, tiers, wish); !why.empty())
      return Parsed<Workload>::failure("--keep " + why);
  return workload;
}

bool names_build(const Plan& plan, const std::string& identity) {
  return std::ranges::find(plan.modules, identity, &PlanModule::identity) != plan.modules.end();
}

// The plan that is in use, for the build that was recorded.
Parsed<EarlierPlacement> earlier_placement(const AdviseArguments& arguments, const Input& input,
                                           const Workload& workload,
                                           const std::vector<TierChoice>& tiers) {
  using Outcome = Parsed<EarlierPlacement>;
  auto plan = read_plan(arguments.after);
  if (!plan) return Outcome::failure(plan.error());
  const auto program = std::ranges::find(input.summary.modules, plan->program, &ModuleInfo::name);
  if (program != input.summary.modules.end() && !names_build(*plan, program->identity)) {
    if (identity_of_file(program->path) != program->identity)
      return Outcome::failure(arguments.after + " is of another build than the one recorded, and " +
                              program->name + " was built anew since: record it again");
    const PlanForBuild now = plan_for_build(*plan, program->path);
    std::fprintf(stderr,
                 "omptier advise: --after: the program was rebuilt since the plan was made: %u of "
                 "%zu entries found again by name\n",
                 now.by_name, plan->entries.size());
    *plan = now.plan;
  }
  EarlierPlacement earlier = placed_by(*plan, workload, input.summary, tiers);
  if (!earlier.names_any())
    return Outcome::failure(arguments.after + " (made for " + plan->program +
                            ") places nothing of what was recorded in " + kinds_in_words(tiers) +
                            "; leave --after out");
  return earlier;
}

int advise_command(const AdviseArguments& arguments) {
  if (arguments.json && arguments.plan == "-")
    return fail("advise", 2, "--json and -o - both want standard output; name a file for the plan");
  if (!arguments.plan.empty() && arguments.plan != "-")
    if (const std::string problem = problem_with_output(arguments.plan); !problem.empty())
      return fail("advise", 2, problem);
  Symbols symbols;
  const auto input = read_input(arguments, symbols);
  if (!input) return fail("advise", 2, input.error());
  const ProfileNames names = names_of(input->summary, symbols);
  std::vector<TierChoice> tiers = usable_tiers(input->platform, input->capacity);
  if (!arguments.terms.blocks)
    for (TierChoice& tier : tiers)
      tier.figures.block = k_line_bytes;
  Terms undivided = arguments.terms;
  undivided.parts = false;
  const auto whole = workload_for(arguments, *input, names, tiers, undivided);
  if (!whole) return fail("advise", 2, whole.error());
  const FieldStrategy* const strategy = find_field_strategy(arguments.strategy);
  if (!strategy && !arguments.strategy.empty() && arguments.strategy != "omptier")
    return fail("advise", 2, "--strategy '" + arguments.strategy + "' is none of omptier, " +
                                 field_strategy_names());
  Workload workload = *workload_for(arguments, *input, names, tiers, arguments.terms);
  std::optional<EarlierPlacement> earlier;
  if (!arguments.after.empty() && tiers.size() > 1) {
    auto made = earlier_placement(arguments, *input, workload, tiers);
    if (!made) return fail("advise", 2, "--after: " + made.error());
    earlier = std::move(*made);
  }
  const Advice advice = strategy
                            ? advise_by(*strategy, *whole, tiers)
                            : advise(std::move(workload), tiers, earlier ? &*earlier : nullptr);
  if (const std::string why = nothing_to_decide(advice, arguments, input->summary.notes);
      !why.empty())
    return fail("advise", 2, why);
  if (const std::string why = kept_without_room(advice.workload, advice.placement, advice.tiers);
      !why.empty())
    return fail("advise", 2, "--keep: " + why);
  // Behind what refuses: that is said in one line.
  for (const std::string& note : input->summary.notes)
    std::fprintf(stderr, "omptier advise: %s\n", note.c_str());
  if (!has_samples(input->summary))
    std::fprintf(
        stderr,
        "omptier advise: %s: no samples, so nothing is known of what is accessed; record a "
        "longer run, or more often (omptier record --rate)\n",
        arguments.profiles[0].c_str());
  for (const std::string& line :
       {kinds_not_there(*input), assumptions(arguments, advice), estimates_in_words(advice.tiers)})
    if (!line.empty()) std::fprintf(stderr, "omptier advise: %s\n", line.c_str());

  Plan plan = plan_from(advice, input->summary, [&](const Frame& frame) {
    return symbols.resolve(input->summary.modules[frame.module], frame.offset).portable;
  });
  plan.platform_fingerprint = input->platform.fingerprint;
  plan.capacity = input->capacity;
  std::vector<StrategyTime> times;
  if (arguments.compare) times = compare_strategies(*whole, advice);
  return print_advice(arguments, advice, times, plan, [&](std::size_t site) {
    return is_from_c_source(input->summary.sites[advice.workload.sites[site].site],
                            input->summary.modules, symbols);
  });
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
  add_machine_options(*command, arguments->machine,
                      "Machine to place on, one of omptier sandbox --list; --capacity then sets "
                      "how much it has of each kind");
  for (const char* option : {"--machine", "--machine-file"})
    command->get_option(option)->excludes(xml)->excludes(nodes);
  command
      ->add_option("--threads", arguments->threads,
                   "Threads there, which share the bandwidth (default: as many as were recorded); "
                   "of a --machine, its emulated CPUs' part unless there are more threads than "
                   "these")
      ->check(CLI::Range(1u, 1u << 16));
  command->add_option("--keep", arguments->keep,
                      "NAME=KIND: what has NAME in its name stays in this kind, such as grid=hbm; "
                      "may be repeated");
  auto* after = command->add_option(
      "--after", arguments->after,
      "A plan that is in use: kept unless another placement is clearly (2 %) faster");
  command
      ->add_option("--strategy", arguments->strategy,
                   "Place as a publication does instead: " + field_strategy_names())
      ->excludes(after);
  command->add_flag("--compare", arguments->compare,
                    "Also the predicted time of each of these strategies");
  command->add_option("-o,--output", arguments->plan,
                      "Write the plan to this file; -: to standard output, the advice to stderr");
  command->add_flag("--json", arguments->json, "The advice as JSON instead of text");
  command->add_flag("--force", arguments->force, "Join profiles of different programs");
  command->add_flag("--resolve", arguments->resolve, k_resolve_help);
  command->add_flag("--traits,!--no-traits", arguments->traits,
                    "Print the advice as C source, too (default)");
  // For measurements of what it is worth.
  command->add_option("--without", arguments->without)->group("");
  command->callback([&context, arguments] {
    const std::string unknown = leave_out(arguments->without, arguments->terms);
    context.status =
        unknown.empty() ? advise_command(*arguments) : fail("advise", 2, "--without " + unknown);
  });
}

} // namespace omptier
