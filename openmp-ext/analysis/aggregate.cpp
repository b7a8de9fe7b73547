// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See aggregate.hpp. Each profile is swept once (attribution.hpp); the sweeps are joined by site.
#include "analysis/aggregate.hpp"

#include "analysis/access_rates.hpp"
#include "analysis/attribution.hpp"
#include "analysis/cache.hpp"
#include "analysis/enough_samples.hpp"
#include "analysis/over_time.hpp"
#include "analysis/phase_track.hpp"
#include "analysis/ranks.hpp"
#include "analysis/runtime_site.hpp"
#include "analysis/shares.hpp"
#include "analysis/threads_at_once.hpp"
#include "log/format.hpp"
#include "objects/modules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace omptier {

// Of the sites that were never sampled one may be larger than 0, but not all of them at once.
Share& Share::operator+=(const Share& other) {
  const double off_below = std::hypot(value - low, other.value - other.low);
  const double off_above = other.value > 0 ? std::hypot(high - value, other.high - other.value)
                                           : std::max(high - value, other.high);
  value += other.value;
  low = std::max(0.0, value - off_below);
  high = std::min(1.0, value + off_above);
  return *this;
}

void AccessWeights::add(const AccessSample& sample, double weight) {
  if (sample.kind == AccessKind::load)
    (sample.streamed ? streamed_load : scattered_load) += weight;
  else if (sample.kind == AccessKind::store)
    (sample.streamed ? streamed_store : scattered_store) += weight;
  else
    unknown += weight;
  if (sample.stored_back) stored_back += weight;
  if (sample.gathered && !sample.streamed) gathered += weight;
  if (sample.level == AccessLevel::cache) from_cache += weight;
  if (sample.level == AccessLevel::memory) from_memory += weight;
}

AccessWeights& AccessWeights::operator+=(const AccessWeights& other) {
  scattered_load += other.scattered_load;
  streamed_load += other.streamed_load;
  scattered_store += other.scattered_store;
  streamed_store += other.streamed_store;
  unknown += other.unknown;
  stored_back += other.stored_back;
  gathered += other.gathered;
  from_cache += other.from_cache;
  from_memory += other.from_memory;
  return *this;
}

AccessWeights& AccessWeights::operator*=(double factor) {
  scattered_load *= factor;
  streamed_load *= factor;
  scattered_store *= factor;
  streamed_store *= factor;
  unknown *= factor;
  stored_back *= factor;
  gathered *= factor;
  from_cache *= factor;
  from_memory *= factor;
  return *this;
}

