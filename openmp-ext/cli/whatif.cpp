// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier whatif: the predicted time over the capacity of one kind of memory, what moves into it at
// each step, and how much of it is enough.
#include "advisor/curve.hpp"
#include "advisor/explain.hpp"
#include "advisor/from_samples.hpp"
#include "advisor/kept.hpp"
#include "cli/advice_input.hpp"
#include "cli/advice_text.hpp"
#include "cli/command.hpp"
#include "cli/report_options.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

constexpr double k_enough = 0.95;              // of what the largest capacity saves
constexpr std::size_t k_most_arrivals = 3;     // arrivals in a row
constexpr double k_least_of_high = 1.0 / 1024; // smallest capacity of the scale that begins at 0

struct WhatifArguments : AdviceArguments {
  unsigned points = 12;
  bool json = false;
};

struct CapacityRange {
  MemoryKind kind = MemoryKind::unknown;
  std::uint64_t low = 0, high = 0; // bytes
};

// "hbm:8G..64G,dram:256G": the range is taken out of the text, where its end stays.
Parsed<CapacityRange> take_range(std::string& text) {
  using Outcome = Parsed<CapacityRange>;
  const std::string usage =
      "--capacity: name one kind with a range, KIND:LOW..HIGH, and the others with a size, such as "
      "hbm:8G..64G,dram:256G";
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos || text.find("..", dots + 2) != std::string::npos)
    return Outcome::failure(usage);
  const std::size_t comma = text.rfind(',', dots), begin = comma == text.npos ? 0 : comma + 1;
  const std::size_t colon = text.find(':', begin);
  if (colon == std::string::npos || colon > dots) return Outcome::failure(usage);
  const std::size_t end = std::min(text.find(',', dots), text.size());
  const std::string kind = text.substr(begin, colon - begin) + ":";
  const std::string below = text.substr(colon + 1, dots - colon - 1);
  const std::string above = text.substr(dots + 2, end - dots - 2);
  if (above.starts_with('.')) return Outcome::failure(usage);
  for (const std::string& size : {below, above})
    if (const auto parsed = parse_capacity(kind + size); !parsed)
      return Outcome::failure("--capacity: " + parsed.error());
  const auto low = parse_size(below), high = parse_size(above);
  if (*low >= *high)
    return Outcome::failure("--capacity: " + in_quotes(text.substr(begin, end - begin)) +
                            " does not rise; write the smaller size first");
  text.erase(colon + 1, dots + 2 - colon - 1);
  const CapacityByKind named = *parse_capacity(kind + above);
  for (std::size_t at = 0; at < named.size(); ++at)
    if (named[at]) return CapacityRange{static_cast<MemoryKind>(at), *low, *high};
  return Outcome::failure(usage);
}

// None, as the others are compared with that, then each so many times the one before; from 0 on,
// the first is a small part of the last.
std::vector<std::uint64_t> capacities(const CapacityRange& range, unsigned points) {
  std::vector<std::uint64_t> made = {0};
  const double high = static_cast<double>(range.high);
  const double first = range.low > 0 ? static_cast<double>(range.low) : high * k_least_of_high;
  if (range.low > 0) made.push_back(range.low);
  for (unsigned step = range.low > 0 ? 1 : 0, steps = points - 2; step < steps; ++step)
    made.push_back(shown_size(static_cast<std::uint64_t>(
        first * std::pow(high / first, static_cast<double>(step) / steps))));
  std::erase_if(made, [&](std::uint64_t bytes) { return bytes >= range.high; });
  made.push_back(range.high);
  return made;
}

// The tier of the range, or why it cannot be varied. The machine may have less of it.
Parsed<std::size_t> varied_tier(const CapacityRange& range, const std::vector<TierChoice>& tiers) {
  const auto at = std::ranges::find(tiers, range.kind, &TierChoice::kind);
  const std::string kind(title_of(range.kind));
  if (at == tiers.end())
    return Parsed<std::size_t>::failure("--capacity: the machine to place on has no " + kind +
                                        ", only " + kinds_in_words(tiers));
  if (at + 1 == tiers.end())
    return Parsed<std::size_t>::failure("--capacity: " + kind + " is the slowest kind there (" +
                                        kinds_in_words(tiers) +
                                        "): more of it makes nothing faster; vary another");
  return static_cast<std::size_t>(at - tiers.begin());
}

struct Curve {
  const CapacityCurve& curve;
  std::size_t tier;
  std::optional<std::uint64_t> enough;
  std::vector<std::uint64_t> shown; // capacities, ascending
  const std::vector<TierChoice>& tiers;

