// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See online_look.hpp. A look is a process of its own and may be killed at any time: files are
// written anew and renamed.
#include "cli/online_look.hpp"

#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/live_ranges.hpp"
#include "base/kernel_files.hpp"
#include "base/options.hpp"
#include "base/os.hpp"
#include "cli/held_names.hpp"
#include "model/cost.hpp"
#include "placement/job.hpp"
#include "placement/pages.hpp"
#include "platform/choice.hpp"
#include "symbols/symbols.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace omptier {
namespace {

using nlohmann::json;

constexpr std::uint64_t k_least_samples = 100;
constexpr double k_worth = 2;           // expected savings over the moves' time
constexpr double k_most_moving = 0.01;  // of the run, for repeats
constexpr double k_least_seconds = 0.5; // of parallel regions, to compare their pace
constexpr std::uint64_t k_least_entries = 3;

struct Pace { // of a region, since the start
  std::uint64_t entries = 0, nanoseconds = 0;
};
using Paces = std::map<std::string, Pace>; // by the region's frames

struct Moved {
  std::uint64_t address = 0, bytes = 0;
  MemoryKind from = MemoryKind::unknown;
};

struct Memory : OnlineState { // what a look leaves to the next
  Paces at_change_before,
      at_change;              // totals at the last change but one, or at the start; at the last
  std::vector<Moved> changed; // by it
};

template <typename T> void read(const json& from, const char* name, T& to) {
  to = from.value(name, to);
}

Paces paces_from(const json& from) {
  Paces paces;
  for (const auto& [frames, pace] : from.items())
    paces[frames] = {pace[0], pace[1]};
  return paces;
}

json paces_to(const Paces& paces) {
  json to = json::object();
  for (const auto& [frames, pace] : paces)
    to[frames] = {pace.entries, pace.nanoseconds};
  return to;
}

std::optional<Memory> read_memory(const std::string& file) {
  std::ifstream in(file);
  const json from = json::parse(in, nullptr, false);
  if (!from.is_object() || !from.contains("changed")) return {};
  Memory memory;
  read(from, "moved_into", memory.moved_into);
  read(from, "seconds", memory.seconds);
  read(from, "looks", memory.looks);
  read(from, "changes", memory.changes);
  read(from, "expected", memory.expected);
  read(from, "pace", memory.pace);
  read(from, "undone", memory.undone);
  read(from, "refused", memory.refused);
  memory.at_change_before = paces_from(from.at("at_change_before"));
  memory.at_change = paces_from(from.at("at_change"));
  for (const json& one : from.at("changed"))
    memory.changed.push_back({one[0], one[1], static_cast<MemoryKind>(one[2].get<int>())});
  return memory;
}

void write_anew(const std::string& file, const std::string& text) {
  const std::string fresh = file + ".new";
  std::ofstream(fresh) << text;
  std::rename(fresh.c_str(), file.c_str());
}

void write_memory(const std::string& file, const Memory& memory) {
  json to = {
      {"moved_into", memory.moved_into}, {"seconds", memory.seconds},   {"looks", memory.looks},
      {"changes", memory.changes},       {"expected", memory.expected}, {"pace", memory.pace},
      {"undone", memory.undone},         {"refused", memory.refused},   {"changed", json::array()}};
  to["at_change_before"] = paces_to(memory.at_change_before);
  to["at_change"] = paces_to(memory.at_change);
  for (const Moved& one : memory.changed)
    to["changed"].push_back({one.address, one.bytes, static_cast<int>(one.from)});
  write_anew(file, to.dump());
}

Paces paces_of(const ProfileSummary& summary) {
  Paces paces;
  for (const RegionSummary& region : summary.regions) {
    if (region.frames.empty()) continue;
    std::string name;
    for (const Frame& frame : region.frames)
      name += std::to_string(frame.module) + ":" + std::to_string(frame.offset) + " ";
    paces[name] = {region.entries, region.nanoseconds};
  }
  return paces;
}

Pace since(const Paces& then, const std::string& region, const Pace& now) {
  const auto at = then.find(region);
  if (at == then.end()) return now;
  return {now.entries - std::min(at->second.entries, now.entries),
          now.nanoseconds - std::min(at->second.nanoseconds, now.nanoseconds)};
}

// Time of the regions' visits since the last change, over what as many took before; 0: not known.
double pace_since_change(const Memory& memory, const Paces& now) {
  double took = 0, would_take = 0;
  for (const auto& [region, total] : memory.at_change) {
    const auto at = now.find(region);
    if (at == now.end()) continue;
    const Pace before = since(memory.at_change_before, region, total);
    const Pace after = since(memory.at_change, region, at->second);
    if (std::min(before.entries, after.entries) < k_least_entries) continue;
    took += double(after.nanoseconds);
    would_take += double(after.entries) * double(before.nanoseconds) / double(before.entries);
  }
  return std::min(took, would_take) >= k_least_seconds * 1e9 ? took / would_take : 0;
}

class Look {
public:
  Look(const OnlineFiles& files, Memory memory, const Platform& platform, int process)
      : files_(files), memory_(std::move(memory)), platform_(platform), process_(process) {}

