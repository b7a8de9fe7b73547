// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier tune: the best placement by measurement. Starts from what `advise` would say, runs the
// program under plans that differ in one group of data at a time, and prints which placement was
// the fastest and what each group's place is worth.
#include "advisor/kept.hpp"
#include "cli/advice_input.hpp"
#include "cli/advice_text.hpp"
#include "cli/command.hpp"
#include "cli/launch.hpp"
#include "cli/named_site.hpp"
#include "cli/plan_for_build.hpp"
#include "cli/temporary_folder.hpp"
#include "cli/tune_runs.hpp"
#include "cli/tune_text.hpp"
#include "cli/tuned.hpp"
#include "cli/written_profiles.hpp"
#include "machine/hash.hpp"
#include "tuning/advised_groups.hpp"
#include "tuning/run_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr int k_nothing_to_tune = 1;     // status: no placement can be told to be better here
constexpr double k_least_seconds = 0.01; // of a run: start and noise hide any difference
constexpr double k_most_times = 10;      // of the advised plan's time: then a run is killed,
constexpr double k_least_limit = 5;      // but not before so many seconds

struct TuneArguments : AdviceArguments {
  std::string plan, runs, metric, runtime = "omptier";
  unsigned groups = 8;
  TuningOptions search;
  double worth_percent = 1, minutes = 30;
  bool json = false;
  std::vector<std::string> command;
};

// What a run's time depends on beside the plan: program, arguments, and what threads read.
std::string conditions_of(const TuneArguments& arguments) {
  std::string text = identity_of_file(path_of_program(arguments.command[0]));
  for (const std::string& word : arguments.command)
    if (std::error_code none; std::filesystem::is_regular_file(word, none))
      text += '\0' + word + '\0' + identity_of_file(word); // a launcher's program
    else
      text += '\0' + word + '\0';
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    for (const std::string_view begin : {"OMP_", "KMP_", "GOMP_", "OMPTIER_"})
      if (std::string_view(*variable).starts_with(begin)) variables.emplace_back(*variable);
  std::ranges::sort(variables);
  for (const std::string& variable : variables)
    text += '\0' + variable;
  for (const std::string& option :
       {arguments.metric, arguments.capacity, arguments.nodes, arguments.runtime})
    text += '\0' + option;
  return text;
}

// A kind that only the description of another machine has cannot be measured here.
std::string kinds_not_here(const TuneArguments& arguments, const AdviceInput& input) {
  DiscoverOptions options;
  if (!arguments.nodes.empty()) options.forced = *parse_nodes(arguments.nodes);
  const auto here = discover_platform(options);
  if (!here) return here.error();
  std::string kinds;
  for (const TierChoice& tier : input.tiers)
    if (here->tier(tier.kind) == nullptr)
      kinds += (kinds.empty() ? "" : " and ") + std::string(title_of(tier.kind));
  if (kinds.empty()) return {};
  return "this machine has no " + kinds +
         ", and programs are measured where they run: tune on the machine that has it";
}

std::string problem_with(const TuneArguments& arguments) {
  if (std::string problem = problem_with_runtime(arguments.runtime); !problem.empty())
    return problem;
  if (arguments.plan == "-") return "-o -: standard output has the table; name a file for the plan";
  for (const std::string& path : {arguments.plan, arguments.runs})
    if (!path.empty())
      if (std::string problem = problem_with_output(path); !problem.empty()) return problem;
  const std::string path = path_of_program(arguments.command[0]);
  if (!is_profile(arguments.profiles[0])) return {}; // the reader says more
  if (path.empty() || ::access(path.c_str(), X_OK) != 0)
    return in_quotes(arguments.command[0]) +
           " is no program that can be run; give its path behind --";
  return {};
}

