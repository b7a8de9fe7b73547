// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The run in equal steps of time, for pictures: which bytes lived, which regions and phases ran,
// which objects were accessed and where in them. What is kept does not grow with the run.
#pragma once

#include "analysis/aggregate.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

struct Attribution;

inline constexpr std::size_t k_time_steps = AccessesOverTime::k_steps;
inline constexpr std::size_t k_live_sites = 12;
inline constexpr std::size_t k_ran_most = 12; // regions, and named phases

// The k_sites objects with most samples in one profile, most first. attributions: of its samples.
AccessesOverTime accesses_over_time(const Profile& profile,
                                    std::span<const Attribution> attributions);

// Live bytes at that moment of each step at which most were live in all: no peak is lost, and the
// sites add up to the whole.
struct LiveOverTime {
  using Bytes = std::array<std::uint64_t, k_time_steps>;
  struct OfSite {
    std::uint32_t site = 0;
    Bytes bytes{};
  };
  Bytes all{};
  LiveStep most;             // the moment at which most lived
  std::vector<OfSite> sites; // the k_live_sites with the highest peaks, highest first
};
LiveOverTime live_over_time(const ProfileSummary& summary);

// Length of the run whose course all this is; of several profiles it is the first with samples.
std::uint64_t drawn_nanoseconds(const ProfileSummary& summary);

// The part of each step in which a region or phase ran, of the visits that the profile holds.
struct RanOverTime {
  std::uint32_t of = 0; // index into regions or phases
  std::array<double, k_time_steps> parts{};
};
// Those that ran longest, k_ran_most of them, in the order of their numbers.
std::vector<RanOverTime> regions_over_time(const ProfileSummary& summary);
std::vector<RanOverTime> phases_over_time(const ProfileSummary& summary);

} // namespace omptier