namespace {

// Bytes and lifetimes come from the process where the site is largest; the rest is summed.
struct JoinedSite {
  bool seen = false;
  double latency_sum = 0, latency_weight = 0;
};

void join(SiteSummary& site, JoinedSite& joined, SiteInProfile& part) {
  joined.latency_sum += part.latency_sum;
  joined.latency_weight += part.latency_weight;
  site.lines_of_block.loads = std::min(site.lines_of_block.loads, part.lines_of_block.loads);
  site.lines_of_block.stores = std::min(site.lines_of_block.stores, part.lines_of_block.stores);
  const bool has_none = part.objects == 0 && part.bytes_peak == 0;
  if (has_none || (joined.seen && part.bytes_peak <= site.bytes_peak)) return;
  joined.seen = true;
  site.objects = part.objects;
  site.bytes_total = part.bytes_total;
  site.bytes_peak = part.bytes_peak;
  site.bytes_largest = part.bytes_largest;
  site.bytes_growing = part.bytes_growing;
  site.nanoseconds_growing = part.nanoseconds_growing;
  site.fresh = part.fresh;
  site.live = std::move(part.live);
  site.instances = std::move(part.instances);
  site.blocks = part.blocks;
  site.hot_blocks = std::move(part.hot_blocks);
  site.blocks_by_one_thread = part.blocks_by_one_thread;
  site.sampled_weight = part.sampled_weight;
  site.hot_part = part.hot_part;
}

void count_small_objects(ProfileSummary& summary, const Profile& profile) {
  SmallObjects all;
  std::uint64_t sites = 0;
  for (std::size_t number = 0; number < profile.small_objects.size(); ++number) {
    const SmallObjects& site = profile.small_objects[number];
    if (number < profile.sites.size() && is_runtimes(profile, profile.sites[number])) continue;
    all.objects += site.objects;
    all.bytes += site.bytes;
    sites += site.objects != 0 ? 1 : 0;
  }
  if (all.objects <= summary.small_objects.objects) return;
  summary.small_objects = all;
  summary.small_bytes = std::min(all.bytes, profile.small_areas.size() * k_small_area);
  summary.small_sites = sites;
}

// What the recorder left out, and from when on.
void add_limits(ProfileSummary& summary, const Profile& profile) {
  const auto note = [&](const std::string& text) {
    summary.notes.push_back(profile.file + ": " + text);
  };
  if (!profile.thinnings.empty()) {
    const Thinning &first = profile.thinnings.front(), &last = profile.thinnings.back();
    const std::uint64_t start = profile.run.start_time;
    note("from " + format_duration(double(first.time - std::min(first.time, start))) +
         " on fewer samples were kept, at the end one in " + std::to_string(last.kept_of) +
         " with that much more weight, and objects of busy sites only counted, for the log may not "
         "grow beyond OMPTIER_PROFILE_SIZE");
  }
  static constexpr const char* k_reasons[k_loss_reasons] = {
      nullptr, "blocks came and went faster than the recorder looked",
      "the recorder's own memory was used up (OMPTIER_PROFILE_MEMORY)",
      "the log had reached its largest size (OMPTIER_PROFILE_SIZE)"};
  for (unsigned i = 0; i < k_loss_reasons; ++i)
    if (k_reasons[i] != nullptr && profile.lost_by[i] > 0)
      note(std::to_string(profile.lost_by[i]) + " samples were lost: " + k_reasons[i]);
  const auto short_of = [&](std::uint64_t count, const char* what) {
    if (count > 0)
      note(std::to_string(count) + " " + what +
           ": the recorder's own memory was used up (OMPTIER_PROFILE_MEMORY)");
  };
  const Shortages& shortages = profile.shortages;
  short_of(shortages.objects, "objects were not recorded and their samples are no object's");
  if (shortages.by_caller > 0)
    note(std::to_string(shortages.by_caller) +
         " allocations count for the place that calls malloc, whatever led there: there are more "
         "call stacks than OMPTIER_PROFILE_MEMORY has room for");
  if (shortages.regions_by_caller > 0)
    note(std::to_string(shortages.regions_by_caller) +
         " runs of regions count for their directive, whatever led there: there are more call "
         "stacks than OMPTIER_PROFILE_MEMORY has room for");
  short_of(shortages.runs,
           "runs of regions were not kept: their samples count as outside of regions");
  short_of(shortages.stretches, "stretches between barriers were not recorded");
  const auto too_many = [&](std::uint64_t count, const char* what) {
    if (count > 0)
      note(std::to_string(count) + " " + what +
           ": an eighth of the log is theirs, and is full (OMPTIER_PROFILE_SIZE)");
  };
  too_many(shortages.phases, "changes of phase were not recorded and are in no named phase");
  too_many(shortages.areas, "begins and ends of stacks, libraries or the heap were not recorded");
  too_many(shortages.moves, "moves were not recorded");
}

void average_over_profiles(ProfileSummary& summary, std::size_t profiles) {
  const auto all = static_cast<double>(profiles);
  const double factor = 1 / all;
  for (SiteSummary& site : summary.sites) {
    site.average_over(all);
    for (std::vector<SitePart>* parts : {&site.by_region, &site.by_phase})
      for (SitePart& part : *parts) {
        part.average_over(all);
        part.dealt *= factor;
      }
  }
  const auto average = [&](auto& stretch) {
    stretch.average_over(all);
    stretch.nanoseconds /= profiles;
    stretch.entries = (stretch.entries + profiles - 1) / profiles;
  };
  for (RegionSummary& region : summary.regions) {
    average(region);
    region.entered_anew = (region.entered_anew + profiles - 1) / profiles;
  }
  for (PhaseSummary& phase : summary.phases)
    average(phase);
  for (CodeSummary& code : summary.code) {
    code.weight *= factor;
    for (CodeAtSite& part : code.by_site)
      part.weight *= factor;
  }
  summary.other.average_over(all);
  summary.small.average_over(all);
}

// Sites with small objects only are counted elsewhere. Of areas without accesses, only large
// variables of the program are reported.
bool is_of_interest(const SiteSummary& site, const std::vector<ModuleInfo>& modules) {
  constexpr std::uint64_t k_large = std::uint64_t{64} << 10;
  if (site.kind == SiteKind::allocation || site.kind == SiteKind::mapping ||
      site.kind == SiteKind::runtime)
    return site.objects != 0 || site.samples != 0;
  if (site.samples != 0 || site.kind != SiteKind::variable || site.bytes_peak < k_large)
    return site.samples != 0;
  const ModuleInfo& module = modules[site.frames[0].module];
  return !module.system && !is_runtime_name(module.name.c_str());
}

void sort_sites(ProfileSummary& summary) {
  std::vector<std::uint32_t> order(summary.sites.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](std::uint32_t one, std::uint32_t other) {
    const SiteSummary &a = summary.sites[one], &b = summary.sites[other];
    return a.share.value != b.share.value ? a.share.value > b.share.value
                                          : a.bytes_peak > b.bytes_peak;
  });
  std::vector<SiteSummary> sorted;
  std::vector<std::uint32_t> sorted_as(order.size(), k_no_site);
  std::vector<std::vector<LiveStep>> live;
  for (const std::uint32_t site : order) {
    const SiteSummary& here = summary.sites[site];
    if (!is_of_interest(here, summary.modules)) continue;
    sorted_as[site] = static_cast<std::uint32_t>(sorted.size());
    if (!summary.drawn_live.empty()) live.push_back(std::move(summary.drawn_live[site]));
    sorted.push_back(std::move(summary.sites[site]));
  }
  summary.sites = std::move(sorted);
  summary.drawn_live = std::move(live);
  for (MoveSummary& move : summary.moves)
    if (move.site != k_no_site) move.site = sorted_as[move.site];
  for (AccessesOverTime::OfSite& part : summary.accesses_over_time.sites)
    part.site = sorted_as[part.site]; // it has samples, so it stays
  for (CodeSummary& code : summary.code) {
    for (CodeAtSite& part : code.by_site)
      part.site = sorted_as[part.site];
    std::erase_if(code.by_site, [](const CodeAtSite& part) { return part.site == k_no_site; });
  }
  for (LoopTraffic& loop : summary.traffic) {
    for (LoopTraffic::OfSite& part : loop.sites)
      part.site = sorted_as[part.site];
    std::erase_if(loop.sites, [](const auto& part) { return part.site == k_no_site; });
  }
  for (SiteSummary& site : summary.sites)
    if (site.through != SiteSummary::k_nothing) site.through = sorted_as[site.through];
  for (SiteSummary& site : summary.sites)
    for (std::vector<SitePart>* parts : {&site.by_region, &site.by_phase})
      std::ranges::stable_sort(*parts, std::greater{},
                               [](const SitePart& part) { return part.accesses.total(); });
}