// Why nothing can be tuned here, or "".
std::string nothing_to_tune(const TuneArguments& arguments, const AdviceInput& input,
                            const Workload& workload) {
  if (input.tiers.size() < 2)
    return "nothing can be tuned with one kind of memory (" +
           (input.tiers.empty() ? "none" : kinds_in_words(input.tiers)) +
           "): measure on a machine with two, or let --capacity leave two";
  if (std::string problem = kinds_not_here(arguments, input); !problem.empty()) return problem;
  if (std::ranges::none_of(workload.sites, &SiteDemand::is_free) && !arguments.keep.empty())
    return "no group to try: --keep says where everything lies that a plan can place";
  return nothing_to_decide(workload, arguments, input);
}

// The search's runs: from the file, or of the program.
class Tuning {
public:
  Tuning(const TuneArguments& arguments, Trial advised, RunList& list, ProgramRuns& runs,
         std::function<Plan(const Trial&)> plan)
      : arguments_(arguments), plan_(std::move(plan)), advised_(std::move(advised)), list_(list),
        runs_(runs), conditions_(conditions_of(arguments)) {}

  Parsed<Measured> measure(const Trial& trial, const std::string& what) {
    ++count_;
    const Plan plan = plan_(trial);
    const std::string key = hash_text(write_plan(plan) + '\0' + conditions_);
    auto stored = list_.take(key);
    while (stored && !stored->failure.empty() && trial == advised_)
      stored = list_.take(key); // it may run by itself now
    const bool is_known = stored.has_value();
    if (!is_known) {
      auto made = run(plan, what);
      if (!made) return Parsed<Measured>::failure(made.error());
      stored = *made;
      if (!list_.append(key, *stored))
        return Parsed<Measured>::failure("the runs' file cannot be written");
    }
    if (trial == advised_ && stored->failure.empty()) {
      advised_seconds_ = stored->seconds;
      if (stored->seconds < k_least_seconds && arguments_.metric.empty()) {
        too_short_ = "the program ends after " + format_duration(stored->seconds * 1e9) +
                     ", too soon to tell placements apart by time: give it a larger input, or "
                     "name a figure that it prints (--metric)";
        return Parsed<Measured>::failure(too_short_);
      }
    }
    if (!stored->not_placed.empty()) not_placed_.try_emplace(what, stored->not_placed);
    else if (stored->failure.empty() && !moves_any(plan))
      figures_[trial].push_back(stored->figure);
    report(*stored, is_known);
    return Measured{stored->figure, stored->failure};
  }

  const std::string& too_short() const { return too_short_; }
  // Of placements that held all the time, as the model takes them.
  const std::map<Trial, std::vector<double>>& figures() const { return figures_; }

  // Measured are such placements as they were, not as they were meant.
  void report_not_placed() const {
    for (const auto& [what, warning] : not_placed_)
      std::fprintf(stderr, "omptier tune: not all lay where the plan wanted it (%s): %s\n",
                   what.c_str(), warning.c_str());
  }

private:
  static bool moves_any(const Plan& plan) {
    return std::ranges::any_of(plan.entries,
                               [](const auto& entry) { return !entry.region.empty(); });
  }
  Parsed<StoredRun> run(const Plan& plan, const std::string& what) {
    using Outcome = Parsed<StoredRun>;
    if (ProgramRuns::interrupted_by() != 0) return Outcome::failure("interrupted");
    const double left = 60 * arguments_.minutes - elapsed();
    if (is_begun_ && left < advised_seconds_) return Outcome::failure(time_is_up());
    is_begun_ = true;
    const std::string path = folder_.path() + "/trial.plan";
    if (folder_.path().empty() || write_file("tune", path, write_plan(plan)) != 0)
      return Outcome::failure("no plan can be written to the folder for temporary files (TMPDIR)");
    std::fprintf(stderr, "omptier tune: run %u: %s; %.1f min left at most\n", count_, what.c_str(),
                 std::max(left, 0.0) / 60);
    const auto made = runs_.run(
        path, advised_seconds_ > 0 ? std::max(k_most_times * advised_seconds_, k_least_limit) : 0);
    if (!made) return Outcome::failure("interrupted");
    return StoredRun{made->metric.value_or(made->seconds), made->seconds, made->failure, what,
                     made->not_placed};
  }