  void decide(const ProfileSummary& summary, Symbols& symbols, const CapacityByKind& limits) {
    ++memory_.looks;
    if (memory_.changes > 0) check_pace(summary);
    if (!memory_.undone && !memory_.refused) advise_and_move(summary, symbols, limits);
    write_memory(files_.state(), memory_);
  }

private:
  void check_pace(const ProfileSummary& summary) {
    const double pace = pace_since_change(memory_, paces_of(summary));
    if (pace > 0) memory_.pace = pace;
    if (pace <= k_slower || memory_.undone) return;
    for (const Moved& one : memory_.changed)
      move(one.address, one.bytes, one.from);
    memory_.undone = true;
    std::remove(files_.plan().c_str());
  }

  NodeSet nodes_of(MemoryKind kind) const {
    NodeSet nodes;
    for (const Node& node : platform_.nodes)
      if (node.kind == kind) nodes.add(node.number);
    return nodes;
  }

  // The kind that has most of the pages, and the bytes that another one has.
  struct Where {
    MemoryKind kind = MemoryKind::unknown;
    std::uint64_t present = 0;
    PageCensus census;
  };
  const Where& where_is(const LiveRange& range) {
    const auto [at, is_new] = known_.try_emplace({range.address, range.bytes});
    Where& where = at->second;
    if (!is_new) return where;
    count_pages(range.address, range.bytes, where.census, process_);
    where.present = where.census.present();
    std::uint64_t most = 0;
    for (const MemoryKind kind : k_all_memory_kinds)
      if (const std::uint64_t bytes = where.census.on(nodes_of(kind)); bytes > most) {
        most = bytes;
        where.kind = kind;
      }
    return where;
  }

  std::uint64_t free_bytes(MemoryKind kind) const {
    std::uint64_t bytes = 0;
    for (const Node& node : platform_.nodes) {
      NodeMemory memory;
      if (node.kind != kind || !read_node_memory(node.number, memory)) continue;
      const std::uint64_t room = memory.free + memory.file_cache;
      bytes += room - std::min(room, reserve_of(memory.total, k_usual_reserve));
    }
    return bytes;
  }

  // Of each kind, no more than the process has there already and is free.
  std::vector<TierChoice> tiers_now(const CapacityByKind& limits, const Workload& workload,
                                    const ProfileSummary& summary) {
    std::vector<TierChoice> tiers = usable_tiers(platform_, limits);
    std::map<MemoryKind, std::uint64_t> held;
    for (const LiveRange& range : live_ranges(workload, summary)) {
      const PageCensus& census = where_is(range).census;
      for (const TierChoice& tier : tiers)
        held[tier.kind] += census.on(nodes_of(tier.kind));
    }
    for (TierChoice& tier : tiers)
      tier.capacity = std::min(tier.capacity, held[tier.kind] + free_bytes(tier.kind));
    return tiers;
  }

  // As the plan of an earlier look says, else as the kernel has placed it.
  EarlierPlacement earlier(const Workload& workload, const ProfileSummary& summary,
                           const std::vector<TierChoice>& tiers) {
    if (memory_.changes > 0)
      if (const auto plan = read_plan(files_.plan()))
        return placed_by(*plan, workload, summary, tiers);
    EarlierPlacement placed{workload, {}};
    placed.tier_of_site.resize(workload.sites.size());
    std::vector<std::map<MemoryKind, std::uint64_t>> bytes(workload.sites.size());
    for (const LiveRange& range : live_ranges(workload, summary)) {
      const Where& where = where_is(range);
      bytes[range.site][where.kind] += where.present;
    }
    for (std::size_t site = 0; site < bytes.size(); ++site) {
      std::uint64_t most = 0;
      for (std::size_t tier = 0; tier < tiers.size(); ++tier)
        if (const std::uint64_t here = bytes[site][tiers[tier].kind]; here > most) {
          most = here;
          placed.tier_of_site[site] = tier;
        }
    }
    return placed;
  }

  // omp_alloc's blocks are where the source wants them: they keep their room.
  static void keep_what_source_places(Workload& workload, const ProfileSummary& summary,
                                      const EarlierPlacement& now) {
    for (std::size_t site = 0; site < workload.sites.size(); ++site) {
      const SiteSummary& from = summary.sites[workload.sites[site].site];
      if (from.kind == SiteKind::allocation && !from.by_malloc)
        workload.sites[site].kept = now.tier_of_site[site];
    }
  }

