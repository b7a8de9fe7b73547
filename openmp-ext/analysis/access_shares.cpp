// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See access_shares.hpp.
#include "analysis/access_shares.hpp"

#include "analysis/share_intervals.hpp"
#include "analysis/shares.hpp"
#include "model/demand.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace omptier {
namespace {

constexpr std::size_t k_draws = 400;

// Of random values around a true one: how far 95 % of them lie below and above.
struct Deviation {
  double below = 0, above = 0;
};

Deviation deviation_of(std::vector<double>& drawn, double value) {
  const auto at = [&](double fraction) {
    const auto place = drawn.begin() + static_cast<std::ptrdiff_t>(fraction * double(k_draws - 1));
    std::ranges::nth_element(drawn, place);
    return *place;
  };
  const double low = at(0.025), high = at(0.975);
  return {std::max(0.0, value - low), std::max(0.0, high - value)};
}

// For independent errors.
void widen(Share& share, const Deviation& by) {
  share.low = std::max(0.0, share.value - std::hypot(share.value - share.low, by.below));
  share.high = std::min(1.0, share.value + std::hypot(share.high - share.value, by.above));
}

struct Drawn {
  std::vector<double> accessed = std::vector<double>(k_draws);
  std::vector<double> written = std::vector<double>(k_draws);
};

// Factors of one loop's speed; their mean is the factor of the expected speed.
std::vector<double> factors_of(std::minstd_rand& random, double spread) {
  std::vector<double> factors(k_draws);
  std::normal_distribution<double> normal;
  for (double& factor : factors)
    factor = std::exp(spread * normal(random));
  return factors;
}

// Patterns that prefetchers follow.
bool is_streamed(const ObjectPattern& pattern) {
  return pattern.kind == PatternKind::sequential ||
         (pattern.kind == PatternKind::strided && std::abs(pattern.stride) <= k_prefetched_stride);
}

// time: of each kind; written: the part of all kinds together.
void set_manner(AccessWeights& weights, const KindsOfSite::Time& time, const PatternParts& parts,
                double written) {
  const double all = weights.total(), sum = std::accumulate(time.begin(), time.end(), 0.0);
  weights.scattered_load = weights.streamed_load = weights.scattered_store =
      weights.streamed_store = weights.unknown = 0;
  for (std::size_t kind = 0; kind < time.size(); ++kind) {
    if (!(time[kind] > 0)) continue;
    const double part = all * (time[kind] / sum);
    if (static_cast<PatternKind>(kind) == PatternKind::unknown) {
      weights.unknown += part;
      continue;
    }
    const bool alone = !(time[kind] < sum) || !(parts.bytes(kind) > 0);
    const double stores = alone ? written : parts.stored[kind] / parts.bytes(kind);
    const bool streamed =
        is_streamed({static_cast<PatternKind>(kind), PatternKind::unknown, parts.stride, 0});
    (streamed ? weights.streamed_load : weights.scattered_load) += part * (1 - stores);
    (streamed ? weights.streamed_store : weights.scattered_store) += part * stores;
  }
}

KindsOfSite::Time of_one_kind(PatternKind kind) {
  KindsOfSite::Time time{};
  time[static_cast<std::size_t>(kind)] = 1;
  return time;
}

// In all regions together; where no time is known, all goes to the site's one pattern.
KindsOfSite::Time time_of(const KindsOfSite& kinds) {
  KindsOfSite::Time sum{};
  for (const auto& [region, time] : kinds.time)
    for (std::size_t kind = 0; kind < sum.size(); ++kind)
      sum[kind] += time[kind];
  return std::accumulate(sum.begin(), sum.end(), 0.0) > 0 ? sum
                                                          : of_one_kind(kinds.parts.whole.kind);
}

void set_unknown(AccessWeights& weights) {
  set_manner(weights, of_one_kind(PatternKind::unknown), {}, 0);
}

} // namespace