// From samples that say themselves what served them.
Share cache_share_of(const SiteSummary& site) {
  const double known = site.accesses.from_cache + site.accesses.from_memory;
  const double value = share_of(site.accesses.from_cache, known);
  const Interval interval = wilson_interval(value, double(site.samples) * site.level_share);
  return {value, std::min(value, interval.low), std::max(value, interval.high)};
}

class Joining {
public:
  // drawn: number of the profile that pictures over time show.
  Joining(Measure measure, std::size_t profiles, std::size_t drawn, const PlaceInSource& place_of)
      : profiles_(profiles), names_(summary_, place_of) {
    summary_.measure = measure;
    summary_.drawn = static_cast<std::uint32_t>(drawn);
    names_.region({}); // [0] = outside of all regions
  }

  void add(const Profile& profile) {
    add_counts(profile);
    Sweep sweep(summary_, names_, profile);
    sweep.run();
    if (summary_.runs.size() == summary_.drawn + 1) {
      summary_.moves = std::move(sweep.moves);
      summary_.visits = std::move(sweep.visits);
      summary_.accesses_over_time = accesses_over_time(profile, sweep.attributions);
      for (const SiteInProfile& site : sweep.sites)
        if (profiles_ > 1) summary_.drawn_live.push_back(site.live);
    }
    joined_.resize(summary_.sites.size());
    std::vector<RankPart> parts(sweep.sites.size() + 1); // the last: in no object
    for (const Attribution& at : sweep.attributions)
      parts[std::min<std::size_t>(at.site, sweep.sites.size())].weight += double{at.weight};
    for (std::size_t i = 0; i < sweep.sites.size(); ++i) {
      parts[i].bytes_peak = sweep.sites[i].bytes_peak;
      join(summary_.sites[i], joined_[i], sweep.sites[i]);
    }
    ranks_.add(profile, parts);
    phases_.add(profile, names_, sweep.attributions);
    attributions_.push_back(std::move(sweep.attributions));
    patterns_.push_back(std::move(sweep.patterns));
    advances_.push_back(std::move(sweep.advances));
    reuses_.push_back(std::move(sweep.reuses));
    for (const auto& [at, weight] : sweep.blamed_time)
      blamed_[at] += weight;
  }

