// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a profile to a workload. Misses and accesses are taken as counted. Nanoseconds blamed on a
// site are divided by the cost of one access on the memory that the program ran in, which gives
// accesses to price elsewhere. Accesses of unknown kind count as scattered loads, for which a core
// waits longest. Accesses known to be served by a cache are no demand; unknown ones are.
// The kernel's clears of huge pages are none either: how many there are depends on where the blocks
// lie, so they are counted apart (SiteDemand::new_pages).
#pragma once

#include "advisor/terms.hpp"
#include "advisor/workload.hpp"
#include "analysis/aggregate.hpp"
#include "platform/platform.hpp"

#include <string>
#include <vector>

namespace omptier {

// Names for people, in the order of the summary's sites, regions, and barriers that end its phases.
struct EvidenceNames {
  std::vector<std::string> sites, regions;
  std::vector<std::string> barriers = {};
  std::vector<bool> reductions = {}; // of these barriers: it is a call of a reduction
};

// A workload's regions are those of the summary, then its phases as stretches of them.
inline std::uint32_t number_of_stretch(const ProfileSummary& summary, std::uint32_t phase) {
  return static_cast<std::uint32_t>(summary.regions.size()) + phase;
}
// The region that one of the workload's is, or is part of.
inline std::uint32_t region_around(const ProfileSummary& summary, std::uint32_t number) {
  const auto regions = static_cast<std::uint32_t>(summary.regions.size());
  return number < regions ? number : summary.phases[number - regions].region;
}

// recorded_in: figures of the memory that the recorded run used (only needed for Measure::time).
// cache: where the program is to run; if unknown, as recorded.
Workload workload_from(const ProfileSummary& summary, const EvidenceNames& names,
                       const Figures& recorded_in, const Terms& terms = {},
                       const CachePart& cache = {});

} // namespace omptier
