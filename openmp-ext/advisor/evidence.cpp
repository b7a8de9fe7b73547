// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates a profile's summary, site by site.
#include "advisor/evidence.hpp"

#include "advisor/loops.hpp"
#include "advisor/site_blocks.hpp"
#include "advisor/site_ranges.hpp"
#include "advisor/traffic.hpp"
#include "analysis/share_intervals.hpp"
#include "analysis/stretch_begins.hpp"
#include "model/cost.hpp"
#include "model/first_touch.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

namespace omptier {
namespace {

// Bytes of a site's small blocks together that are worth an entry of the plan.
constexpr std::uint64_t k_least_together = std::uint64_t{256} << 10;

bool is_reached_by_plan(const SiteSummary& site) {
  if (site.bytes_largest >= k_least_large) return true;
  return site.kind == SiteKind::allocation &&
         (!site.by_malloc || site.bytes_peak >= k_least_together);
}

// The part of the samples that memory served. Never 0: one more sample might be of memory, and so
// the array still takes fast memory that is left.
double memory_part(const Sampled& sampled) {
  const double all = sampled.accesses.total();
  if (sampled.accesses.from_cache <= 0 || all <= 0) return 1;
  const double least = 1 / static_cast<double>(sampled.samples + 1);
  return std::clamp(1 - sampled.accesses.from_cache / all, least, 1.0);
}

void set_cached(SiteDemand& demand, const Sampled& sampled) {
  const double all = sampled.accesses.total();
  if (sampled.accesses.from_cache <= 0 || all <= 0) return;
  const auto samples = static_cast<double>(sampled.samples);
  demand.cached = std::min(sampled.accesses.from_cache / all, 1.0);
  demand.cached_low = std::min(wilson_interval(demand.cached, samples).low, demand.cached);
  const double at_most = std::clamp(1 - sampled.accesses.from_memory / all, demand.cached, 1.0);
  demand.cached_high = std::max(wilson_interval(at_most, samples).high, at_most);
}

class Translation {
public:
  Translation(const ProfileSummary& summary, const Figures& recorded_in, const Terms& terms)
      : summary_(summary), recorded_in_(recorded_in), terms_(terms) {}

  // Time is divided by manner as accesses are, at the mean cost of an access.
  // in_huge_pages: the clears among the samples are of new pages. In small pages each stands for a
  // store of the program, which then found the line in a cache.
  Demand demand(const Sampled& sampled, bool in_huge_pages, const LinesOfBlock& in_block) const {
    AccessWeights weights = sampled.accesses;
    if (in_huge_pages) {
      AccessWeights clears = sampled.first_touch;
      weights += clears *= -1;
    }
    Demand demand;
    demand.of(Manner::scattered_load) = weights.scattered_load + weights.unknown;
    demand.of(Manner::streamed_load) = weights.streamed_load;
    demand.of(Manner::scattered_store) = weights.scattered_store;
    demand.of(Manner::streamed_store) = weights.streamed_store;
    if (summary_.measure == Measure::time && demand.total() > 0) {
      double nanoseconds = 0;
      for (std::size_t i = 0; i < k_manners; ++i)
        nanoseconds += demand.accesses[i] * nanoseconds_of_one(static_cast<Manner>(i));
      demand *= demand.total() / nanoseconds;
    }
    demand.alone = alone_part(in_block.loads);
    // Where the source does not tell, scattered loads count as chased ones.
    if (const double scattered = weights.scattered_load + weights.unknown; scattered > 0) {
      const double gathered = std::min(1.0, weights.gathered / scattered);
      demand.at_once = 1 / (gathered / k_gathered_at_once + 1 - gathered);
    }
    if (weights.loads() > 0) demand.stored_back = weights.stored_back / weights.loads();
    const double clears = in_huge_pages ? 0 : sampled.first_touch.streamed_store; // whole pages
    const double stores_alone =
        alone_part(in_block.stores) * std::max(0.0, demand.of(Manner::streamed_store) - clears);
    demand.of(Manner::scattered_store) += stores_alone;
    demand.of(Manner::streamed_store) -= stores_alone;
    if (terms_.caches) demand *= memory_part(sampled);
    return demand;
  }

  static std::vector<LiveStretch> live(const SiteSummary& site, std::uint64_t run_end) {
    std::vector<LiveStretch> stretches;
    for (std::size_t i = 0; i < site.live.size(); ++i) {
      const std::uint64_t begin = site.live[i].time;
      const std::uint64_t end =
          i + 1 < site.live.size() ? site.live[i + 1].time : std::max(run_end, begin + 1);
      if (site.live[i].bytes > 0 && end > begin)
        stretches.push_back({begin, end, site.live[i].bytes});
    }
    return stretches;
  }

  // Without those that a run of any length clears once: recorded runs are often short. Of samples
  // of CPU time by timers, which stop in page faults too, clears are a part already.
  NewPages new_pages(const SiteSummary& site) const {
    const bool seen = std::ranges::any_of(
        summary_.runs, [](const RunRecord& run) { return run.source == "timer"; });
    if (seen || !terms_.new_pages) return {};
    const auto again = [&](std::uint64_t fresh) {
      return static_cast<double>(fresh - std::min(fresh, site.fresh.once));
    };
    return {again(site.fresh.always), again(site.fresh.reused)};
  }

private:
  double nanoseconds_of_one(Manner manner) const {
    const double time = access_time(manner, recorded_in_, std::max(summary_.threads, 1u));
    return time > 0 ? time : 1; // figures unknown: then all manners count alike
  }