  double time(const Advice& advice) const { return advice.time_with_moves(); }
  const Advice& last() const { return curve.points().rbegin()->second; }
  std::vector<Arrival> arrivals(std::size_t row) const {
    return row == 0 ? std::vector<Arrival>() : curve.arrivals(shown[row - 1], shown[row]);
  }
  bool has_intervals() const { // not without samples
    const Range gain = speed_up_from_samples(last());
    return gain.high > gain.low;
  }
  std::string kind() const { return std::string(title_of(tiers[tier].kind)); }
};

// "+ grid", "- 25 % of grid"
std::string arrival_text(const Arrival& one) {
  const double change = std::abs(one.now - one.before);
  return std::string(one.now > one.before ? "+ " : "- ") +
         (change > 0.995 ? "" : format_percent(change, 0) + " of ") + one.label;
}

std::string arrivals_text(const std::vector<Arrival>& arrivals) {
  std::string text;
  for (std::size_t at = 0; at < std::min(arrivals.size(), k_most_arrivals); ++at)
    text += (at == 0 ? "" : ", ") + arrival_text(arrivals[at]);
  if (arrivals.size() > k_most_arrivals)
    text += ", " + std::to_string(arrivals.size() - k_most_arrivals) + " more";
  return text.empty() ? "-" : text;
}

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string rows_text(const Curve& of) {
  const std::vector<TableColumn> columns = {
      {.title = of.kind(), .align = TableColumn::Align::right},
      {.title = "time", .bar = true},
      {.title = "speed-up", .align = TableColumn::Align::right},
      {.title = "usually", .align = TableColumn::Align::right, .rank = 2},
      {.title = "by samples", .align = TableColumn::Align::right, .rank = 1},
      {.title = "moves in (+) or out (-)", .cut = TableColumn::Cut::end}};
  std::vector<TableRow> rows;
  const TextLook look = text_options(TextArguments())->look();
  const bool has_intervals = of.has_intervals();
  for (std::size_t row = 0; row < of.shown.size(); ++row) {
    const std::uint64_t capacity = of.shown[row];
    const Advice& advice = of.curve.points().at(capacity);
    const double part = of.time(advice) / of.curve.time_in_slowest();
    const Range gain = speed_up_from_samples(advice);
    const Gain usual = gain_of(advice);
    const auto range = [&](double low, double high) {
      return number("%.2f", low) + (look.utf8 ? "–" : "-") + number("%.2f", high);
    };
    rows.push_back({format_size(capacity) + (of.enough == capacity ? " *" : "  "),
                    number("%5.1f %% ", 100 * part) + bar(part, k_bar, look.utf8),
                    number("%.2f", gain.value), row == 0 ? "-" : range(usual.low, usual.high),
                    has_intervals ? range(gain.low, gain.high) : "-",
                    arrivals_text(of.arrivals(row))});
  }
  return table(columns, rows, look).text;
}

// Bytes of the program for which no kind has room.
std::uint64_t bytes_nowhere(const Advice& advice) {
  std::uint64_t bytes = 0;
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site)
    if (const SiteDemand& demand = advice.workload.sites[site];
        demand.placeable && demand.by_plan &&
        advice.placement.tier_of_site[site] == Placement::k_nowhere)
      bytes += demand.peak_bytes();
  return bytes;
}

// "" if there is always room.
std::string nowhere_text(const Curve& of) {
  const auto last = std::ranges::find_if(of.shown.rbegin(), of.shown.rend(), [&](auto capacity) {
    return bytes_nowhere(of.curve.points().at(capacity)) > 0;
  });
  if (last == of.shown.rend()) return {};
  return "With up to " + format_size(*last) + " of " + of.kind() +
         ", there is no room for all data: " +
         format_size(bytes_nowhere(of.curve.points().at(*last))) + " lie nowhere and count as if " +
         std::string(title_of(of.tiers.back().kind)) + " could hold them.\n";
}

// bytes: of all data.
std::string enough_text(const Curve& of, std::uint64_t bytes) {
  const std::uint64_t most = of.shown.back();
  if (!of.enough)
    return format_size(most) + " of " + of.kind() + " save less than " +
           format_percent(k_worth_changing, 0) + " of the time: " +
           (most >= bytes
                ? "this program does not need any.\n"
                : "so little is not worth it; try up to " + size_option(shown_size(bytes)) + ".\n");
  const double before = of.time(of.curve.points().begin()->second);
  const double saved = before - of.time(of.curve.points().at(*of.enough));
  return "* " + format_size(*of.enough) + " of " + of.kind() + " bring " +
         format_percent(saved / (before - of.time(of.last())), 0) + " of what " +
         format_size(most) + " save.\n";
}