  void report(const StoredRun& run, bool is_known) const {
    const std::string figure = run.failure.empty()
                                   ? figure_text(run.figure, !arguments_.metric.empty())
                                   : "does not count: " + run.failure;
    if (is_known)
      std::fprintf(stderr, "omptier tune: run %u: %s: %s (from the runs' file)\n", count_,
                   run.placement.c_str(), figure.c_str());
    else
      std::fprintf(stderr, "omptier tune: run %u: %s\n", count_, figure.c_str());
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::string time_is_up() const {
    char minutes[32];
    std::snprintf(minutes, sizeof minutes, "%g", arguments_.minutes);
    return "the time is up (--time " + std::string(minutes) +
           "); started again with more, it goes on from here";
  }

  const TuneArguments& arguments_;
  const std::function<Plan(const Trial&)> plan_;
  const Trial advised_;
  RunList& list_;
  ProgramRuns& runs_;
  const std::string conditions_;
  const TemporaryFolder folder_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  unsigned count_ = 0;
  double advised_seconds_ = 0;
  bool is_begun_ = false;
  std::string too_short_;
  std::map<std::string, std::string> not_placed_; // the warning, by placement in words
  std::map<Trial, std::vector<double>> figures_;
};

// What all runs have in common; the plan comes with each.
Parsed<Launch> launch_for(const CommandContext& context, const TuneArguments& arguments) {
  using Outcome = Parsed<Launch>;
  Launch what;
  what.command = arguments.command;
  what.libraries = find_libraries(context);
  if (const std::string problem = problem_with_libraries(what.libraries); !problem.empty())
    return Outcome::failure(problem);
  const Preload preload = preload_for(arguments.command[0], what.libraries);
  if (preload.closed) return Outcome::failure(preload.problem + ": nothing can be placed");
  if (!preload.problem.empty())
    std::fprintf(stderr, "omptier tune: %s: malloc and statics are not placed\n",
                 preload.problem.c_str());
  what.preload = preload.library;
  if (arguments.runtime == "own") what.libraries.clear();
  if (!arguments.capacity.empty())
    what.environment.emplace_back("OMPTIER_CAPACITY", arguments.capacity);
  if (!arguments.nodes.empty()) what.environment.emplace_back("OMPTIER_NODES", arguments.nodes);
  return what;
}

// Whether the plans are of this program; a rebuild is reported.
std::string problem_with_build(const TuneArguments& arguments, const Plan& plan) {
  const std::string program = path_of_program(arguments.command[0]);
  const PlanForBuild now = plan_for_build(plan, program);
  if (now.of_another_program && !is_launcher(program))
    return arguments.profiles[0] + " is of " + plan.program + ": nothing of it is in " +
           arguments.command[0] + "; record that program";
  if (now.same_build) return {};
  report_rebuilt("tune", now, plan, "it was recorded");
  report_lost("tune", now);
  return {};
}

int write_best_plan(const TuneArguments& arguments, const Tuned& of, Plan plan) {
  if (arguments.plan.empty()) return 0;
  if (!of.by_metric && of.result.best_figure && plan.recorded_seconds > 0)
    plan.predicted_seconds = *of.result.best_figure;
  if (const int status = write_file("tune", arguments.plan, write_plan(plan)); status != 0)
    return status;
  std::fprintf(stderr,
               "omptier tune: plan written to %s; use it with: omptier run --plan %s -- %s\n",
               arguments.plan.c_str(), arguments.plan.c_str(), arguments.command[0].c_str());
  return 0;
}

int status_of_end(int otherwise) {
  const int signal = ProgramRuns::interrupted_by();
  return signal != 0 ? 128 + signal : otherwise;
}

// The plans of trials, as `advise` would write them for this machine.
class TrialPlans {
public:
  TrialPlans(const AdvisedGroups& groups, const AdviceInput& input, Symbols& symbols)
      : groups_(groups), input_(input), symbols_(symbols) {}

