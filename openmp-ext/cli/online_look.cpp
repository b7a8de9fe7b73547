// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See online_look.hpp. Memory moves in windows, each to the node that is nearest to where it lies.
#include "cli/online_look.hpp"

#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/live_ranges.hpp"
#include "analysis/areas.hpp"
#include "analysis/latest.hpp"
#include "base/kernel_files.hpp"
#include "base/options.hpp"
#include "base/os.hpp"
#include "model/cost.hpp"
#include "placement/job.hpp"
#include "placement/node_orders.hpp"
#include "placement/pages.hpp"
#include "platform/choice.hpp"
#include "symbols/symbols.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

namespace omptier {
namespace {

constexpr std::uint64_t k_least_samples = 100;
constexpr double k_worth = 2;           // expected savings over the moves' time
constexpr double k_most_moving = 0.01;  // of the run, for repeats
constexpr double k_slower = 1.03;       // regions' time over their time before: moves are undone
constexpr unsigned k_looks_to_tell = 4; // then the next change may come, told or not
constexpr std::uint64_t k_window = std::uint64_t{32} << 20;

RegionPaces paces_of(const Profile& profile) {
  RegionPaces paces;
  const std::size_t regions =
      std::min(profile.region_definitions.size(), profile.region_totals.size());
  for (std::size_t number = 0; number < regions; ++number) {
    std::string name;
    for (const Frame& frame : profile.region_definitions[number].frames)
      name += std::to_string(frame.module) + ":" + std::to_string(frame.offset) + " ";
    RegionPace& pace = paces[name];
    pace.entries += profile.region_totals[number].entries;
    pace.nanoseconds += profile.region_totals[number].nanoseconds;
  }
  return paces;
}

// Pages of another process, by kind and node.
class Pages {
public:
  Pages(const Platform& platform, int process) : platform_(platform), process_(process) {}

  NodeSet nodes_of(MemoryKind kind) const {
    NodeSet nodes;
    for (const Node& node : platform_.nodes)
      if (node.kind == kind) nodes.add(node.number);
    return nodes;
  }
  // Where a range lies, once found.
  const PageCensus& census(std::uint64_t address, std::uint64_t bytes) {
    const auto [at, is_new] = known_.try_emplace({address, bytes});
    if (is_new && !count_pages(address, bytes, at->second, process_)) note_refusal();
    return at->second;
  }
  std::uint64_t in(MemoryKind kind, const PageCensus& census) const {
    return census.on(nodes_of(kind));
  }
  MemoryKind kind_of(const PageCensus& census) const {
    const Node* node = platform_.node(most_of(census));
    return node != nullptr ? node->kind : MemoryKind::unknown;
  }
  static unsigned most_of(const PageCensus& census) {
    return static_cast<unsigned>(std::ranges::max_element(census.node) - census.node.begin());
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
  // first: the node to try first; else each page's nearest.
  MoveOutcome move(std::uint64_t address, std::uint64_t bytes, NodeSet nodes,
                   unsigned first = k_no_node) {
    errno = 0;
    const MoveOutcome outcome = move_to_nodes(address, bytes, {nodes, &orders_, first, process_});
    if (outcome.refused) note_refusal();
    return outcome;
  }
  bool refused() const { return refused_; }

private:
  // A process that has ended is no refusal.
  void note_refusal() { refused_ = refused_ || errno == EPERM || errno == ENOSYS; }

  const Platform& platform_;
  const NodeOrders orders_ = node_orders_of(platform_);
  int process_;
  bool refused_ = false;
  std::map<std::pair<std::uint64_t, std::uint64_t>, PageCensus> known_;
};

class Look {
public:
  Look(const OnlineFiles& files, OnlineState state, const Platform& platform,
       const Profile& profile)
      : files_(files), state_(std::move(state)), platform_(platform),
        pages_(platform, static_cast<int>(profile.run.process)), paces_(paces_of(profile)) {
    if (state_.changes > 0) judge(paces_);
  }
  bool may_change() const { return !state_.undone && is_told(); }
  // summary: of the run's latest part. lasted: all of it, in nanoseconds.
  void change(const ProfileSummary& summary, double lasted, const CapacityByKind& limits) {
    const std::optional<Advice> advice = advice_for(summary, limits);
    if (!advice || !advice->change) return;
    const std::vector<Wanted> list = elsewhere(*advice, summary);
    const bool changes = !advice->change->is_none;
    const double cost = moving_time(*advice, list);
    if (option_flag(Option::verbose)) say_what_is_seen(summary, lasted, *advice, cost);
    if (list.empty()) return;
    const bool pays =
        changes ? advice->change->saves * lasted >= k_worth * cost
                : state_.changes > 0 && state_.seconds * 1e9 + cost <= k_most_moving * lasted;
    if (!pays) return;
    if (changes) begin_change(*advice, summary);
    move(list, *advice);
  }
  void end() {
    state_.refused = state_.refused || pages_.refused();
    write_state(files_, state_);
  }

private:
  // Whether the last change has paid, if that can still be told.
  bool is_told() const {
    return state_.changes == 0 || state_.pace > 0 || state_.looks_since > k_looks_to_tell;
  }

