// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See advice_text.hpp.
#include "cli/advice_text.hpp"

#include "advisor/explain.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;

// Least part of the samples or of all bytes for which memory that stays is listed.
constexpr double k_least_share = 0.005, k_least_bytes = 0.01;
constexpr double k_least_above = 0.0005; // of the time: less is as good as nothing

bool stays(const SiteDemand& demand) {
  return !demand.placeable || !demand.by_plan;
}

std::vector<std::size_t> sites_by_tier(const Advice& advice) {
  std::vector<std::size_t> order(advice.workload.sites.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t site) { return advice.placement.tier_of_site[site]; });
  return order;
}

std::string advice_row(std::string memory, std::string bytes, const std::string& name,
                const std::string& reason) {
  memory.resize(std::max<std::size_t>(memory.size(), 7), ' ');
  if (bytes.size() < 10) bytes.insert(0, 10 - bytes.size(), ' ');
  return "  " + memory + " " + bytes + "  " + name + "\n          " + reason + "\n";
}

std::uint64_t bytes_of(const SiteDemand& demand) {
  return demand.placeable ? demand.peak_bytes() : demand.bytes;
}

std::uint64_t all_bytes(const Workload& workload) {
  std::uint64_t bytes = workload.small_objects.bytes + workload.elsewhere.bytes;
  for (const SiteDemand& demand : workload.sites)
    bytes += bytes_of(demand);
  return bytes;
}

bool is_worth_a_line(const NoSite& memory, const Workload& workload) {
  return memory.share >= k_least_share ||
         double(memory.bytes) > k_least_bytes * double(all_bytes(workload));
}

std::string row_that_stays(const Workload& workload, const std::string& name, const NoSite& memory,
                           const char* why) {
  if (!is_worth_a_line(memory, workload)) return "";
  return advice_row("stays", memory.bytes > 0 ? format_size(memory.bytes) : "-", name,
                    format_percent(memory.share) + " of the samples; no plan reaches " + why);
}

// Memory that stays is summed up, to show that the list is not the whole.
NoSite sum_of_what_stays(const Workload& workload) {
  NoSite sum{workload.small_objects.share + workload.elsewhere.share,
             workload.small_objects.bytes + workload.elsewhere.bytes};
  for (const SiteDemand& demand : workload.sites)
    if (stays(demand)) {
      sum.share += demand.share;
      sum.bytes += bytes_of(demand);
    }
  sum.share = std::min(sum.share, 1.0);
  return sum;
}

std::string what_stays_text(const Workload& workload) {
  std::string text =
      row_that_stays(workload, "small objects", workload.small_objects, "blocks below 4 KiB") +
      row_that_stays(workload, "everything else", workload.elsewhere,
                     "what lies in no recorded object");
  const NoSite sum = sum_of_what_stays(workload);
  if (is_worth_a_line(sum, workload))
    text += "\nNo plan reaches " + format_percent(sum.share) + " of the samples, on " +
            format_size(sum.bytes) +
            " as far as known: this memory stays where the program has it, beside what the plan "
            "places there.\n";
  return text;
}

Json placement_json(const Advice& advice, std::size_t site, std::uint64_t peaks,
                    const std::string& alternative) {
  const SiteDemand& demand = advice.workload.sites[site];
  const std::size_t tier = advice.placement.tier_of_site[site];
  const bool placed = !stays(demand) && tier != Placement::k_nowhere;
  return {{"label", demand.label},
          {"kind", placed ? Json(name_of(advice.tiers[tier].kind)) : Json(nullptr)},
          {"or_kind", placed && other_tier(advice, site)
                          ? Json(name_of(advice.tiers[*other_tier(advice, site)].kind))
                          : Json(nullptr)},
          {"bytes", bytes_of(demand)},
          {"bytes_growing", demand.blocks.empty() ? demand.growing : 0},
          {"share", demand.share},
          {"low", demand.share_low},
          {"high", demand.share_high},
          {"by_plan", !stays(demand)},
          {"reason", stays(demand) ? "no plan reaches it" : reason_in(advice, site, tier, peaks)},
          {"alternative", alternative.empty() ? Json(nullptr) : Json(alternative)}};
}

// What tune taught the model (--tuned).
Json learned_json(const Learned& learned, std::span<const std::string> labels) {
  Json accesses = Json::array();
  for (const auto& [site, factor] : learned.accesses)
    accesses.push_back({{"label", labels[site]}, {"factor", factor}});
  return {{"placements", learned.placements},
          {"runs", learned.runs},
          {"error_before", learned.error_before},
          {"error_after", learned.error_after},
          {"accesses", std::move(accesses)},
          {"other_accesses", learned.others},
          {"work", learned.work}};
}

