// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See traffic.hpp.
#include "advisor/traffic.hpp"

#include "model/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace omptier {
namespace {

// Part of a site's lines that the last-level cache does not hold: samples' word where there is one,
// else by its size. A cache that keeps what was used last keeps each line for the same time: that
// in which a loop asks for as many different lines as fit (Che, Tung and Wang, "Hierarchical Web
// Caching Systems", 2002). Of W lines that g accesses choose from at random, W (1 - exp(-g / W))
// are different, and exp(-g / W) of the accesses miss.
class Misses {
public:
  // cache: bytes, 0: not known; the recording's, or another that its samples say nothing of.
  Misses(const ProfileSummary& summary, double cache, bool is_recordings)
      : sites_(summary.sites), threads_(std::max(summary.threads, 1u)), cache_(cache),
        is_recordings_(is_recordings) {}

  // For how long a line is kept, as a part of all the time that the loop runs.
  double kept_for(const LoopTraffic& loop) const {
    constexpr int k_halvings = 40; // of the exponent
    constexpr double k_shortest = 1e-12, k_longest = 1e6;
    double short_enough = k_shortest, too_long = k_longest;
    if (!(cache_ > 0)) return 0;
    for (int i = 0; i < k_halvings; ++i) {
      const double time = std::sqrt(short_enough * too_long);
      double lines = 0;
      for (const LoopTraffic::OfSite& of : loop.sites)
        lines += different(of, time);
      (lines * k_line_bytes <= cache_ ? short_enough : too_long) = time;
    }
    return short_enough;
  }
  Lines of(const LoopTraffic::OfSite& of, double kept) const {
    const SiteSummary& site = sites_[of.site];
    Lines lines = of.lines;
    if (const double all = site.accesses.total();
        is_recordings_ && site.accesses.from_cache > 0 && all > 0) {
      lines *= std::clamp(1 - site.accesses.from_cache / all, least_missed(site), 1.0);
      return lines;
    }
    double gathered = 0;
    for (const Scattered& part : scattered(of))
      gathered += part.accesses *
                  std::max(least_missed(site), std::exp(-part.accesses * kept / part.lines));
    if (const double all = lines.scattered(); all > 0) gathered /= all;
    lines.gathered_load *= gathered;
    lines.chased_load *= gathered;
    lines.clustered *= gathered;
    lines.scattered_store *= gathered;
    const double streamed = streamed_missed(site);
    lines.streamed_load *= streamed;
    lines.alone *= streamed;
    lines.streamed_store *= streamed;
    lines.dealt *= streamed;
    lines.places_sum *= streamed;
    return lines;
  }
  // A streamed object that is larger than an eighth of the cache is gone before it comes again.
  double streamed_missed(const SiteSummary& site) const {
    return lines_of(site) * k_line_bytes > cache_ / 8 ? 1 : least_missed(site);
  }

private:
  // However hot, of what fills the cache; less of what takes a part of it.
  double least_missed(const SiteSummary& site) const {
    constexpr double k_of_whole = 0.02;
    return k_of_whole *
           std::min(1.0, lines_of(site) * k_line_bytes / std::max(cache_, k_line_bytes));
  }
  struct Scattered {
    double accesses = 0, lines = 1; // that they choose from
  };

  static double lines_of(const SiteSummary& site) {
    return std::max(1.0, static_cast<double>(site.bytes_peak) / k_line_bytes);
  }
  // Those known to stay near for a while, each thread elsewhere, and the others.
  std::array<Scattered, 2> scattered(const LoopTraffic::OfSite& of) const {
    const double lines = lines_of(sites_[of.site]), near = of.lines.with_reach;
    const double together = near > 0 ? threads_ * of.lines.reach_sum / near / k_line_bytes : lines;
    return {Scattered{near, std::clamp(together, 1.0, lines)},
            Scattered{std::max(0.0, of.lines.scattered() - near), lines}};
  }
  double different(const LoopTraffic::OfSite& of, double time) const {
    const double lines = lines_of(sites_[of.site]);
    const double streamed = time * (of.lines.streamed_load + of.lines.streamed_store);
    double sum = std::min(streamed, lines);
    for (const Scattered& part : scattered(of))
      if (part.accesses > 0) sum += part.lines * -std::expm1(-part.accesses * time / part.lines);
    return sum;
  }