  Plan of(const Trial& trial, const std::function<std::string(std::size_t)>& reason = {}) const {
    const auto portable = [this](const Frame& frame) {
      return symbols_.resolve(input_.summary.modules[frame.module], frame.offset).portable;
    };
    Plan plan = groups_.plan(trial, portable, reason);
    plan.platform_fingerprint = input_.platform.fingerprint;
    plan.capacity = input_.capacity;
    return plan;
  }

private:
  const AdvisedGroups& groups_;
  const AdviceInput& input_;
  Symbols& symbols_;
};

Parsed<RunList> open_run_list(const TuneArguments& arguments) {
  std::filesystem::path usual(arguments.profiles[0]);
  const std::string file =
      arguments.runs.empty() ? usual.replace_extension(".tune").string() : arguments.runs;
  const std::filesystem::path program(path_of_program(arguments.command[0]));
  return RunList::open(file, program.filename().string(), hash_of_profiles(arguments.profiles));
}

// For `advise --tuned`.
void learn_from(const std::map<Trial, std::vector<double>>& figures, const AdvisedGroups& groups,
                const std::vector<std::string>& labels, RunList& list) {
  std::vector<MeasuredPlacement> measured;
  for (const auto& [trial, of] : figures)
    measured.push_back({groups.tiers_of(trial), of});
  const Learned learned = learn(groups.advice().workload, groups.advice().tiers, measured);
  if (!list.append(learned, labels))
    std::fprintf(stderr, "omptier tune: what was learned cannot be written to the runs' file\n");
  else
    std::fprintf(stderr, "omptier tune: %s%s\n", learned_in_words(learned, labels).c_str(),
                 learned.changes_any() ? "; advise --tuned uses that" : "");
}

// Table or JSON, and the plan.
int print_result(const TuneArguments& arguments, const Tuned& of, const TrialPlans& plans) {
  const int printed = write_file("tune", "-", arguments.json ? tuning_json(of) : tuning_text(of));
  const int written =
      write_best_plan(arguments, of, plans.of(of.result.best, [&](std::size_t group) {
        const auto& effect = of.result.effects[group];
        return effect ? measured_reason(of.problem, *effect) : std::string();
      }));
  return printed != 0 ? printed : written;
}

// The search itself, on what was advised.
int tune_advice(const CommandContext& context, const TuneArguments& arguments,
                const AdviceInput& input, const AdvisedGroups& groups, const TrialPlans& plans) {
  TuningProblem problem = groups.problem();
  for (TuningGroup& group : problem.groups)
    group.label = std::string(without_part(group.label));
  if (std::string why = problem_with_build(arguments, plans.of(problem.advised())); !why.empty())
    return fail("tune", 2, why);
  const auto launched = launch_for(context, arguments);
  if (!launched) return fail("tune", 2, launched.error());
  auto list = open_run_list(arguments);
  if (!list) return fail("tune", 2, list.error());
  print_limits("tune", arguments, input, groups.advice().workload);
  if (groups.left_out() > 0)
    std::fprintf(stderr,
                 "omptier tune: the %zu groups of largest predicted effect are tried; %zu stay as "
                 "advised (--groups)\n",
                 problem.groups.size(), groups.left_out());
  std::optional<std::regex> metric;
  if (!arguments.metric.empty()) metric = *metric_regex(arguments.metric);
  ProgramRuns runs(*launched, metric, arguments.json ? STDERR_FILENO : STDOUT_FILENO);
  Tuning tuning(arguments, problem.advised(), *list, runs, [&](const Trial& trial) {
    return plan_for_build(plans.of(trial), path_of_program(arguments.command[0])).plan;
  });
  const TuningResult result =
      tune(problem, arguments.search, [&](const Trial& trial, const std::string& what) {
        return tuning.measure(trial, what);
      });
  tuning.report_not_placed();
  const std::string program = path_of_program(arguments.command[0]);
  if (plan_for_build(plans.of(problem.advised()), program).lost.empty())
    learn_from(tuning.figures(), groups, input.names.sites, *list);
  if (const std::string& why = tuning.too_short().empty() ? result.refused : tuning.too_short();
      !why.empty())
    return fail("tune", k_nothing_to_tune,
                list->known() == 0
                    ? why
                    : why + "; runs that were in the file (" + std::to_string(list->known()) +
                          ") count, too: remove it to measure anew");
  if (!result.best_figure)
    return fail("tune", status_of_end(125), result.ended + ", before anything was measured");
  const int status = print_result(arguments, {problem, result, metric.has_value()}, plans);
  return status != 0 ? status : status_of_end(0);
}

int tune_command(const CommandContext& context, TuneArguments arguments) {
  // Further profiles stand before the program.
  while (arguments.command.size() > 1 && is_profile(arguments.command.front())) {
    arguments.profiles.push_back(arguments.command.front());
    arguments.command.erase(arguments.command.begin());
  }
  arguments.search.worth = arguments.worth_percent / 100;
  if (std::string problem = problem_with(arguments); !problem.empty())
    return fail("tune", 2, problem);
  if (!arguments.metric.empty())
    if (const auto regex = metric_regex(arguments.metric); !regex)
      return fail("tune", 2, regex.error());
  Symbols symbols;
  const auto input = read_advice_input(arguments, symbols);
  if (!input) return fail("tune", 2, input.error());
  auto workload = workload_for(arguments, *input);
  if (!workload) return fail("tune", 2, workload.error());
  if (std::string why = nothing_to_tune(arguments, *input, *workload); !why.empty())
    return fail("tune", k_nothing_to_tune, why);
  const Advice advice = advise(std::move(*workload), input->tiers);
  if (std::string why = kept_without_room(advice.workload, advice.placement, advice.tiers);
      !why.empty())
    return fail("tune", 2, "--keep: " + why);
  const AdvisedGroups groups(advice, input->summary, arguments.groups);
  return tune_advice(context, arguments, *input, groups, {groups, *input, symbols});
}

} // namespace

