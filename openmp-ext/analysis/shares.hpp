// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shares with their 95 % intervals: of samples by site, by region and within regions; of the bytes
// that instructions accessed, with the pattern of each site.
#pragma once

#include "analysis/attribution.hpp"

namespace omptier {

// 0 if whole is 0.
double share_of(double part, double whole);

// The interval is extended to hold the value.
Share make_share(double value, Interval interval);

// Share of all samples of some of a site's blocks. weight: part of SiteSummary::sampled_weight.
Share share_of_blocks(const ProfileSummary& summary, const SiteSummary& site, double weight);

// Of all samples by site and by region, and of a region's samples by site. runs: one per profile.
void add_intervals(ProfileSummary& summary, const std::vector<std::vector<Attribution>>& runs);

// Shares of the bytes accessed, and in which pattern. runs: one per profile.
void add_patterns(ProfileSummary& summary, const std::vector<SiteEvidence>& evidence,
                  std::vector<std::vector<WeightedSample>>& runs);

// The source's worst error, reduced where time was shared among streams (streams.hpp).
double error_left(const Profile& profile);

// Shares of time have an error that no number of samples removes: a streamed store waits unseen, a
// load hides behind another. Widens the intervals of sites by the source's usual error where it was
// measured (benchmarks/profiler-accuracy --time), a fraction of its worst error.
void admit_source_error(ProfileSummary& summary);

// For counts of every access, which have no sampling error: makes each interval its share.
void close_intervals(ProfileSummary& summary);

} // namespace omptier
