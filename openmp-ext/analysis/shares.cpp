// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See shares.hpp.
#include "analysis/shares.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {

constexpr double k_some_indirect = 0.1; // of an object's bytes, to name what they go through

// Multiple of a source's worst error, for sites that share a region's time with others.
constexpr double k_divided = 4.0 / 3;

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Share make_share(double value, Interval interval) {
  return {value, std::min(value, interval.low), std::max(value, interval.high)};
}

// Blame errs between the blocks of a site as it does between the sites of a region.
Share share_of_blocks(const ProfileSummary& summary, const SiteSummary& site, double weight) {
  const double part = std::min(share_of(weight, site.sampled_weight), 1.0);
  const double value = site.share.value * part;
  if (site.samples > 0 && site.share.low == site.share.high) return {value, value, value};
  const Interval interval = wilson_interval(part, double(site.samples));
  const double error = summary.measure == Measure::time
                           ? summary.worst_error * k_divided * part * (1 - part)
                           : 0;
  return {value, site.share.low * std::max(0.0, interval.low - error),
          site.share.high * std::min(1.0, interval.high + error)};
}

void close_intervals(ProfileSummary& summary) {
  const auto close = [](Share& share) { share.low = share.high = share.value; };
  close(summary.other.share);
  close(summary.small.share);
  close(summary.other_access_share);
  for (SiteSummary& site : summary.sites) {
    close(site.share);
    close(site.access_share);
    close(site.write_share);
    for (std::vector<SitePart>* parts : {&site.by_region, &site.by_phase})
      for (SitePart& part : *parts)
        close(part.share);
  }
  for (RegionSummary& region : summary.regions)
    close(region.share);
  for (PhaseSummary& phase : summary.phases)
    close(phase.share);
}

void add_intervals(ProfileSummary& summary, const std::vector<std::vector<Attribution>>& runs) {
  const std::size_t sites = summary.sites.size();
  const double total = weight_of_all(summary);
  std::vector<std::vector<WeightedSample>> by_site, by_region;
  std::vector<std::vector<std::vector<WeightedSample>>> in_region(summary.regions.size());
  for (const auto& run : runs) {
    by_site.emplace_back();
    by_region.emplace_back();
    for (auto& region : in_region)
      region.emplace_back();
    for (const Attribution& at : run) {
      const auto group = static_cast<std::uint32_t>(at.site == k_no_site         ? sites
                                                    : at.site == k_small_objects ? sites + 1
                                                                                 : at.site);
      by_site.back().push_back({group, at.weight});
      by_region.back().push_back({at.region, at.weight});
      in_region[at.region].back().push_back({group, at.weight});
    }
  }
  const std::vector<Interval> of_sites = share_intervals(by_site, sites + 2);
  for (std::size_t i = 0; i < sites; ++i)
    summary.sites[i].share =
        make_share(share_of(summary.sites[i].accesses.total(), total), of_sites[i]);
  summary.other.share =
      make_share(share_of(summary.other.accesses.total(), total), of_sites[sites]);
  summary.small.share =
      make_share(share_of(summary.small.accesses.total(), total), of_sites[sites + 1]);
  const std::vector<Interval> of_regions = share_intervals(by_region, summary.regions.size());
  for (std::size_t i = 0; i < summary.regions.size(); ++i)
    summary.regions[i].share =
        make_share(share_of(summary.regions[i].accesses.total(), total), of_regions[i]);
  for (std::size_t region = 0; region < summary.regions.size(); ++region) {
    if (summary.regions[region].samples == 0) continue;
    const std::vector<Interval> intervals = share_intervals(in_region[region], sites + 2);
    for (std::size_t i = 0; i < sites; ++i)
      for (SitePart& part : summary.sites[i].by_region)
        if (part.of == region)
          part.share =
              make_share(share_of(part.accesses.total(), summary.regions[region].accesses.total()),
                         intervals[i]);
  }
}

double error_left(const Profile& profile) {
  // From benchmarks/profiler-accuracy --time: at most 14 points by clang, 31 by gcc (triad). A
  // source that finds no addresses has worst error 1: its time was not shared.
  constexpr double k_shared = 0.25;
  const double error = profile.run.worst_error;
  const bool shared = profile.run.measure == Measure::time && !profile.patterns.empty();
  return shared && error < 1 ? std::min(error, k_shared) : error;
}

void admit_source_error(ProfileSummary& summary) {
  // In parts of the worst error: a little for every site, more for sites that share a region's time
  // with others. Time given to other streams may be wrong altogether, or as much more may be
  // missing: the interval goes from blame alone to traffic alone (streams.hpp).
  constexpr double k_least = 1.0 / 12;
  const auto widen = [](Share& share, double error) {
    share.low = std::max(0.0, share.low - error);
    share.high = std::min(1.0, share.high + error);
  };
  // Includes sites all of whose samples were given to others.
  const auto blamed = [](const SiteSummary& site) {
    return site.samples > 0 ||
           std::ranges::any_of(site.by_region, [](const auto& part) { return part.dealt != 0; });
  };
  for (SiteSummary& site : summary.sites) {
    if (!blamed(site)) continue;
    double all = summary.worst_error * k_least;
    for (SitePart& part : site.by_region) {
      const RegionSummary& region = summary.regions[part.of];
      const double value = part.share.value;
      const double error = summary.worst_error * k_divided * value * (1 - value) +
                           std::abs(share_of(part.dealt, region.accesses.total()));
      widen(part.share, summary.worst_error * k_least + error);
      all += region.share.value * error; // blame errs within a region, not between regions
    }
    widen(site.share, all);
  }
}

void add_patterns(ProfileSummary& summary, const std::vector<SiteEvidence>& evidence,
                  std::vector<std::vector<WeightedSample>>& runs) {
  const auto sites = static_cast<std::uint32_t>(summary.sites.size());
  double total = 0, other = 0;
  for (auto& run : runs)
    for (WeightedSample& access : run) {
      if (access.group == k_no_site) access.group = sites;
      total += double{access.weight};
      if (access.group == sites) other += double{access.weight};
    }
  const std::vector<Interval> intervals = share_intervals(runs, sites + 1);
  summary.other_access_share = make_share(share_of(other, total), intervals[sites]);
  for (std::uint32_t i = 0; i < sites && i < evidence.size(); ++i) {
    SiteSummary& site = summary.sites[i];
    const PatternEvidence& pattern = evidence[i].pattern;
    site.access_share = make_share(share_of(evidence[i].bytes, total), intervals[i]);
    site.pattern = pattern.decide();
    double most = k_some_indirect * pattern.bytes();
    for (const auto& [through, bytes] : evidence[i].through)
      if (bytes > 0 && bytes >= most) {
        most = bytes;
        site.through = through;
      }
  }
}

} // namespace omptier