std::string bound_text(const Advice& advice) {
  if (advice.tiers.size() < 2 || !(advice.time > 0)) return {};
  const Gain gain = gain_of(advice);
  const bool tells_time = advice.workload.measure == Measure::time;
  char times[64];
  if (tells_time)
    std::snprintf(times, sizeof times, "%.2f times (usually %.1f to %.1f)", gain.value, gain.low,
                  gain.high);
  else
    std::snprintf(times, sizeof times, "%.2f times", gain.value);
  const double above = std::max(0.0, 1 - advice.least_time / advice.time);
  return "\nUnder the model, " + faster_than_slowest(advice, times) +
         (above < k_least_above
              ? ", and no placement is faster"
              : ", and no placement can be more than " + format_percent(above) + " faster") +
         ".\n";
}

std::string change_text(const Advice& advice) {
  if (!advice.change) return {};
  const auto& [is_none, saves] = *advice.change;
  if (!is_none)
    return "\nThis advice saves " + format_percent(saves) + " of the time with the earlier plan.\n";
  return saves > k_least_above
             ? "\nThe earlier plan is kept: the best other placement saves only " +
                   format_percent(saves) + " of the time.\n"
             : "\nThe earlier plan is kept: nothing faster was found.\n";
}

// People expect a faster memory that has room to be filled first.
std::string room_left_text(const Advice& advice) {
  const auto& tier_of_site = advice.placement.tier_of_site;
  std::vector<std::uint64_t> used(advice.tiers.size());
  for (std::size_t site = 0; site < tier_of_site.size(); ++site)
    if (tier_of_site[site] != Placement::k_nowhere)
      used[tier_of_site[site]] += advice.workload.sites[site].peak_bytes();
  for (std::size_t site = 0; site < tier_of_site.size(); ++site) {
    const SiteDemand& demand = advice.workload.sites[site];
    const std::size_t tier = tier_of_site[site];
    if (tier == Placement::k_nowhere || tier == 0 || demand.ranges.empty()) continue;
    const TierChoice& faster = advice.tiers[tier - 1];
    if (used[tier - 1] + demand.peak_bytes() > faster.capacity) continue;
    return "\nPart of " + demand.label + " is placed in " +
           std::string(title_of(advice.tiers[tier].kind)) + " though " +
           std::string(title_of(faster.kind)) +
           " has room: both memories transfer at the same time, which is faster than either.\n";
  }
  return {};
}

} // namespace

std::string kinds_in_words(const std::vector<TierChoice>& tiers) {
  std::string text;
  for (const TierChoice& tier : tiers)
    text += (text.empty() ? "" : ", ") + std::string(title_of(tier.kind)) + " " +
            format_size(tier.capacity) + (tier.estimated ? " (speed estimated)" : "");
  return text;
}

std::string format_threads(const Threads& threads) {
  const auto most = static_cast<unsigned>(threads.most());
  return std::to_string(most) + (most == 1 ? " thread" : " threads");
}

std::string everything_in_slowest(const Advice& advice) {
  const std::string kind(title_of(advice.tiers.back().kind));
  return "everything in " + kind +
         (slowest_has_room(advice) ? "" : " (if " + kind + " could hold it)");
}

std::string faster_than_slowest(const Advice& advice, const std::string& times) {
  const bool tells_time = advice.workload.measure == Measure::time;
  return "the program " +
         (tells_time ? "is " + times + " as fast as"
                     : "waits for memory " + times + " shorter than") +
         " with " + everything_in_slowest(advice);
}

std::string placement_text(const Advice& advice, std::span<const std::string> alternatives) {
  const std::uint64_t peaks = all_peaks(advice.workload);
  std::string text = "Memory to place in: " + kinds_in_words(advice.tiers) + "\n\n";
  for (const std::size_t site : sites_by_tier(advice)) {
    const SiteDemand& demand = advice.workload.sites[site];
    if (stays(demand)) {
      text += row_that_stays(advice.workload, demand.label, {demand.share, bytes_of(demand)},
                             demand.placeable ? "it (below 64 KiB)" : "it");
      continue;
    }
    const std::size_t tier = advice.placement.tier_of_site[site];
    const bool nowhere = tier == Placement::k_nowhere;
    text += advice_row(nowhere ? "nowhere" : std::string(title_of(advice.tiers[tier].kind)),
                       format_size(demand.peak_bytes()), demand.label,
                       reason_in(advice, site, tier, peaks));
    if (!alternatives.empty() && !alternatives[site].empty())
      text += "          " + alternatives[site] + "\n";
  }
  return text + what_stays_text(advice.workload) + room_left_text(advice) + bound_text(advice) +
         change_text(advice);
}

