// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See access_shares.hpp.
#include "analysis/access_shares.hpp"

#include "analysis/resampling.hpp"
#include "analysis/shares.hpp"
#include "model/demand.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace omptier {
namespace {

constexpr std::size_t k_draws = 400;

// Of values drawn around one: how far 95 % of them go below and above it.
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

// Errors that have nothing to do with each other.
void widen(Share& share, const Deviation& by) {
  share.low = std::max(0.0, share.value - std::hypot(share.value - share.low, by.below));
  share.high = std::min(1.0, share.value + std::hypot(share.high - share.value, by.above));
}

// Sums by site, drawn k_draws times.
struct Drawn {
  std::vector<double> accessed = std::vector<double>(k_draws);
  std::vector<double> written = std::vector<double>(k_draws);
};

// Factors of one loop's speed, whose mean is the expected speed's.
std::vector<double> factors_of(std::minstd_rand& random, double spread) {
  std::vector<double> factors(k_draws);
  std::normal_distribution<double> normal;
  for (double& factor : factors)
    factor = std::exp(spread * normal(random));
  return factors;
}

// What prefetchers follow.
bool is_streamed(const ObjectPattern& pattern) {
  return pattern.kind == PatternKind::sequential ||
         (pattern.kind == PatternKind::strided && std::abs(pattern.stride) <= k_prefetched_stride);
}

void set_manner(AccessWeights& weights, const ObjectPattern& pattern, double written) {
  const double all = weights.total();
  weights.scattered_load = weights.streamed_load = weights.scattered_store =
      weights.streamed_store = weights.unknown = 0;
  if (pattern.kind == PatternKind::unknown) {
    weights.unknown = all;
    return;
  }
  const bool streamed = is_streamed(pattern);
  (streamed ? weights.streamed_load : weights.scattered_load) = all * (1 - written);
  (streamed ? weights.streamed_store : weights.scattered_store) = all * written;
}

} // namespace

void set_manners(ProfileSummary& summary, SamplesOfSites samples) {
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    SiteSummary& site = summary.sites[i];
    std::map<std::uint32_t, SiteInLoop> by_region;
    for (const SiteInLoop& sample : samples[i]) {
      SiteInLoop& sum = by_region[sample.region];
      sum.bytes += sample.bytes;
      sum.written += sample.written;
    }
    const double written = site.write_share.value;
    set_manner(site.accesses, site.pattern, written);
    for (SitePart& part : site.by_phase)
      set_manner(part.accesses, site.pattern, written);
    for (SitePart& part : site.by_region) {
      const auto at = by_region.find(part.of);
      const bool known = at != by_region.end() && at->second.bytes > 0;
      set_manner(part.accesses, site.pattern,
                 known ? at->second.written / at->second.bytes : written);
    }
  }
  set_manner(summary.other.accesses, {}, 0);
  set_manner(summary.small.accesses, {}, 0);
  for (RegionSummary& region : summary.regions)
    set_manner(region.accesses, {}, 0);
  for (PhaseSummary& phase : summary.phases)
    set_manner(phase.accesses, {}, 0);
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