void add_tune(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "tune", "Find the best placement by running the program: omptier tune my.profile -- ./app");
  auto arguments = std::make_shared<TuneArguments>();
  add_advice_options(*command, *arguments,
                     "Bytes that may be used of each kind, such as dram:64M,hbm:0; also the limit "
                     "while the program runs");
  command->remove_option(command->get_option("--tuned")); // it is what comes of this
  command->get_option("profiles")->expected(1)->allow_extra_args(false);
  command->add_option("--metric", arguments->metric,
                      "Compare by a figure that the program prints, not by time: a regular "
                      "expression, whose first group is the number; smaller is better");
  command
      ->add_option("--groups", arguments->groups,
                   "How many groups of data are tried, those of largest predicted effect "
                   "(default: 8)")
      ->check(CLI::Range(1u, 100u));
  command
      ->add_option("--repeats", arguments->search.repeats,
                   "Runs of a placement before it is left undecided; the best one runs beside each "
                   "(default: 5)")
      ->check(CLI::Range(2u, 1000u));
  command
      ->add_option("--worth", arguments->worth_percent,
                   "Percent of the time that a change must gain (default: 1)")
      ->check(CLI::Range(0.01, 50.0));
  command
      ->add_option("--time", arguments->minutes, "Minutes after which no run begins (default: 30)")
      ->check(CLI::Range(0.01, 1e6));
  command
      ->add_option("--runs", arguments->runs,
                   "File that keeps the runs; those in it are not repeated (default: the "
                   "profile's name with the ending .tune)")
      ->type_name("FILE");
  command->add_option("-o,--output", arguments->plan, "Write the best plan to this file")
      ->type_name("FILE");
  command
      ->add_option("--runtime", arguments->runtime,
                   "OpenMP runtime: omptier (default), or own: the one the program was linked "
                   "with")
      ->type_name(choices(k_runtime_names));
  command->add_flag("--json", arguments->json,
                    "The result as JSON; the program's output then goes to standard error");
  command->add_option("command", arguments->command, "Program and its arguments, after --")
      ->type_name("PROGRAM")
      ->required();
  command->callback([&context, arguments] { context.status = tune_command(context, *arguments); });
}

} // namespace omptier