  const std::vector<SiteSummary>& sites_;
  double threads_;
  double cache_;
  bool is_recordings_;
};

// The threads' own parts together: in a guest, other guests use the rest of the last level.
double cache_of_recording(const ProfileSummary& summary) {
  const double threads = std::max(summary.threads, 1u);
  double cache = 0;
  for (const RunRecord& run : summary.runs)
    cache = std::max(cache, std::min(static_cast<double>(run.caches.all),
                                     static_cast<double>(run.caches.own) * threads));
  return cache;
}

Demand demand_of(const Lines& lines) {
  Demand demand;
  demand.of(Manner::scattered_load) = lines.gathered_load + lines.chased_load;
  demand.of(Manner::streamed_load) = lines.streamed_load;
  demand.of(Manner::scattered_store) = lines.scattered_store;
  demand.of(Manner::streamed_store) = lines.streamed_store;
  if (lines.dealt > 0) {
    demand.dealt = lines.dealt / lines.streamed_store;
    demand.places = lines.places_sum / lines.dealt;
  }
  if (lines.streamed_load > 0) demand.alone = lines.alone / lines.streamed_load;
  if (const double all = demand.of(Manner::scattered_load); all > 0)
    demand.clustered = lines.clustered / all;
  const double waits = lines.gathered_load / k_gathered_at_once + lines.chased_load;
  if (waits > 0) demand.at_once = demand.of(Manner::scattered_load) / waits;
  return demand;
}

// What is allocated again and again is written each time, line by line, and read: at least so many
// lines are stored and loaded. Pace and samples may say far less, since stores hardly wait. Of what
// samples saw to be touched; even heat looks like 0.8 by chance.
double fresh_lines(const SiteSummary& site) {
  constexpr double k_even = 0.8;
  const double touched = std::min(1.0, fraction_of(site.offsets.hot_ranges()) / k_even);
  return static_cast<double>(site.fresh.always) * touched / k_line_bytes;
}

// The lines of each loop at each of its sites, which caches do not hold.
class LoopLines {
public:
  LoopLines(const ProfileSummary& summary, const Terms& terms, double cache, bool is_recordings)
      : terms_(terms), misses_(summary, cache, is_recordings), of_site_(summary.sites.size()),
        fresh_(summary.sites.size()) {
    for (const LoopTraffic& loop : summary.traffic) {
      const double kept = kept_.emplace_back(terms.caches ? misses_.kept_for(loop) : 0);
      for (const LoopTraffic::OfSite& of : loop.sites)
        of_site_[of.site] += missed(of, kept);
    }
    for (std::size_t site = 0; site < fresh_.size() && terms.new_pages; ++site)
      if (of_site_[site].total() > 0)
        fresh_[site] = fresh_lines(summary.sites[site]) *
                       (terms.caches ? misses_.streamed_missed(summary.sites[site]) : 1);
  }

  // What the site's fresh lines are more is divided as the known ones are.
  Lines of(std::size_t loop, const LoopTraffic::OfSite& of) const {
    Lines lines = missed(of, kept_[loop]);
    const Lines& all = of_site_[of.site];
    const auto more = [&](double here, double known) {
      return known > 0 ? std::max(0.0, fresh_[of.site] - known) * here / known : 0;
    };
    const double stores = lines.streamed_store;
    lines.streamed_store += more(lines.stores(), all.stores());
    if (stores > 0) { // some are dealt out
      lines.dealt *= lines.streamed_store / stores;
      lines.places_sum *= lines.streamed_store / stores;
    }
    lines.streamed_load += more(lines.loads(), all.loads());
    return lines;
  }

private:
  Lines missed(const LoopTraffic::OfSite& of, double kept) const {
    return terms_.caches ? misses_.of(of, kept) : of.lines;
  }

