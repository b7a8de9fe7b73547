// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier advise: from profiles to a plan. Reports which memory each allocation site should get and
// why (text or JSON), writes the plan, and prints the same advice as source with traits.
#include "advisor/advice.hpp"
#include "advisor/alternatives.hpp"
#include "advisor/kept.hpp"
#include "base/text.hpp"
#include "cli/advice_input.hpp"
#include "cli/advice_text.hpp"
#include "cli/command.hpp"
#include "cli/traits_text.hpp"
#include "model/cost.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>

namespace omptier {
namespace {

struct AdviseArguments : AdviceArguments {
  std::string plan, strategy, after;
  bool traits = true, json = false, compare = false, why = false;
  std::string without;
  Terms terms; // of the model, all but those
};

// If the plan goes to stdout, the text goes to stderr.
int print_advice(const AdviseArguments& arguments, const AdviceInput& input, const Advice& advice,
                 const Workload& whole,
                 std::span<const StrategyTime> times, const Plan& plan,
                 const std::function<SourceLanguage(std::size_t)>& language_of) {
  const bool plan_on_stdout = arguments.plan == "-";
  std::vector<std::string> others;
  if (arguments.why) others = alternatives(advice);
  const AdviceOrigin origin{arguments.threads == 0, arguments.tuned ? &input.learned : nullptr,
                            input.names.sites};
  std::string text = arguments.json ? advice_json(advice, times, origin, others)
                                    : placement_text(advice, others) + region_moves_text(advice) +
                                          strategies_text(advice, times);
  if (!arguments.json && arguments.traits) text += traits_text(advice, whole, language_of);
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

// Part of the time. The model's gains are off by about a tenth: of changes for which it promised 4
// or 5 %, some made the program slower (Lagrange's temporaries, benchmarks/published/rounds.py).
constexpr double k_worth_another_plan = 0.05;

// The plan that is in use.
Parsed<EarlierPlacement> earlier_placement(const AdviseArguments& arguments,
                                           const AdviceInput& input, const Workload& workload) {
  using Outcome = Parsed<EarlierPlacement>;
  const auto plan = plan_for_recorded("advise: --after", arguments.after, input);
  if (!plan) return Outcome::failure(plan.error());
  auto placed = placed_by_plan(*plan, arguments.after, input, workload);
  if (!placed) return Outcome::failure(placed.error() + "; leave --after out");
  placed->worth_changing = k_worth_another_plan;
  return placed;
}

int advise_command(const AdviseArguments& arguments) {
  if (arguments.json && arguments.plan == "-")
    return fail("advise", 2, "--json and -o - both want standard output; name a file for the plan");
  if (!arguments.plan.empty() && arguments.plan != "-")
    if (const std::string problem = problem_with_output(arguments.plan); !problem.empty())
      return fail("advise", 2, problem);
  Symbols symbols;
  auto input = read_advice_input(arguments, symbols);
  if (!input) return fail("advise", 2, input.error());
  std::vector<TierChoice>& tiers = input->tiers;
  if (!arguments.terms.blocks)
    for (TierChoice& tier : tiers)
      tier.figures.block = k_line_bytes;
  const auto whole = whole_workload_for(arguments, *input, arguments.terms);
  if (!whole) return fail("advise", 2, whole.error());
  const FieldStrategy* const strategy = find_field_strategy(arguments.strategy);
  if (!strategy && !arguments.strategy.empty() && arguments.strategy != "omptier")
    return fail("advise", 2, "--strategy '" + arguments.strategy + "' is none of omptier, " +
                                 field_strategy_names());
  Workload workload = *workload_for(arguments, *input, arguments.terms);
  std::optional<EarlierPlacement> earlier;
  if (!arguments.after.empty() && tiers.size() > 1) {
    auto made = earlier_placement(arguments, *input, workload);
    if (!made) return fail("advise", 2, "--after: " + made.error());
    earlier = std::move(*made);
  }
  const Advice advice = strategy
                            ? advise_by(*strategy, *whole, tiers)
                            : advise(std::move(workload), tiers, earlier ? &*earlier : nullptr);
  if (const std::string why = nothing_to_decide(advice.workload, arguments, *input); !why.empty())
    return fail("advise", 2, why);
  if (const std::string why = kept_without_room(advice.workload, advice.placement, advice.tiers);
      !why.empty())
    return fail("advise", 2, "--keep: " + why);
  print_limits("advise", arguments, *input, advice.workload);

  Plan plan = plan_from(advice, input->summary, [&](const Frame& frame) {
    return symbols.resolve(input->summary.modules[frame.module], frame.offset).portable;
  });
  plan.platform_fingerprint = input->platform.fingerprint;
  plan.capacity = input->capacity;
  std::vector<StrategyTime> times;
  if (arguments.compare) times = compare_strategies(*whole, advice);
  return print_advice(arguments, *input, advice, *whole, times, plan, [&](std::size_t site) {
    return language_of_site(input->summary.sites[site], input->summary.modules, symbols);
  });
}

} // namespace

void add_advise(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("advise", "Decide from profiles where allocations should live");
  auto arguments = std::make_shared<AdviseArguments>();
  add_advice_options(*command, *arguments,
                     "Bytes that may be used of each kind, such as dram:64M,hbm:0");
  auto* after = command->add_option(
      "--after", arguments->after,
      "A plan that is in use: kept unless another placement is clearly (2 %) faster");
  after->type_name("FILE");
  command->add_option("--strategy", arguments->strategy, "Place as a publication does instead")
      ->type_name(choices(field_strategy_names()))
      ->excludes(after);
  command->add_flag("--compare", arguments->compare,
                    "Also the predicted time of each of these strategies");
  command
      ->add_option("-o,--output", arguments->plan,
                   "Write the plan to this file; -: to standard output, the advice to stderr")
      ->type_name("FILE");
  command->add_flag("--why", arguments->why,
                    "Also what each object's next best memory is worth, and how much of it fits "
                    "there (one in detail: omptier explain)");
  command->add_flag("--json", arguments->json, "The advice as JSON instead of text");
  command->add_flag("--traits,!--no-traits", arguments->traits,
                    "Print the advice as C, C++ or Fortran source, too (default)");
  // For measurements of what it is worth.
  command->add_option("--without", arguments->without)->group("");
  command->callback([&context, arguments] {
    const std::string unknown = leave_out(arguments->without, arguments->terms);
    context.status =
        unknown.empty() ? advise_command(*arguments) : fail("advise", 2, "--without " + unknown);
  });
}

} // namespace omptier