  // The first look behind a change only says where the comparison begins: the moves are over.
  void judge(const RegionPaces& now) {
    if (++state_.looks_since == 1) {
      state_.settled = now;
      return;
    }
    if (is_told()) return;
    state_.pace = pace_since_change(state_, now);
    if (state_.pace <= k_slower) return;
    state_.undone = true;
    std::remove(files_.plan().c_str());
    if (!write_state(files_, state_)) return;
    for (auto move = state_.moves.rbegin(); move != state_.moves.rend(); ++move) {
      NodeSet home;
      home.add(move->from);
      pages_.move(move->address, move->bytes, home, move->from);
    }
  }

  // What is not seen to lie anywhere, such as small blocks, stays and needs no room.
  static void leave_unseen(Workload& workload, const std::vector<LiveRange>& ranges) {
    std::vector<std::uint64_t> seen(workload.sites.size());
    for (const LiveRange& range : ranges)
      seen[range.site] += range.bytes;
    for (std::size_t site = 0; site < seen.size(); ++site)
      if (seen[site] < workload.sites[site].peak_bytes() / 2)
        workload.sites[site].placeable = false;
  }

  // By site.
  std::vector<PageCensus> where_sites_lie(const Workload& workload,
                                          const std::vector<LiveRange>& ranges) {
    std::vector<PageCensus> sums(workload.sites.size());
    for (const LiveRange& range : ranges) {
      if (!workload.sites[range.site].placeable) continue;
      const PageCensus& census = pages_.census(range.address, range.bytes);
      for (std::size_t node = 0; node < census.node.size(); ++node)
        sums[range.site].node[node] += census.node[node];
    }
    return sums;
  }

  // As the kernel has it: a site lies where most of it is.
  EarlierPlacement as_it_lies(const Workload& workload, const std::vector<PageCensus>& sites,
                              const std::vector<TierChoice>& tiers) const {
    EarlierPlacement placed{workload, {}};
    placed.tier_of_site.resize(workload.sites.size());
    for (std::size_t site = 0; site < sites.size(); ++site) {
      std::uint64_t most = 0;
      for (std::size_t tier = 0; tier < tiers.size(); ++tier)
        if (const std::uint64_t here = pages_.in(tiers[tier].kind, sites[site]); here > most) {
          most = here;
          placed.tier_of_site[site] = tier;
        }
    }
    return placed;
  }

  // Of each kind, no more than what is seen there and what is free.
  std::vector<TierChoice> tiers_now(const CapacityByKind& limits,
                                    const std::vector<PageCensus>& sites) const {
    std::vector<TierChoice> tiers = usable_tiers(platform_, limits);
    for (TierChoice& tier : tiers) {
      std::uint64_t room = pages_.free_bytes(tier.kind);
      for (const PageCensus& site : sites)
        room += pages_.in(tier.kind, site);
      tier.capacity = std::min(tier.capacity, room);
    }
    return tiers;
  }

  struct Wanted {
    LiveRange range;
    std::size_t tier = 0;
    std::uint64_t away = 0; // bytes
    MemoryKind from = MemoryKind::unknown;
  };
  // A huge page at a range's end belongs to a neighbour, too, and may have moved with it.
  std::vector<Wanted> elsewhere(const Advice& advice, const ProfileSummary& summary) {
    std::vector<Wanted> list;
    for (const LiveRange& range : live_ranges(advice.workload, summary)) {
      const std::size_t tier = advice.placement.tier_of_site[range.site];
      if (tier == Placement::k_nowhere || advice.workload.sites[range.site].kept) continue;
      const PageCensus& census = pages_.census(range.address, range.bytes);
      const std::uint64_t away = census.present() - pages_.in(advice.tiers[tier].kind, census);
      if (away > std::min<std::uint64_t>(2 * huge_page_size(), range.bytes / 2))
        list.push_back({range, tier, away, pages_.kind_of(census)});
    }
    std::ranges::stable_sort(list, std::greater{}, &Wanted::tier); // room is made first
    return list;
  }

  static double moving_time(const Advice& advice, const std::vector<Wanted>& list) {
    double nanoseconds = 0;
    for (const Wanted& one : list)
      if (const auto from = std::ranges::find(advice.tiers, one.from, &TierChoice::kind);
          from != advice.tiers.end())
        nanoseconds += move_time(one.away, from->figures, advice.tiers[one.tier].figures);
    return nanoseconds;
  }