void forget_strange_patterns(ProfileSummary& summary, std::span<const KindsOfSite> kinds) {
  constexpr double k_hardly = 0.2; // of the time
  for (std::size_t i = 0; i < kinds.size() && i < summary.sites.size(); ++i) {
    SiteSummary& site = summary.sites[i];
    const KindsOfSite::Time time = time_of(kinds[i]);
    const double all = std::accumulate(time.begin(), time.end(), 0.0);
    const double known = all - time[static_cast<std::size_t>(PatternKind::unknown)];
    if (site.samples == 0 || known >= k_hardly * all) continue;
    site.pattern = {};
    site.write_share = {0, 0, 1};
  }
}

void name_second_kinds(ProfileSummary& summary, std::span<const KindsOfSite> kinds) {
  constexpr double k_much = 0.25, k_enough = 10; // samples
  for (std::size_t i = 0; i < kinds.size() && i < summary.sites.size(); ++i) {
    const PatternParts& parts = kinds[i].parts;
    ObjectPattern& pattern = summary.sites[i].pattern;
    const KindsOfSite::Time time = time_of(kinds[i]);
    const double all_time = std::accumulate(time.begin(), time.end(), 0.0);
    double bytes = 0, most = 0;
    for (std::size_t kind = 0; kind < k_pattern_kinds; ++kind)
      bytes += parts.bytes(kind);
    for (std::size_t kind = 1; kind < k_pattern_kinds; ++kind) {
      if (static_cast<PatternKind>(kind) == pattern.kind) continue;
      const double much = std::max(share_of(parts.bytes(kind), bytes), time[kind] / all_time);
      if (much < k_much || much <= most) continue;
      if (much * double(summary.sites[i].samples) < k_enough) continue;
      most = much;
      pattern.also = static_cast<PatternKind>(kind);
      if (pattern.also != PatternKind::strided) continue;
      pattern.stride = parts.stride;
      pattern.several = parts.several;
    }
  }
}

std::vector<double> admit_lost(ProfileSummary& summary, SamplesOfSites samples,
                               const std::map<std::uint32_t, SiteInLoop>& lost) {
  // Fractions of the time and of the accesses.
  constexpr double k_much_time = 0.2, k_some_time = 0.05, k_hardly = 0.0005;
  std::vector<double> unseen(summary.sites.size());
  double all = 0;
  for (const std::vector<SiteInLoop>& site : samples)
    for (const SiteInLoop& sample : site)
      all += sample.bytes;
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    SiteSummary& site = summary.sites[i];
    std::set<std::uint32_t> loops;
    double bytes = 0, more = 0, written = 0, perhaps = 0;
    for (const SiteInLoop& sample : samples[i]) {
      bytes += sample.bytes;
      perhaps += sample.perhaps;
      if (const auto at = lost.find(sample.loop); at != lost.end() && loops.insert(at->first).second)
        more += at->second.bytes, written += at->second.written;
    }
    unseen[i] = more;
    Share& accessed = site.access_share;
    accessed.high = std::min(1.0, accessed.high + share_of(more + perhaps, all));
    const bool waits = summary.measure == Measure::time &&
                       (site.share.value >= k_much_time ? accessed.value < k_hardly
                                                        : site.share.value >= k_some_time &&
                                                              !(bytes > 0));
    if (waits) accessed.high = 1;
    if (!(bytes > 0)) continue;
    Share& stores = site.write_share;
    stores.low *= bytes / (bytes + more - written);
    written += perhaps;
    stores.high = (stores.high * bytes + written) / (bytes + written);
  }
  return unseen;
}

void set_manners(ProfileSummary& summary, SamplesOfSites samples,
                 std::span<const KindsOfSite> kinds) {
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    SiteSummary& site = summary.sites[i];
    std::map<std::uint32_t, SiteInLoop> by_region;
    for (const SiteInLoop& sample : samples[i]) {
      SiteInLoop& sum = by_region[sample.region];
      sum.bytes += sample.bytes;
      sum.written += sample.written;
    }
    const double written = site.write_share.value;
    KindsOfSite of_site;
    of_site.parts.whole = site.pattern;
    of_site.parts.stride = site.pattern.stride;
    if (!kinds.empty()) of_site = kinds[i];
    const KindsOfSite::Time all = time_of(of_site);
    set_manner(site.accesses, all, of_site.parts, written);
    for (SitePart& part : site.by_phase)
      set_manner(part.accesses, all, of_site.parts, written);
    for (SitePart& part : site.by_region) {
      const auto at = by_region.find(part.of);
      const bool known = at != by_region.end() && at->second.bytes > 0;
      const auto time = of_site.time.find(part.of);
      set_manner(part.accesses, time != of_site.time.end() ? time->second : all, of_site.parts,
                 known ? at->second.written / at->second.bytes : written);
    }
  }
  set_unknown(summary.other.accesses);
  set_unknown(summary.small.accesses);
  for (RegionSummary& region : summary.regions)
    set_unknown(region.accesses);
  for (PhaseSummary& phase : summary.phases)
    set_unknown(phase.accesses);
}

