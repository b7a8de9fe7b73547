// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier phases: a profile's run as a time line: which parallel regions ran, what repeats in
// rounds, which objects each of them accesses, what was moved for it and what that saved. Of
// several profiles (ranks), the first one's.
#include "analysis/timeline.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/held_names.hpp"
#include "cli/moves_text.hpp"
#include "cli/phases_text.hpp"
#include "cli/report_head.hpp"
#include "cli/report_options.hpp"
#include "cli/share_cells.hpp"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

struct PhasesArguments {
  std::vector<std::string> profiles;
  bool json = false, force = false, resolve = false;
  std::size_t most = 20;
  int width = -1;
};

std::string of_run(double nanoseconds, const ProfileSummary& summary) {
  return format_percent(
      summary.nanoseconds > 0 ? nanoseconds / static_cast<double>(summary.nanoseconds) : 0);
}

std::string with_deviation(double mean, const Spread& spread) {
  std::string text = format_duration(mean);
  if (spread.count > 1 && mean > 0)
    text += " ± " + format_percent(spread.deviation() / spread.mean(), 0);
  return text;
}
std::string mean_of(const Spread& spread) {
  return with_deviation(spread.mean(), spread);
}

std::vector<TableColumn> columns(bool is_folded) {
  using Align = TableColumn::Align;
  return {{"from", Align::right},
          {is_folded ? "rounds" : "", Align::right},
          {"region", Align::left, 0, TableColumn::Cut::middle},
          {"entries", Align::right, 3},
          {"a visit", Align::right},
          {"of the run", Align::right, 2},
          {"most accessed in the region", Align::left, 1, TableColumn::Cut::end}};
}

void add_rows(const TimelinePart& part, bool is_folded, const ProfileSummary& summary,
              const ProfileNames& names, bool utf8, std::vector<TableRow>& rows) {
  for (std::size_t i = 0; i < part.steps.size(); ++i) {
    const TimelineStep& step = part.steps[i];
    const std::string objects = most_accessed(summary, names, step.region);
    const bool one = part.steps.size() == 1, first = i == 0, last = i + 1 == part.steps.size();
    const char* const bracket = one ? "" : !utf8 ? "| " : first ? "┌ " : last ? "└ " : "│ ";
    rows.push_back({first ? format_duration(static_cast<double>(part.begin)) : "",
                    !is_folded ? "-"
                    : first    ? with_separators(part.rounds)
                               : "",
                    bracket + names.regions[step.region],
                    with_separators(static_cast<std::uint64_t>(std::lround(step.entries))),
                    with_deviation(step.entries > 0 ? step.time / step.entries : 0,
                                   is_folded ? step.seen : Spread()),
                    of_run(step.time, summary), objects.empty() ? "-" : objects});
  }
}

std::string plural(std::uint64_t count, const std::string& what) {
  return with_separators(count) + " " + what + (count == 1 ? "" : "s");
}

// "  work_on_a (a.c:3): 3.10 ms of moving a visit; 12.0 ms in place, 20.1 ms away: 5.00 ms saved".
// What was saved is only known where memory was away for some visits.
std::string moves_of(const TimelineStep& step, const std::string& name) {
  if (step.moves == 0) return "";
  const std::uint64_t moved_for = step.in_place.count > 0 ? step.in_place.count : step.seen.count;
  const auto visits = static_cast<double>(std::max<std::uint64_t>(moved_for, 1));
  const double before = step.moving / visits;
  std::string text = "  " + name + ": " + format_duration(before) + " of moving a visit";
  if (step.at_barriers > 0)
    text += ", " + plural(step.at_barriers, "move") + " of " + with_separators(step.moves) +
            " at its barriers";
  if (step.in_place.count > 0) text += "; " + mean_of(step.in_place) + " with its memory in place";
  if (step.in_place.count > 0 && step.away.count > 0) {
    const double saved = step.away.mean() - step.in_place.mean() - before;
    text += ", " + mean_of(step.away) + " in " + with_separators(step.away.count) +
            " with it away: " + format_duration(std::abs(saved)) +
            (saved >= 0 ? " saved" : " lost");
  }
  return text + "\n";
}

// Of what the table lacks.
std::string below(const Timeline& timeline, const ProfileSummary& summary,
                  const ProfileNames& names) {
  std::string text;
  if (timeline.small_regions > 0)
    text += "  left out: " + plural(timeline.small_regions, "region") + " of less than " +
            format_percent(k_least_region) + " of the run, " +
            of_run(timeline.in_small_regions, summary) + " in all\n";
  for (const std::uint32_t region : timeline.unseen)
    text += "  without a sample, so when it ran is not known: " + names.regions[region] + ", " +
            of_run(static_cast<double>(summary.regions[region].nanoseconds), summary) +
            " of the run\n";
  if (timeline.is_folded) return text;
  // Three samples a visit.
  const double rate = std::ceil(3e7 / std::max(timeline.shortest_visit, 1.0)) * 100;
  text += "  " + format_percent(timeline.seen) +
          " of the entries have a sample: too few to tell what repeats";
  constexpr double k_most_rate = 10000;
  if (rate <= k_most_rate)
    text += "; record with --rate " + std::to_string(static_cast<unsigned>(rate));
  return text + "\n";
}