  // What cannot be undone, since the state cannot be written, is not done.
  void move(const std::vector<Wanted>& list, const Advice& advice) {
    const std::size_t begin = state_.moves.size();
    std::vector<MemoryKind> to;
    for (const Wanted& one : list)
      for (std::uint64_t at = one.range.address, end = at + one.range.bytes; at < end;) {
        const std::uint64_t bytes = std::min(end, at / k_window * k_window + k_window) - at;
        const MemoryKind kind = advice.tiers[one.tier].kind;
        const PageCensus& census = pages_.census(at, bytes);
        if (census.present() > pages_.in(kind, census)) {
          state_.moves.push_back({at, bytes, Pages::most_of(census)});
          to.push_back(kind);
        }
        at += bytes;
      }
    if (!write_state(files_, state_)) return;
    for (std::size_t i = 0; i < to.size() && !pages_.refused(); ++i) {
      const OnlineMove& one = state_.moves[begin + i];
      const std::uint64_t before = monotonic_nanoseconds();
      const MoveOutcome outcome = pages_.move(one.address, one.bytes, pages_.nodes_of(to[i]));
      state_.seconds += double(monotonic_nanoseconds() - before) / 1e9;
      state_.moved_into[static_cast<std::size_t>(to[i])] += outcome.moved;
    }
  }

  static void say_what_is_seen(const ProfileSummary& summary, double lasted, const Advice& advice,
                               double cost) {
    std::fprintf(stderr,
                 "omptier run: --online: after %s, by %llu samples: another placement would save "
                 "%s of the time and take %s to move; decided in %s\n",
                 format_duration(lasted).c_str(), static_cast<unsigned long long>(summary.samples),
                 format_percent(advice.change->saves, 1).c_str(), format_duration(cost).c_str(),
                 format_duration(double(std::clock()) / CLOCKS_PER_SEC * 1e9).c_str());
  }

  // The plan is for the next look at this process: it needs no names.
  void begin_change(const Advice& advice, const ProfileSummary& summary) {
    state_.before = std::exchange(state_.settled, {});
    state_.at_change = paces_;
    state_.moves.clear();
    state_.expected = advice.change->saves;
    state_.pace = 0;
    state_.looks_since = 0;
    ++state_.changes;
    write_whole(files_.plan(), write_plan(plan_from(advice, summary,
                                                    [](const Frame&) { return PortableFrame(); })));
  }

  std::optional<Advice> advice_for(const ProfileSummary& summary, const CapacityByKind& limits) {
    EvidenceNames names;
    for (const SiteSummary& site : summary.sites)
      names.sites.push_back(site.symbol);
    names.regions.resize(summary.regions.size());
    Workload workload = workload_from(summary, names, reference_figures(platform_.tiers));
    for (SiteDemand& site : workload.sites) {
      site.by_region.clear();                      // regions' begins cannot be waited for
      if (site.small_blocks) site.block_bytes = 0; // those that live move together
    }
    const std::vector<LiveRange> ranges = live_ranges(workload, summary);
    leave_unseen(workload, ranges);
    const std::vector<PageCensus> sites = where_sites_lie(workload, ranges);
    const std::vector<TierChoice> tiers = tiers_now(limits, sites);
    if (tiers.size() < 2) return {};
    EarlierPlacement now = as_it_lies(workload, sites, tiers);
    for (std::size_t site = 0; site < workload.sites.size(); ++site) {
      const SiteSummary& from = summary.sites[workload.sites[site].site];
      if (from.kind != SiteKind::allocation || from.by_malloc) continue;
      workload.sites[site].kept = now.tier_of_site[site]; // as the source has it
      workload.sites[site].placeable &= now.tier_of_site[site].has_value();
    }
    now.workload = workload;
    if (state_.changes > 0)
      if (const auto plan = read_plan(files_.plan()))
        now = placed_by(*plan, workload, summary, tiers);
    return advise(workload, tiers, &now, Effort::quick);
  }

  const OnlineFiles& files_;
  OnlineState state_;
  const Platform& platform_;
  Pages pages_;
  RegionPaces paces_;
};

RankShare share_of(unsigned processes) {
  RankShare share;
  if (const auto given = parse_share(option_text(Option::share))) share = *given;
  share.ranks = std::max(share.ranks, processes);
  return share;
}

} // namespace

void look_at(const OnlineFiles& files, const CapacityByKind& limits, unsigned processes) {
  OnlineState state = read_state(files).value_or(OnlineState{});
  if (state.undone || state.refused) return;
  auto profile = read_profile(files.profile);
  if (!profile || !profile->running) return;
  DiscoverOptions options;
  if (const auto forced = parse_nodes(option_text(Option::nodes))) options.forced = *forced;
  const auto platform = discover_platform(options);
  if (!platform) return;
  const std::uint64_t begun = profile->run.start_time;
  const std::uint64_t lasted = profile->last_time - std::min(profile->last_time, begun);
  const bool is_first = state.changes == 0;
  Look look(files, std::move(state), *platform, *profile);
  if (look.may_change()) {
    keep_from(*profile, begun + lasted / 2);
    if (is_first && profile->samples.size() < k_least_samples) return;
    Symbols symbols;
    add_areas(*profile, [&](const ModuleInfo& module) { return symbols.statics_of(module); });
    const auto summary = summarize({&*profile, 1}); // regions by address: the source takes long
    const KindLimits allowed = limits_of(*platform, limits, share_of(processes), k_usual_reserve);
    if (summary && summary->samples >= k_least_samples)
      look.change(*summary, double(lasted), allowed.limit);
  }
  look.end();
}

} // namespace omptier