  const ProfileSummary& summary_;
  const Figures& recorded_in_;
  const Terms& terms_;
};

void set_shares(SiteDemand& demand, const SiteSummary& site, const ProfileSummary& summary) {
  constexpr double k_little = 0.3; // of the time may be spent in a manner that was not seen
  const bool by_time = summary.measure == Measure::time;
  const double all = site.accesses.total();
  demand.knows_streams = site.accesses.unknown < k_little * all;
  demand.knows_writes = demand.knows_streams && (!by_time || site.knows_writes());
  demand.written = by_time ? site.write_share.value : site.accesses.written_part();
  set_cached(demand, site);
  // The report's interval, but at least the source's worst error. Where time is blamed, the
  // interval holds the source's usual error already.
  const double error = by_time ? 0 : summary.worst_error;
  demand.share_low = std::max(0.0, std::min(site.share.low, site.share.value - error));
  demand.share_high = std::min(1.0, std::max(site.share.high, site.share.value + error));
}

// A region in which nothing was watched is served by caches as the whole site is.
Sampled with_cache_of(Sampled part, const SiteSummary& site) {
  const double all = site.accesses.total();
  if (part.accesses.from_cache + part.accesses.from_memory > 0 || all <= 0) return part;
  part.accesses.from_cache = part.accesses.total() * site.accesses.from_cache / all;
  part.accesses.from_memory = part.accesses.total() * site.accesses.from_memory / all;
  part.samples = site.samples;
  return part;
}

// Few watches in each region may say more than all of them together.
void limit_to_whole(std::span<RegionDemand> regions, const Demand& whole) {
  double sum = 0;
  for (const RegionDemand& region : regions)
    sum += region.demand.total();
  if (sum <= whole.total()) return;
  for (RegionDemand& region : regions)
    region.demand *= whole.total() / sum;
}

// Behind the regions.
void add_stretches(SiteDemand& demand, const SiteSummary& site, const ProfileSummary& summary,
                   const Translation& translation, bool in_huge_pages) {
  std::map<std::uint32_t, std::vector<RegionDemand>> of_region;
  for (const SitePart& part : site.by_phase) {
    const PhaseSummary& phase = summary.phases[part.of];
    if (phase.kind != PhaseSummary::Kind::to_barrier && phase.kind != PhaseSummary::Kind::to_end)
      continue;
    of_region[phase.region].push_back(
        {number_of_stretch(summary, part.of),
         translation.demand(with_cache_of(part, site), in_huge_pages, site.lines_of_block)});
  }
  std::vector<RegionDemand> all;
  for (auto& [region, stretches] : of_region) {
    limit_to_whole(stretches, demand.demand_in(region));
    all.insert(all.end(), stretches.begin(), stretches.end());
  }
  std::ranges::sort(all, {}, &RegionDemand::region);
  demand.by_region.insert(demand.by_region.end(), all.begin(), all.end());
}

// The barrier that ends a reduction is one or the other of these calls, or none, depending on the
// number of threads: in another run it may not be met.
bool begins_at_reduction(const Beginning& beginning, const EvidenceNames& names) {
  return std::ranges::any_of(beginning.barriers, [&](std::uint32_t barrier) {
    return barrier < names.reductions.size() && names.reductions[barrier];
  });
}

// With its label, if it is known where it begins, and the runtime is told: a team of one thread
// reports no barriers.
WorkloadRegion stretch_of(const ProfileSummary& summary, std::uint32_t number,
                          const EvidenceNames& names) {
  const PhaseSummary& phase = summary.phases[number];
  WorkloadRegion stretch;
  stretch.part_of = phase.region;
  stretch.entries = phase.entries;
  const std::optional<Beginning> beginning = beginning_of(summary, number);
  if (!beginning || begins_at_reduction(*beginning, names)) return stretch;
  if (summary.regions[phase.region].threads == 1) return stretch;
  const auto entries = static_cast<double>(phase.entries);
  stretch.entered_anew = static_cast<std::uint64_t>(std::ceil(beginning->anew * entries));
  stretch.at_region = beginning->at_region;
  stretch.barriers = beginning->barriers;
  if (stretch.at_region) stretch.label = "the begin of " + names.regions[phase.region];
  for (const std::uint32_t barrier : stretch.barriers)
    stretch.label += (stretch.label.empty() ? "" : " and ") +
                     (barrier < names.barriers.size() ? names.barriers[barrier] : "a barrier");
  stretch.label = "from " + stretch.label + " on";
  return stretch;
}

// All blocks together.
SiteDemand demand_of(const SiteSummary& site, const ProfileSummary& summary,
                     const Translation& translation) {
  SiteDemand demand;
  demand.placeable = site.kind == SiteKind::allocation || site.kind == SiteKind::variable;
  demand.share = site.share.value;
  if (!demand.placeable) {
    demand.bytes = has_bytes(site.kind) ? site.bytes_peak : 0;
    return demand;
  }
  demand.by_plan = is_reached_by_plan(site);
  demand.live = Translation::live(site, summary.nanoseconds);
  const bool in_huge_pages = site.bytes_largest >= k_huge_page_bytes;
  demand.demand = translation.demand(site, in_huge_pages, site.lines_of_block);
  demand.small_blocks = has_small_blocks(site);
  if (site.kind == SiteKind::allocation && demand.by_plan &&
      !demand.small_blocks) // they are reused without the kernel
    demand.new_pages = translation.new_pages(site);
  set_shares(demand, site, summary);
  // Statics are placed when the program starts and stay.
  for (const SitePart& part : site.by_region)
    if (site.kind == SiteKind::allocation)
      demand.by_region.push_back({part.of, translation.demand(with_cache_of(part, site),
                                                              in_huge_pages, site.lines_of_block)});
  std::ranges::sort(demand.by_region, {}, &RegionDemand::region);
  limit_to_whole(demand.by_region, demand.demand);
  if (site.kind == SiteKind::allocation)
    add_stretches(demand, site, summary, translation, in_huge_pages);
  demand.instances = site.objects;
  demand.growing = site.bytes_growing;
  demand.growing_nanoseconds = site.nanoseconds_growing;
  demand.block_bytes = demand.small_blocks ? small_bytes_to_divide(site) : bytes_to_divide(site);
  return demand;
}

// What the run took beyond the model's time for the sites.
double rest_of_time(const Workload& workload, const std::vector<SiteDemand>& sites,
                    const ProfileSummary& summary, const Figures& recorded_in) {
  if (summary.measure != Measure::time) return 0;
  LoopTimes times({&recorded_in, 1}, workload.threads, workload.loop_work);
  for (const SiteDemand& site : sites)
    times.add({site.demand, site.by_loop}, 0);
  return std::max(0.0, weight_of_all(summary) - times.time());
}

void simplify(Demand& demand, const Terms& terms) {
  if (!terms.overlap) demand.at_once = 1;
  if (!terms.blocks) demand.alone = demand.dealt = 0;
}

void simplify(std::vector<SiteDemand>& sites, const Terms& terms) {
  for (SiteDemand& site : sites) {
    simplify(site.demand, terms);
    for (RegionDemand& region : site.by_region)
      simplify(region.demand, terms);
    if (!terms.loops) site.by_loop.clear();
    if (!terms.parts) site.block_bytes = 0;
  }
}

} // namespace

Workload workload_from(const ProfileSummary& summary, const EvidenceNames& names,
                       const Figures& recorded_in, const Terms& terms, const CachePart& cache) {
  const Translation translation(summary, recorded_in, terms);
  Workload workload;
  workload.threads = std::max(summary.threads, 1u);
  workload.measure = summary.measure;
  workload.small_objects = {summary.small.share.value, summary.small_bytes};
  workload.elsewhere = {summary.other.share.value, 0};
  for (std::size_t i = 0; i < summary.regions.size(); ++i) {
    const RegionSummary& region = summary.regions[i];
    workload.regions.push_back({names.regions[i], region.entries, region.entered_anew,
                                std::min(region.first_seen, region.last_seen), region.last_seen});
  }
  for (std::uint32_t phase = 0; phase < summary.phases.size(); ++phase)
    workload.regions.push_back(stretch_of(summary, phase, names));
  LoopsOfSites loops = loops_of_sites(summary);
  std::vector<SiteDemand> whole;
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    whole.push_back(demand_of(summary.sites[i], summary, translation));
    whole.back().label = names.sites[i];
    whole.back().site = i;
    if (!whole.back().placeable) continue;
    whole.back().by_loop = std::move(loops.of_site[i]);
    for (LoopPart& part : whole.back().by_loop) // count_traffic has numbers of its own
      part.loop += static_cast<std::uint32_t>(summary.traffic.size());
  }
  const auto count = [&](std::vector<SiteDemand>& sites, const CachePart& last_level) {
    if (terms.lines)
      workload.loop_work = count_traffic(sites, summary, recorded_in, terms, last_level);
    workload.loop_work.resize(summary.traffic.size() + loops.loops);
    simplify(sites, terms);
    if (!terms.loops) std::ranges::fill(workload.loop_work, 0);
  };
  std::vector<SiteDemand> recorded = whole;
  count(recorded, {});
  workload.rest = rest_of_time(workload, recorded, summary, recorded_in);
  if (cache.bytes > 0)
    count(whole, cache);
  else
    whole = std::move(recorded);
  if (!terms.parts) {
    workload.sites = std::move(whole);
    return workload;
  }
  for (SiteDemand& site : whole) {
    const SiteSummary& from = summary.sites[site.site];
    for (SiteDemand& blocks : divide_by_blocks(std::move(site), summary))
      for (SiteDemand& part : divide_by_heat(std::move(blocks), from))
        workload.sites.push_back(std::move(part));
  }
  return workload;
}

} // namespace omptier