  const Terms& terms_;
  Misses misses_;
  std::vector<double> kept_; // by loop
  std::vector<Lines> of_site_;
  std::vector<double> fresh_; // lines, by site
};

// Pages that a prefetcher watches at a time: Intel's L2 (Optimization Reference Manual, "Data
// Prefetch to L2 and L3 Caches").
constexpr double k_watched = 32, k_page_bytes = 4096;

// Scattered lines of a loop, without those known to stay within the watched pages.
double scattered_far(const LoopTraffic& loop) {
  double sum = 0;
  for (const LoopTraffic::OfSite& of : loop.sites) {
    const bool near = of.lines.reach_sum < k_watched * k_page_bytes * of.lines.with_reach;
    sum += of.lines.scattered() - (near ? of.lines.with_reach : 0);
  }
  return sum;
}

// A stream is lost to the prefetcher if as many pages as it watches are visited between two of the
// stream's lines: from 3/4 of them on in part. In a sparse matrix such lines hold the rows' ends,
// for which branches wait: most then come one at a time, like a chased pointer's. (Measured on two
// machines and two programs: with three in four the best plans are found, with all or half not.)
// recorded: the same lines before caches.
void lose_stream(Lines& lines, const Lines& recorded, double scattered) {
  if (!(recorded.streamed_load > 0)) return;
  constexpr double k_alone = 0.75;
  const double between = scattered / recorded.streamed_load;
  const double part = std::clamp(4 * between / k_watched - 3, 0.0, 1.0);
  lines.clustered += part * (lines.streamed_load - lines.alone);
  lines.chased_load += k_alone * part * lines.streamed_load;
  lines.gathered_load += (1 - k_alone) * part * lines.streamed_load;
  lines.alone *= 1 - part;
  lines.streamed_load *= 1 - part;
}

// How long a loop waits for lines of a last-level cache, which has bandwidth enough.
double cache_wait(const Lines& lines, double latency) {
  return demand_time(demand_of(lines), {.read_latency = latency, .write_latency = latency}, 1);
}

// What the last level serves, of the lines that it is asked for: loads, since no core waits for a
// store. missed: those that it does not hold.
Lines served(Lines asked, Lines missed) {
  asked += missed *= -1;
  for (double* lines : {&asked.streamed_load, &asked.gathered_load, &asked.chased_load})
    *lines = std::max(0.0, *lines);
  asked.streamed_store = asked.scattered_store = asked.dealt = asked.alone = asked.clustered = 0;
  return asked;
}

struct InLoop {
  std::uint32_t loop;
  Demand demand;
};

// What samples saw of the site outside of loops that could be followed.
Demand demand_elsewhere(const SiteDemand& demand, const SiteSummary& site) {
  Demand rest = demand.demand;
  const double all = site.accesses.total();
  rest *= all > 0 ? site.accesses.unknown / all : 0;
  return rest;
}

// regions: without stretches of them.
void set_demand(SiteDemand& demand, const SiteSummary& site, const std::vector<InLoop>& loops,
                std::size_t regions, const Figures& memory, Threads threads) {
  Demand sum = demand_elsewhere(demand, site);
  double all = demand_time(sum, memory, threads);
  for (const InLoop& in : loops) {
    sum += in.demand;
    all += demand_time(in.demand, memory, threads);
  }
  const double before = demand_time(demand.demand, memory, threads);
  double in_regions = 0;
  for (const RegionDemand& region : demand.by_region)
    if (region.region < regions) in_regions += demand_time(region.demand, memory, threads);
  for (RegionDemand& region : demand.by_region) { // in proportion to the time in samples
    const double part = demand_time(region.demand, memory, threads);
    region.demand = sum;
    region.demand *= part > 0 ? part / std::max(before, in_regions) : 0;
  }
  demand.demand = sum;
  demand.by_loop.clear();
  for (const InLoop& in : loops)
    if (all > 0)
      demand.by_loop.push_back({in.loop, demand_time(in.demand, memory, threads) / all});
}

struct CountedLoop {
  std::vector<std::pair<std::uint32_t, Demand>> demands; // by site
  double work = 0;                                       // nanoseconds of thread time
};

// Counts what a loop asks memory for where the program is to run.
class LoopCount {
public:
  LoopCount(const ProfileSummary& summary, const Figures& recorded_in, const Terms& terms,
            const CachePart& cache)
      : recorded_in_(recorded_in), threads_(std::max(summary.threads, 1u)), terms_(terms),
        missed_(summary, terms, cache_of_recording(summary), true) {
    if (cache.bytes > 0)
      there_.emplace(There{LoopLines(summary, terms, double{k_core_cache} * threads_.most(), false),
                           LoopLines(summary, terms, cache.bytes, false), cache.latency});
  }