double unseen_filling(std::span<const SiteInLoop> samples, const SiteSummary& site,
                      double profiles) {
  double seen = 0;
  for (const SiteInLoop& sample : samples)
    if (sample.written >= sample.bytes) seen += sample.written;
  return std::max(0.0, static_cast<double>(site.bytes_total) * profiles - seen);
}

Share written_share(std::span<const SiteInLoop> samples) {
  double bytes = 0, written = 0, squares = 0, differ = 0;
  for (const SiteInLoop& sample : samples) {
    bytes += sample.bytes;
    written += sample.written;
    squares += sample.bytes * sample.bytes;
  }
  if (!(bytes > 0)) return {0, 0, 1};
  const double value = std::clamp(written / bytes, 0.0, 1.0);
  for (const SiteInLoop& sample : samples) {
    const double off = sample.written - value * sample.bytes;
    differ += off * off;
  }
  const double error = k_deviations * std::sqrt(differ) / bytes;
  const double one_more = 1 / (bytes * bytes / squares + 1);
  return {value, std::max(0.0, value - std::hypot(error, value * one_more)),
          std::min(1.0, value + std::hypot(error, (1 - value) * one_more))};
}

void admit_unknown_speeds(ProfileSummary& summary, SamplesOfSites samples,
                          std::span<const double> spreads) {
  const auto sites = static_cast<std::uint32_t>(summary.sites.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, SiteInLoop> sums; // by loop and site
  for (std::uint32_t site = 0; site <= sites; ++site)
    for (const SiteInLoop& sample : samples[site]) {
      SiteInLoop& sum = sums[{sample.loop, site}];
      sum.bytes += sample.bytes;
      sum.written += sample.written;
    }
  std::map<std::uint32_t, Drawn> drawn; // by site
  std::vector<double> all(k_draws), factors;
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> uniform;
  std::uint32_t drawn_for = ~std::uint32_t{0};
  for (const auto& [key, sum] : sums) {
    if (key.first != drawn_for) factors = factors_of(random, spreads[drawn_for = key.first]);
    Drawn& site = drawn[key.second];
    for (std::size_t i = 0; i < k_draws; ++i) {
      all[i] += sum.bytes * factors[i];
      site.accessed[i] += sum.bytes * factors[i];
      site.written[i] += sum.written * factors[i];
    }
  }
  for (std::uint32_t i = 0; i < sites; ++i) {
    SiteSummary& site = summary.sites[i];
    site.write_share = written_share(samples[i]);
    const double unseen =
        unseen_filling(samples[i], site, static_cast<double>(summary.runs.size()));
    if (summary.measure != Measure::time || !(unseen > 0)) continue;
    Drawn& sum = drawn[i];
    for (std::size_t draw = 0; draw < k_draws; ++draw) {
      const double filled = unseen * uniform(random);
      all[draw] += filled;
      sum.accessed[draw] += filled;
      sum.written[draw] += filled;
    }
  }
  for (auto& [number, site] : drawn) {
    for (std::size_t i = 0; i < k_draws; ++i) {
      site.written[i] = share_of(site.written[i], site.accessed[i]);
      site.accessed[i] = share_of(site.accessed[i], all[i]);
    }
    Share& accessed =
        number < sites ? summary.sites[number].access_share : summary.other_access_share;
    widen(accessed, deviation_of(site.accessed, accessed.value));
    if (number == sites || samples[number].empty()) continue;
    Share& written = summary.sites[number].write_share;
    widen(written, deviation_of(site.written, written.value));
  }
}

} // namespace omptier