  struct Wanted {
    LiveRange range;
    std::size_t tier = 0;
    Where where;
  };
  std::vector<Wanted> elsewhere(const Advice& advice, const ProfileSummary& summary) {
    std::vector<Wanted> list;
    for (const LiveRange& range : live_ranges(advice.workload, summary)) {
      const std::size_t tier = advice.placement.tier_of_site[range.site];
      if (tier == Placement::k_nowhere || advice.workload.sites[range.site].kept) continue;
      const Where& where = where_is(range);
      if (where.present > where.census.on(nodes_of(advice.tiers[tier].kind)))
        list.push_back({range, tier, where});
    }
    // Room is made first.
    std::ranges::stable_sort(list, std::greater{}, &Wanted::tier);
    return list;
  }

  double moving_time(const Advice& advice, const std::vector<Wanted>& list) const {
    double nanoseconds = 0;
    const std::vector<Figures> figures = figures_of(advice.tiers);
    for (const Wanted& one : list) {
      const auto from = std::ranges::find(advice.tiers, one.where.kind, &TierChoice::kind);
      const std::uint64_t bytes =
          one.where.present - one.where.census.on(nodes_of(advice.tiers[one.tier].kind));
      if (from != advice.tiers.end())
        nanoseconds += move_time(bytes, from->figures, figures[one.tier]);
    }
    return nanoseconds;
  }

  void move(std::uint64_t address, std::uint64_t bytes, MemoryKind kind) {
    const std::uint64_t begin = monotonic_nanoseconds();
    const MoveOutcome outcome = move_to_nodes(address, bytes, nodes_of(kind), k_no_node, process_);
    memory_.seconds += double(monotonic_nanoseconds() - begin) / 1e9;
    memory_.refused = memory_.refused || outcome.refused;
    if (kind != MemoryKind::unknown)
      memory_.moved_into[static_cast<std::size_t>(kind)] += outcome.moved;
  }

  void advise_and_move(const ProfileSummary& summary, Symbols& symbols,
                       const CapacityByKind& limits) {
    EvidenceNames names;
    for (const SiteSummary& site : summary.sites)
      names.sites.push_back(site.symbol);
    names.regions.resize(summary.regions.size());
    Workload workload = workload_from(summary, names, reference_figures(platform_.tiers));
    for (SiteDemand& site : workload.sites)
      site.by_region.clear(); // regions' begins cannot be waited for
    const std::vector<TierChoice> tiers = tiers_now(limits, workload, summary);
    if (tiers.size() < 2) return;
    const EarlierPlacement now = earlier(workload, summary, tiers);
    keep_what_source_places(workload, summary, now);
    const Advice advice = omptier::advise(workload, tiers, &now);
    const std::vector<Wanted> list = elsewhere(advice, summary);
    if (list.empty()) return;
    const double cost = moving_time(advice, list), run = double(summary.nanoseconds);
    const bool changes = !advice.change || !advice.change->is_none;
    const double saves = advice.change ? advice.change->saves : 0;
    if (changes ? saves * run < k_worth * cost : memory_.seconds * 1e9 + cost > k_most_moving * run)
      return;
    if (changes) {
      memory_.at_change_before = std::exchange(memory_.at_change, paces_of(summary));
      memory_.changed.clear();
      memory_.expected = saves;
      memory_.pace = 0;
      ++memory_.changes;
      write_anew(files_.plan(), write_plan(plan_from(advice, summary, [&](const Frame& frame) {
                   return symbols.resolve(summary.modules[frame.module], frame.offset).portable;
                 })));
    }
    for (const Wanted& one : list) {
      if (changes) memory_.changed.push_back({one.range.address, one.range.bytes, one.where.kind});
      if (!memory_.refused) move(one.range.address, one.range.bytes, tiers[one.tier].kind);
    }
  }

  const OnlineFiles& files_;
  Memory memory_;
  const Platform& platform_;
  int process_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Where> known_; // by address and bytes
};

} // namespace

void look_at(const OnlineFiles& files, const CapacityByKind& limits) {
  Symbols symbols;
  const auto summary = summarize_with_names(symbols, {files.profile}, Programs::one, false);
  if (!summary || summary->running == 0 || summary->samples < k_least_samples) return;
  DiscoverOptions options;
  if (const auto forced = parse_nodes(option_text(Option::nodes))) options.forced = *forced;
  const auto platform = discover_platform(options);
  if (!platform) return;
  const auto process = static_cast<int>(summary->runs[0].process);
  Look(files, read_memory(files.state()).value_or(Memory{}), *platform, process)
      .decide(*summary, symbols, limits);
}

std::optional<OnlineState> read_state(const OnlineFiles& files) {
  return read_memory(files.state());
}

} // namespace omptier