std::string text_of(const Timeline& timeline, const ProfileSummary& summary,
                    const ProfileNames& names, const ProfileTextOptions& options,
                    std::size_t most) {
  std::string text = report_head(summary, options);
  if (summary.runs.size() > 1)
    text += "  shown: the first of " + plural(summary.runs.size(), "profile") + "\n";
  if (timeline.parts.empty())
    return text +
           "\nno parallel region was seen: the program has none, its runtime does not tell "
           "(omptier check), or the profile ends before\n" +
           below(timeline, summary, names);
  std::vector<TableRow> rows;
  std::string moves;
  std::size_t shown = 0;
  for (const TimelinePart& part : timeline.parts) {
    if (shown++ < most) add_rows(part, timeline.is_folded, summary, names, options.utf8, rows);
    for (const TimelineStep& step : part.steps)
      moves += moves_of(step, names.regions[step.region]);
  }
  text += "\n" + whole_table(columns(timeline.is_folded), rows, options.look());
  if (shown > most) text += "  … " + plural(shown - most, "more part") + " (--parts)\n";
  text += below(timeline, summary, names);
  if (!moves.empty()) text += "\nMoves for regions, by part:\n" + moves;
  return text + moves_text(summary, names);
}

nlohmann::json json_of(const Spread& spread) {
  return {{"count", spread.count}, {"mean", spread.mean()}, {"deviation", spread.deviation()}};
}

nlohmann::json json_of(const Timeline& timeline, const ProfileSummary& summary,
                       const ProfileNames& names) {
  nlohmann::json parts = nlohmann::json::array();
  for (const TimelinePart& part : timeline.parts) {
    nlohmann::json steps = nlohmann::json::array();
    for (const TimelineStep& step : part.steps)
      steps.push_back({{"region", step.region},
                       {"name", names.regions[step.region]},
                       {"entries", step.entries},
                       {"nanoseconds", step.time},
                       {"seen", json_of(step.seen)},
                       {"in_place", json_of(step.in_place)},
                       {"away", json_of(step.away)},
                       {"moves", step.moves},
                       {"moves_at_barriers", step.at_barriers},
                       {"moved_bytes", step.bytes},
                       {"moving", step.moving}});
    parts.push_back({{"begin", part.begin},
                     {"end", part.end},
                     {"rounds", part.rounds},
                     {"steps", std::move(steps)}});
  }
  return {{"version", 1},
          {"nanoseconds", summary.nanoseconds},
          {"parts", std::move(parts)},
          {"folded", timeline.is_folded},
          {"seen", timeline.seen},
          {"unseen", timeline.unseen},
          {"small_regions", timeline.small_regions},
          {"in_small_regions", timeline.in_small_regions},
          {"moves", moves_json(summary)}};
}

int phases(const PhasesArguments& arguments) {
  TextArguments look;
  look.width = arguments.width;
  const Parsed<ProfileTextOptions> options = text_options(look);
  if (!options) return fail("phases", 2, options.error());
  Symbols symbols;
  const Parsed<ProfileSummary> summary =
      summarize_with_names(symbols, arguments.profiles,
                           arguments.force ? Programs::any : Programs::one, arguments.resolve);
  if (!summary) return fail("phases", 2, summary.error());
  const ProfileNames names = names_of(*summary, symbols);
  const Timeline timeline = timeline_of(*summary);
  const std::string text =
      arguments.json ? json_of(timeline, *summary, names)
                               .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                           "\n"
                     : text_of(timeline, *summary, names, *options, arguments.most);
  for (const std::string& note : summary->notes)
    std::fprintf(stderr, "omptier phases: %s\n", note.c_str());
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    return fail("phases", 125, "standard output cannot be written");
  return 0;
}

} // namespace

void add_phases(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "phases", "Show a profile's run in time: its parallel regions, their rounds, and moves");
  auto arguments = std::make_shared<PhasesArguments>();
  command->add_option("profiles", arguments->profiles, "Profiles written by omptier record")
      ->type_name("FILE")
      ->required();
  command->add_flag("--json", arguments->json, "JSON instead of text");
  command->add_option("--parts", arguments->most, "Parts of the run that are shown (default 20)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--force", arguments->force, "Join profiles of different programs");
  command->add_flag("--resolve", arguments->resolve, k_resolve_help);
  command->add_option("--width", arguments->width,
                      "Columns of text (default: the terminal's; elsewhere 120; 0: no limit)");
  command->callback([&context, arguments] { context.status = phases(*arguments); });
}

} // namespace omptier
