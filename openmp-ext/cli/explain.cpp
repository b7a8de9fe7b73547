// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier explain: why one allocation or static is placed where it is, what it would cost
// elsewhere, and what would put it elsewhere.
#include "advisor/explain.hpp"
#include "advisor/curve.hpp"
#include "advisor/decision.hpp"
#include "advisor/kept.hpp"
#include "cli/advice_input.hpp"
#include "cli/advice_text.hpp"
#include "cli/command.hpp"
#include "cli/named_site.hpp"
#include "cli/table.hpp"
#include "cli/written_profiles.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

struct ExplainArguments : AdviceArguments {
  std::string site;
  bool json = false;
};

// What is explained, for texts.
struct Explained {
  const Decision& decision;
  const std::vector<TierChoice>& tiers;
  std::string name, seen;
  std::uint64_t bytes = 0, samples = 0;

  // What is known of its accesses; without samples, intervals would be those of others.
  bool is_seen() const { return samples > 0; }
  const SiteDemand& demand() const {
    return *std::ranges::find(decision.advice.workload.sites, decision.site, &SiteDemand::site);
  }
  double time() const { return decision.advice.time_with_moves(); }
  std::string kind(std::size_t tier) const {
    return tier < tiers.size() ? std::string(title_of(tiers[tier].kind)) : "no memory";
  }
};

constexpr double k_no_difference = 0.0005; // of the time

// "in DRAM", or "25 % of it in HBM, 75 % in DRAM".
std::string where_text(const Explained& of) {
  std::string text;
  for (std::size_t tier = 0; tier < of.tiers.size(); ++tier) {
    const double part = of.decision.parts[tier];
    if (part > 0.9995) return "in " + of.kind(tier);
    if (part > 0)
      text += (text.empty() ? "" : ", ") + format_percent(part, 0) + " in " + of.kind(tier);
  }
  return text.empty() ? "nowhere: no memory has room for it" : text;
}

std::string signed_percent(double part) {
  return (part < 0 ? "- " : "+ ") + format_percent(std::abs(part));
}

// Of a price: not without samples, nor where these are all there is (exact counts).
bool has_interval(const Explained& of, const InTier& in) {
  return of.is_seen() && in.price.high > in.price.low;
}

std::string price_text(const Explained& of, std::size_t tier) {
  const InTier& in = of.decision.in_tier[tier];
  if (of.decision.parts[tier] > k_all_of_it) return "as advised";
  if (!in.has_room) return "no room: it has " + format_size(of.tiers[tier].capacity);
  if (std::abs(in.price.value) < k_no_difference * of.time()) return "the same";
  const std::string value = signed_percent(in.price.value / of.time());
  if (!has_interval(of, in)) return value;
  return value + " (" + signed_percent(in.price.low / of.time()) + " to " +
         signed_percent(in.price.high / of.time()) + ")";
}

std::string prices_text(const Explained& of) {
  const bool any = std::ranges::any_of(of.decision.in_tier,
                                       [&](const InTier& in) { return has_interval(of, in); });
  std::string text = "Time of the program with all of it in one kind, the others placed anew "
                     "around it" +
                     std::string(any ? " (95 % by the samples):\n" : ":\n");
  for (std::size_t tier = 0; tier < of.tiers.size(); ++tier)
    text += "  " + fitted(of.kind(tier), 8) + price_text(of, tier) +
            (of.decision.runner_up == tier ? "   next best" : "") + "\n";
  return text;
}

// People expect a faster memory that has room to be filled first. "" if it has none, or if what is
// scattered may be for the sake of latency.
std::string both_text(const Explained& of) {
  const Advice& advice = of.decision.advice;
  std::vector<std::uint64_t> used(of.tiers.size());
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site)
    if (const std::size_t tier = advice.placement.tier_of_site[site]; tier < used.size())
      used[tier] += advice.workload.sites[site].peak_bytes();
  for (std::size_t tier = 1; tier < of.tiers.size(); ++tier) {
    const double part = of.decision.parts[tier];
    const bool is_divided = part < k_all_of_it;
    if (part < 1 - k_all_of_it || (!is_divided && streamed_part(of.demand().demand) < 0.5) ||
        static_cast<double>(used[tier - 1]) + part * static_cast<double>(of.bytes) >
            static_cast<double>(of.tiers[tier - 1].capacity))
      continue;
    return of.kind(tier - 1) + " has room for it, but this way " + of.kind(tier - 1) + " and " +
           of.kind(tier) + " transfer at the same time, which is faster than either alone.\n";
  }
  return {};
}