  ProfileSummary finish() {
    for (const RegionSummary& region : summary_.regions)
      summary_.threads = std::max(summary_.threads, region.threads);
    finish_sites();
    ranks_.finish(summary_);
    average_over_profiles(summary_, profiles_);
    add_intervals(summary_, attributions_);
    phases_.add_shares();
    add_accesses(summary_, patterns_, advances_, blamed_);
    if (summary_.measure == Measure::time) add_cache_shares(summary_, reuses_);
    if (summary_.measure == Measure::time) admit_source_error(summary_);
    if (std::ranges::all_of(summary_.runs,
                            [](const RunRecord& run) { return run.source == "exact"; }))
      close_intervals(summary_);
    sort_sites(summary_);
    if (std::string thin = too_few_samples(summary_); !thin.empty())
      summary_.notes.push_back(std::move(thin));
    return std::move(summary_);
  }

private:
  void add_counts(const Profile& profile) {
    summary_.runs.push_back(profile.run);
    if (!profile.cut.empty()) summary_.notes.push_back(profile.cut);
    summary_.running += profile.running ? 1 : 0;
    add_limits(summary_, profile);
    count_small_objects(summary_, profile);
    summary_.samples_lost += profile.samples_lost;
    summary_.samples_waiting += profile.samples_waiting;
    summary_.loops += profile.shortages.loops;
    waiting_ += profile.waiting;
    summary_.worst_error = std::max(summary_.worst_error, error_left(profile));
    summary_.log_bytes += profile.bytes;
    summary_.threads = std::max(summary_.threads, threads_at_once(profile.samples));
    const std::uint64_t nanoseconds =
        profile.last_time - std::min(profile.last_time, profile.run.start_time);
    summary_.nanoseconds = std::max(summary_.nanoseconds, nanoseconds);
    summary_.mean_nanoseconds += double(nanoseconds) / double(profiles_);
  }

  void finish_sites() {
    if (profiles_ > 1) summary_.drawn_live.resize(summary_.sites.size());
    for (std::size_t i = 0; i < joined_.size(); ++i) {
      SiteSummary& site = summary_.sites[i];
      const double weight = site.accesses.total();
      site.mean_latency = share_of(joined_[i].latency_sum, joined_[i].latency_weight);
      const double known = site.accesses.from_cache + site.accesses.from_memory;
      site.level_share = share_of(known, weight);
      if (known > 0) site.cache = cache_share_of(site);
    }
    summary_.waiting_share = share_of(waiting_, waiting_ + weight_of_all(summary_));
  }