std::string region_moves_text(const Advice& advice) {
  std::string text;
  bool at_barriers = false;
  for (const RegionMove& move : advice.moves) {
    std::string kind(title_of(advice.tiers[move.tier].kind));
    kind.resize(std::max<std::size_t>(kind.size(), 7), ' ');
    const WorkloadRegion& region = advice.workload.regions[move.region];
    at_barriers = at_barriers || !region.is_whole();
    text += "  " + kind + " " + advice.workload.sites[move.site].label + " " +
            (region.is_whole() ? "when " + region.label + " begins" : region.label) + ": saves " +
            format_duration(move.saved / advice.workload.threads.most()) + ", moving costs " +
            format_duration(move.spent) + "\n";
  }
  if (text.empty()) return text;
  return std::string("\nMoved when a region begins") + (at_barriers ? ", or at its barriers" : "") +
         ":\n" + text;
}

std::string strategies_text(const Advice& advice, std::span<const StrategyTime> times) {
  if (times.empty()) return {};
  const auto line = [&](std::string_view name, double time, std::string_view rule) {
    char text[200];
    const double ours = advice.time_with_moves(), ratio = ours > 0 ? time / ours : 1;
    std::snprintf(text, sizeof text, "  %-11.*s %6.2f  %.*s\n", static_cast<int>(name.size()),
                  name.data(), ratio, static_cast<int>(rule.size()), rule.data());
    return std::string(text);
  };
  std::string text = "\nTime under the model, in units of this advice's:\n\n" +
                     line("omptier", advice.time_with_moves(), "this advice");
  for (const StrategyTime& of : times)
    text += line(of.name, of.time, of.rule);
  return text;
}

std::string advice_json(const Advice& advice, std::span<const StrategyTime> times,
                        const AdviceOrigin& origin, std::span<const std::string> alternatives) {
  const std::uint64_t peaks = all_peaks(advice.workload);
  Json tiers = Json::array(), sites = Json::array(), moves = Json::array();
  for (const TierChoice& tier : advice.tiers)
    tiers.push_back({{"kind", name_of(tier.kind)},
                     {"capacity", tier.capacity},
                     {"estimated", tier.estimated}});
  for (const std::size_t site : sites_by_tier(advice))
    sites.push_back(
        placement_json(advice, site, peaks, alternatives.empty() ? "" : alternatives[site]));
  for (const RegionMove& move : advice.moves)
    moves.push_back({{"label", advice.workload.sites[move.site].label},
                     {"region", advice.workload.regions[move.region].label},
                     {"kind", name_of(advice.tiers[move.tier].kind)},
                     {"saved", move.saved / advice.workload.threads.most()},
                     {"spent", move.spent}});
  const auto json_of = [](const NoSite& memory) {
    return Json{{"share", memory.share}, {"bytes", memory.bytes}};
  };
  const double threads = advice.workload.threads.most();
  const Gain gain = gain_of(advice);
  Json after; // null: no earlier plan
  if (advice.change)
    after = {{"kept", advice.change->is_none}, {"change_saves", advice.change->saves}};
  Json strategies = Json::array();
  for (const StrategyTime& of : times)
    strategies.push_back({{"name", of.name}, {"predicted_time", of.time / threads}});
  const Json all = {
      {"version", 1},
      {"measure", noun_of(advice.workload.measure)},
      {"threads", advice.workload.threads.most()},
      {"threads_as_recorded", origin.threads_as_recorded},
      {"tiers", std::move(tiers)},
      {"sites", std::move(sites)},
      {"no_plan_reaches", json_of(sum_of_what_stays(advice.workload))},
      {"small_objects", json_of(advice.workload.small_objects)},
      {"everything_else", json_of(advice.workload.elsewhere)},
      {"moves", std::move(moves)},
      {"gain", {{"value", gain.value}, {"low", gain.low}, {"high", gain.high}}},
      {"predicted_time", advice.time_with_moves() / threads},
      {"least_time", advice.least_time / threads},
      {"after", std::move(after)},
      {"learned", origin.learned ? learned_json(*origin.learned, origin.labels) : Json(nullptr)},
      {"strategies", std::move(strategies)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace omptier