std::string room_wanted_text(const Explained& of, const OtherCapacity& other) {
  const std::uint64_t now = of.tiers[other.tier].capacity;
  const std::string kind = of.kind(other.tier);
  const std::string text = "It would lie in " + of.kind(other.goes_to) + " if there were ";
  if (other.goes_to != other.tier) return text + "more " + kind + ".\n";
  return text +
         "room: " + (of.bytes > now ? "it is larger than the " : "others save more time for the ") +
         format_size(now) + " of " + kind + ".\n";
}

std::string reason_text(const Explained& of) {
  const Decision& decision = of.decision;
  if (decision.home >= of.tiers.size()) return "No kind of memory has room for it.\n";
  for (const OtherCapacity& other : decision.capacities)
    if (other.capacity > of.tiers[other.tier].capacity) return room_wanted_text(of, other);
  const auto is_no_loss = [&](std::size_t tier) {
    return tier != decision.home && decision.in_tier[tier].has_room &&
           decision.in_tier[tier].price.value < k_no_difference * of.time();
  };
  for (std::size_t tier = 0; tier < of.tiers.size(); ++tier)
    if (is_no_loss(tier)) return "It would do as well in " + of.kind(tier) + ".\n";
  if (const std::string both = both_text(of); !both.empty()) return both;
  return "The program is faster with it there than with it anywhere else.\n";
}

std::string capacity_text(const Explained& of, const OtherCapacity& other) {
  const bool more = other.capacity > of.tiers[other.tier].capacity;
  return "  with " + format_size(other.capacity) + " of " + of.kind(other.tier) +
         (more ? " or somewhat more" : " or somewhat less") + " (now " +
         format_size(of.tiers[other.tier].capacity) + "), most of it goes to " +
         of.kind(other.goes_to) + "; with " + format_size(other.other_side) + " not\n";
}

std::string flips_text(const Explained& of) {
  const Decision& decision = of.decision;
  std::string text;
  for (const OtherCapacity& other : decision.capacities)
    text += capacity_text(of, other);
  for (const std::size_t tier : decision.never)
    text +=
        "  more " + of.kind(tier) + " does not: most of it stays even with room for everything\n";
  char factor[32];
  if (decision.importance && of.is_seen()) {
    std::snprintf(factor, sizeof factor, "%.2g", decision.importance->factor);
    text += "  with " + std::string(factor) + " times its accesses, most of it goes to " +
            of.kind(decision.importance->goes_to) + "\n";
  } else if (of.is_seen()) {
    text += "  its accesses do not: from a 64th of them to 64 times as many, it stays\n";
  }
  return "What would change this (each was tried):\n" + text;
}

std::string plan_text(const Explained& of) {
  const Range gain = speed_up_from_samples(of.decision.advice);
  char value[32], interval[64] = "";
  std::snprintf(value, sizeof value, "%.2f times", gain.value);
  if (gain.high > gain.low)
    std::snprintf(interval, sizeof interval, " (%.2f to %.2f by the samples)", gain.low, gain.high);
  return "The whole plan: under the model, " +
         faster_than_slowest(of.decision.advice, std::string(value) + interval) + ".\n";
}

std::string explanation(const Explained& of) {
  return of.name + ": " + format_size(of.bytes) + ", " + where_text(of) + "\n\nSeen: " + of.seen +
         " (" + with_separators(of.samples) + (of.samples == 1 ? " sample" : " samples") + ")\n" +
         reason_text(of) + "\n" + prices_text(of) + "\n" + flips_text(of) + "\n" + plan_text(of);
}

using Json = nlohmann::ordered_json;

// Without samples, null for an interval.
Json json_of(const Range& range, double unit, bool has_interval) {
  const auto end = [&](double value) { return has_interval ? Json(value / unit) : Json(nullptr); };
  return {{"value", range.value / unit}, {"low", end(range.low)}, {"high", end(range.high)}};
}