  std::size_t profiles_;
  ProfileSummary summary_;
  Names names_;
  PhaseTable phases_{summary_};
  RankTable ranks_;
  std::vector<JoinedSite> joined_;                     // by number
  std::vector<std::vector<Attribution>> attributions_; // one per profile
  std::vector<std::vector<PatternAt>> patterns_;       // one per profile
  std::vector<AdvanceRates> advances_;                 // the same
  std::vector<std::vector<ReuseAt>> reuses_;           // one per profile
  BlamedTime blamed_;                                  // of all profiles
  double waiting_ = 0;
};

} // namespace

const char* name_of(SiteKind kind) {
  static constexpr const char* k_names[] = {"allocation", "mapping", "static", "statics",
                                            "constants",  "stacks",  "heap",   "runtime"};
  return k_names[static_cast<unsigned>(kind)];
}

Parsed<ProfileSummary> summarize(std::span<const Profile> profiles,
                                 const PlaceInSource& place_of) {
  if (profiles.empty()) return Parsed<ProfileSummary>::failure("no profile given");
  const Profile* measured = &profiles[0]; // the first that has samples
  for (const Profile& profile : profiles) {
    if (profile.samples.empty()) continue;
    if (measured->samples.empty()) measured = &profile;
    if (profile.run.measure != measured->run.measure)
      return Parsed<ProfileSummary>::failure(
          profile.file + " and " + profiles[0].file +
          " measure different things (time, accesses or misses); give profiles of one source");
  }
  const auto drawn = static_cast<std::size_t>(measured - profiles.data());
  Joining joining(measured->run.measure, profiles.size(), drawn, place_of);
  for (const Profile& profile : profiles)
    joining.add(profile);
  return joining.finish();
}

Parsed<ProfileSummary> summarize_files(std::span<const std::string> paths,
                                       const StaticsOf& statics_of, Programs programs,
                                       const PlaceInSource& place_of,
                                       const std::function<void(const Profile&)>& met) {
  std::vector<Profile> profiles;
  for (const std::string& path : paths) {
    Parsed<Profile> profile = read_profile(path);
    if (!profile) return Parsed<ProfileSummary>::failure(profile.error());
    if (programs == Programs::one && !profiles.empty() &&
        profile->run.program != profiles[0].run.program)
      return Parsed<ProfileSummary>::failure(
          path + " is a profile of " + profile->run.program + ", " + paths[0] + " one of " +
          profiles[0].run.program + ": give profiles of one program, or --force");
    if (met) met(*profile);
    add_areas(*profile, statics_of);
    profiles.push_back(std::move(*profile));
  }
  return summarize(profiles, place_of);
}

double weight_of_all(const ProfileSummary& summary) {
  double weight = summary.other.accesses.total() + summary.small.accesses.total();
  for (const SiteSummary& site : summary.sites)
    weight += site.accesses.total();
  return weight;
}

bool is_consistent(const ProfileSummary& summary, std::string& why_not) {
  double sum = summary.other.share.value + summary.small.share.value;
  for (const SiteSummary& site : summary.sites) {
    sum += site.share.value;
    if (site.share.low > site.share.value || site.share.high < site.share.value) {
      why_not = "an interval does not hold its share";
      return false;
    }
    for (std::size_t i = 1; i < site.live.size(); ++i)
      if (site.live[i].time <= site.live[i - 1].time) {
        why_not = "steps of live bytes are out of order";
        return false;
      }
    for (const LiveStep& step : site.live)
      if (step.bytes > site.bytes_peak || step.bytes > site.bytes_total) {
        why_not = "live bytes exceed the peak";
        return false;
      }
  }
  if (summary.samples > 0 && std::abs(sum - 1) > 1e-6) {
    why_not = "shares do not add up to 1";
    return false;
  }
  return true;
}

} // namespace omptier
