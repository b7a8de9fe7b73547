// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each object's share of the bytes accessed, and the part of its own bytes that is written. Two
// things make these uncertain: how often each loop was sampled, and how fast loops without a known
// pace run. Such speeds are drawn at random a few hundred times, each loop by itself. If all loops
// that access an object do the same to it, their speeds cancel and the interval is narrow. An
// initial filling that no sample saw also widens the interval.
#pragma once

#include "analysis/aggregate.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace omptier {

// What the loop around one sample accessed of one site.
struct SiteInLoop {
  std::uint64_t sample = 0;
  std::uint32_t loop = 0; // of the spreads below
  std::uint32_t region = 0;
  double bytes = 0, written = 0;
  double perhaps = 0; // of bytes: loaded, and perhaps stored as well
};
using SamplesOfSites = std::span<const std::vector<SiteInLoop>>; // by site; the last: of none

// Bytes of a site that loops without samples may have written: data that are read were written
// once, and a fast loop takes less time than there is between two samples. Without the bytes that
// samples saw in loops that only write the site. profiles: how many the samples are of.
double unseen_filling(std::span<const SiteInLoop> samples, const SiteSummary& site,
                      double profiles);

// The part that is written of the bytes in these samples. The interval also covers one more sample
// that only reads or only writes. Without bytes nothing is known: 0 to 1.
Share written_share(std::span<const SiteInLoop> samples);

// Sets each site's write_share, and widens the intervals of access shares by what is unknown about
// loops. spreads: by loop, standard deviation of the logarithm of its speed.
void admit_unknown_speeds(ProfileSummary& summary, SamplesOfSites samples,
                          std::span<const double> spreads);

// If addresses of a loop's accesses were lost, the accesses may belong to any site that the loop
// accesses or that its samples were blamed on: widens the intervals of these sites. Does the same
// for a site that takes much time but of which hardly an access was seen. lost: by loop. Returns,
// by site, how many bytes more it may have.
std::vector<double> admit_lost(ProfileSummary& summary, SamplesOfSites samples,
                               const std::map<std::uint32_t, SiteInLoop>& lost);

// A site's kinds of pattern, and by region the time blamed on instructions of each kind.
struct KindsOfSite {
  using Time = std::array<double, k_pattern_kinds>;
  PatternParts parts;
  std::map<std::uint32_t, Time> time;
};

// Nothing is said of the pattern, loads and stores of an object most of whose time was spent in
// loops that could not be followed: what was seen elsewhere, in a loop that fills it, is no sign of
// them.
void forget_strange_patterns(ProfileSummary& summary, std::span<const KindsOfSite> kinds);

// Beside the kind with most bytes, names a kind that has a quarter of the object's bytes or time.
void name_second_kinds(ProfileSummary& summary, std::span<const KindsOfSite> kinds);

// For samples of time. The loops around samples say what an instruction does to an object; the
// samples blamed on it say how much of the time that is. Loads and stores are divided as the
// accesses are, not as blame is, because stores do not wait. Divides the weights of the site and of
// its parts; unknown where no loop was seen. kinds: by site; empty = every site has its one
// pattern.
void set_manners(ProfileSummary& summary, SamplesOfSites samples,
                 std::span<const KindsOfSite> kinds = {});

} // namespace omptier