std::string explanation_json(const Explained& of) {
  const Decision& decision = of.decision;
  const auto kind = [&](std::size_t tier) {
    return tier < of.tiers.size() ? Json(name_of(of.tiers[tier].kind)) : Json(nullptr);
  };
  Json kinds = Json::array(), capacities = Json::array(), never = Json::array();
  for (std::size_t tier = 0; tier < of.tiers.size(); ++tier)
    kinds.push_back({{"kind", kind(tier)},
                     {"capacity", of.tiers[tier].capacity},
                     {"part", decision.parts[tier]},
                     {"has_room", decision.in_tier[tier].has_room},
                     {"price", decision.in_tier[tier].has_room
                                   ? json_of(decision.in_tier[tier].price, of.time(), of.is_seen())
                                   : Json(nullptr)}});
  for (const OtherCapacity& other : decision.capacities)
    capacities.push_back({{"kind", kind(other.tier)},
                          {"capacity", other.capacity},
                          {"option", std::string(name_of(of.tiers[other.tier].kind)) + ":" +
                                         size_option(other.capacity)},
                          {"goes_to", kind(other.goes_to)},
                          {"stays_with", other.other_side}});
  for (const std::size_t tier : decision.never)
    never.push_back(kind(tier));
  const Range gain = speed_up_from_samples(decision.advice);
  Json importance; // null: none changes it
  if (decision.importance && of.is_seen())
    importance = {{"factor", decision.importance->factor},
                  {"goes_to", kind(decision.importance->goes_to)}};
  const Json all = {{"version", 1},
                    {"label", of.name},
                    {"bytes", of.bytes},
                    {"samples", of.samples},
                    {"seen", of.seen},
                    {"cached", of.demand().cached},
                    {"kind", kind(decision.home)},
                    {"next_best", decision.runner_up ? kind(*decision.runner_up) : Json(nullptr)},
                    {"kinds", std::move(kinds)},
                    {"other_capacities", std::move(capacities)},
                    {"no_capacity_of", std::move(never)},
                    {"other_importance", std::move(importance)},
                    {"gain", json_of(gain, 1, gain.high > gain.low)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The site's number in the summary (the runtime's own memory is none to ask about), or why it
// cannot be explained.
Parsed<std::size_t> wanted_site(const ExplainArguments& arguments, const Workload& whole,
                                const ProfileSummary& summary) {
  using Outcome = Parsed<std::size_t>;
  std::vector<std::string> labels;
  std::vector<const SiteDemand*> demands;
  for (const SiteDemand& demand : whole.sites)
    if (summary.sites[demand.site].kind != SiteKind::runtime) {
      labels.push_back(demand.label);
      demands.push_back(&demand);
    }
  const auto at = site_named(labels, arguments.site);
  if (!at) return Outcome::failure(at.error());
  const SiteDemand& demand = *demands[*at];
  if (!demand.placeable || !demand.by_plan)
    return Outcome::failure("'" + demand.label +
                            "' stays where the program has it: no plan reaches it, so there is no "
                            "decision to explain");
  if (demand.kept)
    return Outcome::failure("--keep says where '" + demand.label +
                            "' lies; leave that out to have it decided");
  return demand.site;
}

int explain_command(const ExplainArguments& arguments) {
  if (is_profile(arguments.site))
    return fail("explain", 2,
                in_quotes(arguments.site) +
                    " is a profile; the name comes first: omptier explain NAME PROFILE");
  Symbols symbols;
  const auto input = read_advice_input(arguments, symbols);
  if (!input) return fail("explain", 2, input.error());
  const auto whole = whole_workload_for(arguments, *input);
  if (!whole) return fail("explain", 2, whole.error());
  if (const std::string why = nothing_to_decide(*whole, arguments, *input); !why.empty())
    return fail("explain", 2, why);
  const auto site = wanted_site(arguments, *whole, input->summary);
  if (!site) return fail("explain", 2, site.error());
  const Decision decision = decide_about(*workload_for(arguments, *input), input->tiers, *site);
  if (const std::string why =
          kept_without_room(decision.advice.workload, decision.advice.placement, input->tiers);
      !why.empty())
    return fail("explain", 2, "--keep: " + why);
  print_limits("explain", arguments, *input, *whole);
  const auto at = static_cast<std::size_t>(
      std::ranges::find(whole->sites, *site, &SiteDemand::site) - whole->sites.begin());
  const Explained of{decision,
                     input->tiers,
                     whole->sites[at].label,
                     seen_text(*whole, at, all_peaks(*whole)),
                     whole->sites[at].peak_bytes(),
                     input->summary.sites[*site].samples};
  return write_file("explain", "-", arguments.json ? explanation_json(of) : explanation(of));
}

} // namespace

void add_explain(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "explain", "Say why one allocation is placed where it is, and what would change that");
  auto arguments = std::make_shared<ExplainArguments>();
  command
      ->add_option("site", arguments->site,
                   "Its name, or a part of it, as omptier advise and report show it: grid, "
                   "solver.c:120")
      ->required();
  add_advice_options(*command, *arguments,
                     "Bytes that may be used of each kind, such as dram:64M,hbm:0");
  command->add_flag("--json", arguments->json, "The explanation as JSON instead of text");
  command->callback([&context, arguments] { context.status = explain_command(*arguments); });
}

} // namespace omptier