std::string whatif_text(const Curve& of, const Workload& workload) {
  const bool tells_time = workload.measure == Measure::time;
  std::string others;
  for (std::size_t tier = 0; tier < of.tiers.size(); ++tier)
    if (tier != of.tier)
      others += (others.empty() ? "" : ", ") + std::string(title_of(of.tiers[tier].kind)) + " " +
                format_size(of.tiers[tier].capacity);
  return std::string(tells_time ? "Predicted time" : "Predicted time of waiting for memory") +
         " by capacity of " + of.kind() + ", beside " + others + "; 100 % is " +
         everything_in_slowest(of.last()) + ":\n\n" + rows_text(of) + "\n" +
         enough_text(of, all_peaks(workload)) + nowhere_text(of) +
         "All data that a plan can place take " + format_size(all_peaks(workload)) + " at most.\n";
}

using Json = nlohmann::ordered_json;

std::string whatif_json(const Curve& of, const Workload& workload) {
  Json points = Json::array(), others = Json::array();
  const double threads = workload.threads.most();
  const bool has_intervals = of.has_intervals();
  for (std::size_t row = 0; row < of.shown.size(); ++row) {
    const std::uint64_t capacity = of.shown[row];
    const Advice& advice = of.curve.points().at(capacity);
    Json arrivals = Json::array();
    for (const Arrival& one : of.arrivals(row))
      arrivals.push_back(
          {{"label", one.label}, {"bytes", one.bytes}, {"before", one.before}, {"now", one.now}});
    const Gain gain = gain_of(advice);
    const Range samples = speed_up_from_samples(advice);
    points.push_back(
        {{"capacity", capacity},
         {"predicted_time", of.time(advice) / threads},
         {"part", of.time(advice) / of.curve.time_in_slowest()},
         {"gain", {{"value", gain.value}, {"low", gain.low}, {"high", gain.high}}},
         {"by_samples",
          has_intervals ? Json{{"low", samples.low}, {"high", samples.high}} : Json(nullptr)},
         {"nowhere", bytes_nowhere(advice)},
         {"moves", std::move(arrivals)}});
  }
  for (std::size_t tier = 0; tier < of.tiers.size(); ++tier)
    if (tier != of.tier)
      others.push_back(
          {{"kind", name_of(of.tiers[tier].kind)}, {"capacity", of.tiers[tier].capacity}});
  const Json all = {{"version", 1},
                    {"measure", noun_of(workload.measure)},
                    {"kind", name_of(of.tiers[of.tier].kind)},
                    {"other_kinds", std::move(others)},
                    {"slowest_time", of.curve.time_in_slowest() / threads},
                    {"slowest_has_room", slowest_has_room(of.last())},
                    {"points", std::move(points)},
                    {"enough", of.enough ? Json(*of.enough) : Json(nullptr)},
                    {"enough_part", k_enough},
                    {"bytes", all_peaks(workload)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int whatif_command(WhatifArguments arguments) {
  const auto range = take_range(arguments.capacity);
  if (!range) return fail("whatif", 2, range.error());
  Symbols symbols;
  auto input = read_advice_input(arguments, symbols);
  if (!input) return fail("whatif", 2, input.error());
  const auto workload = workload_for(arguments, *input);
  if (!workload) return fail("whatif", 2, workload.error());
  if (const std::string why = nothing_to_decide(*workload, arguments, *input); !why.empty())
    return fail("whatif", 2, why);
  const auto tier = varied_tier(*range, input->tiers);
  if (!tier) return fail("whatif", 2, tier.error());
  CapacityCurve curve(*workload, input->tiers, *tier);
  std::vector<std::uint64_t> shown = capacities(*range, arguments.points);
  for (const std::uint64_t capacity : shown)
    curve.add(capacity);
  const Advice& most = curve.points().rbegin()->second;
  if (const std::string why = kept_without_room(most.workload, most.placement, most.tiers);
      !why.empty())
    return fail("whatif", 2, "--keep: " + why);
  print_limits("whatif", arguments, *input, *workload);
  const auto enough = curve.enough(k_enough, range->low);
  if (enough && !std::ranges::binary_search(shown, *enough))
    shown.insert(std::ranges::lower_bound(shown, *enough), *enough);
  const Curve of{curve, *tier, enough, std::move(shown), input->tiers};
  return write_file("whatif", "-",
                    arguments.json ? whatif_json(of, *workload) : whatif_text(of, *workload));
}

} // namespace

void add_whatif(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "whatif", "Predict the time over the capacity of a kind of memory: how much is enough?");
  auto arguments = std::make_shared<WhatifArguments>();
  add_advice_options(*command, *arguments,
                     "The kind to vary, from the smallest to the largest size, and the sizes of "
                     "others: hbm:8G..64G,dram:256G");
  command->get_option("--capacity")->type_name("KIND:LOW..HIGH,...")->required();
  command
      ->add_option("--points", arguments->points,
                   "Capacities to try, before the search for the "
                   "one that is enough (default: 12)")
      ->check(CLI::Range(3u, 200u));
  command->add_flag("--json", arguments->json, "The curve as JSON instead of text");
  command->callback([&context, arguments] { context.status = whatif_command(*arguments); });
}

} // namespace omptier