  CountedLoop of(std::size_t number, const LoopTraffic& loop) const {
    constexpr std::array<double, 1> k_no_work = {};
    LoopTimes times({&recorded_in_, 1}, threads_, k_no_work), times_there = times;
    const LoopPart whole{0, 1};
    const double scattered = terms_.overlap ? scattered_far(loop) : 0;
    CountedLoop counted;
    Waits waits;
    for (const LoopTraffic::OfSite& of : loop.sites) {
      const auto found = [&](const LoopLines& with) {
        Lines lines = with.of(number, of);
        lose_stream(lines, of.lines, scattered);
        return lines;
      };
      const Lines missed = found(missed_);
      counted.demands.emplace_back(of.site, demand_of(missed));
      times.add({counted.demands.back().second, {&whole, 1}}, 0);
      if (!there_) continue;
      const Lines asked = found(there_->asked), missed_there = found(there_->missed);
      counted.demands.back().second = demand_of(missed_there);
      times_there.add({counted.demands.back().second, {&whole, 1}}, 0);
      waits.cache += cache_wait(served(asked, missed), k_usual_cache_latency);
      waits.cache_there += cache_wait(served(asked, missed_there), there_->latency);
      waits.least += cache_wait(asked.total() > missed_there.total() ? asked : missed_there,
                                k_usual_cache_latency);
    }
    waits.memory = times.time();
    waits.memory_there = times_there.time();
    if (!(waits.memory > 0)) return {};
    limit(counted, waits, loop.nanoseconds);
    return counted;
  }

private:
  // In nanoseconds of thread time. Memory is the recording's, also for the lines that are missed
  // there.
  struct Waits {
    double memory = 0, cache = 0;
    double memory_there = 0, cache_there = 0;
    double least = 0; // if the recording's last level had brought all lines that count anywhere
  };
  struct There {
    LoopLines asked, missed; // asked: of the last level
    double latency = 0;      // its, nanoseconds
  };

  // Lines count as far as the recording could bring them in the loop's time. The work is such that
  // the loop would take this time if it waited there as it did.
  void limit(CountedLoop& counted, const Waits& waits, double nanoseconds) const {
    const bool by_cache = there_ && terms_.caches && waits.least < waits.memory;
    const double part = std::min(1.0, nanoseconds / (by_cache ? waits.least : waits.memory));
    for (auto& [site, demand] : counted.demands)
      demand *= part;
    if (!there_) {
      counted.work = work_beside(waits.memory, nanoseconds);
      return;
    }
    const double memory = part * waits.memory, memory_there = part * waits.memory_there;
    const double left = std::max(0.0, nanoseconds - memory);
    const double waited = waits.cache > left ? left / waits.cache : 1;
    const double computing = work_beside(memory + waited * waits.cache, nanoseconds);
    counted.work =
        work_beside(memory_there, time_with(computing, memory_there + waited * waits.cache_there));
  }

  const Figures& recorded_in_;
  Threads threads_;
  const Terms& terms_;
  LoopLines missed_;
  std::optional<There> there_; // none: as recorded
};

} // namespace

std::vector<double> count_traffic(std::span<SiteDemand> sites, const ProfileSummary& summary,
                                  const Figures& recorded_in, const Terms& terms,
                                  const CachePart& cache) {
  const LoopCount count(summary, recorded_in, terms, cache);
  std::vector<std::vector<InLoop>> in_loops(sites.size());
  std::vector<double> work(summary.traffic.size());
  for (std::uint32_t number = 0; number < summary.traffic.size(); ++number) {
    const CountedLoop loop = count.of(number, summary.traffic[number]);
    work[number] = loop.work;
    for (const auto& [site, demand] : loop.demands)
      if (sites[site].placeable) in_loops[site].push_back({number, demand});
  }
  for (std::size_t site = 0; site < sites.size(); ++site)
    if (!in_loops[site].empty())
      set_demand(sites[site], summary.sites[site], in_loops[site], summary.regions.size(),
                 recorded_in, std::max(summary.threads, 1u));
  return work;
}

} // namespace omptier
