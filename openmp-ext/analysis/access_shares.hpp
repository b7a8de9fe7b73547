// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each object's share of the bytes accessed, and what part of its own is written. Two things make
// them uncertain: which loops were sampled how often, and how fast those run of which no pace is
// known. The latter is drawn anew a few hundred times, each loop by itself: where all loops that
// access an object do to it what is asked, their speeds do not matter, and the interval is narrow.
// An object's filling that no sample saw may be missing, too.
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
};
using SamplesOfSites = std::span<const std::vector<SiteInLoop>>; // by site; the last: of none

// Bytes of a site that may have been written by loops that no sample saw: what is read was written
// once, and a fast loop takes less time than there is between two samples. Less what
// samples saw in loops that only write it. profiles: that the samples are of.
double unseen_filling(std::span<const SiteInLoop> samples, const SiteSummary& site,
                      double profiles);

// The part that is written, of bytes that so many samples tell of. Also covers one sample more that
// only reads or only writes. Nothing is known of no bytes: from 0 to 1.
Share written_share(std::span<const SiteInLoop> samples);

// Sets each site's write_share, and widens the intervals of access shares by what is not known of
// loops. spreads: by loop, standard deviation of the logarithm of its speed.
void admit_unknown_speeds(ProfileSummary& summary, SamplesOfSites samples,
                          std::span<const double> spreads);

// Accesses of a loop whose addresses were lost may be those of any site that the loop accesses, or
// that its samples were blamed on: widens the intervals of these. So does a site that takes much
// time and of which hardly an access was seen. lost: by loop. Returns, by site, how many bytes more
// may be its.
std::vector<double> admit_lost(ProfileSummary& summary, SamplesOfSites samples,
                               const std::map<std::uint32_t, SiteInLoop>& lost);

// A site's kinds of pattern, and the time that was blamed on instructions of each, by region.
struct KindsOfSite {
  using Time = std::array<double, k_pattern_kinds>;
  PatternParts parts;
  std::map<std::uint32_t, Time> time;
};

// A kind that has a quarter of an object's bytes or time is named beside the one with most bytes.
void name_second_kinds(ProfileSummary& summary, std::span<const KindsOfSite> kinds);

// Of samples of time: what an instruction does to an object say the loops around the samples; how
// much of the time is whose say the samples that were blamed on it. Loads and stores are divided as
// the accesses are, not as blame is, for stores do not wait. Divides the weights of the site and of
// its parts; unknown where no loop was seen. kinds: by site; empty = every site has its one pattern.
void set_manners(ProfileSummary& summary, SamplesOfSites samples,
                 std::span<const KindsOfSite> kinds = {});

} // namespace omptier
