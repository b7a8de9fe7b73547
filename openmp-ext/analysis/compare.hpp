// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What changed from one profile of a program to another, and what of that is more than noise.
// Intervals of differences are made from the profiles' own 95 % intervals, taken as independent
// (square and add: Newcombe 1998). Of many figures some differ by chance: a difference counts only
// if Holm's procedure (1979) finds it at 5 % over all of them. So what is called a change is, with
// 95 %, all real as far as sampling goes; how much runs vary by themselves, one run does not tell.
#pragma once

#include "analysis/aggregate.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace omptier {

struct Estimate { // value and 95 % interval
  double value = 0, low = 0, high = 0;
};

struct FigureChange {
  Estimate a, b, difference; // b - a
  bool is_sure = false;      // more than noise
};

// The same site, region … in both; none: there is none.
struct ComparedPair {
  std::optional<std::uint32_t> a, b;
};

struct ObjectChange : ComparedPair { // indices into sites
  FigureChange cost;                 // nanoseconds of thread time, misses or bytes; of one process
  FigureChange share;                // of all of these
  // Accesses in the whole run, where both profiles know the pace of nearly all.
  std::optional<FigureChange> accesses;
  std::uint64_t bytes_a = 0, bytes_b = 0; // most at once
  // The other run has no such allocation, by record and not by sampling.
  bool is_new = false, is_gone = false;

  bool changes_size() const; // by a part that matters
  bool is_sure() const {
    return is_new || is_gone || changes_size() || cost.is_sure || share.is_sure ||
           (accesses && accesses->is_sure);
  }
};

struct RegionChange : ComparedPair { // indices into regions
  std::uint64_t entries_a = 0, entries_b = 0;
  // Nanoseconds of wall time. Its interval is from the spread of single visits, of independent
  // noise in each; if too few of them are in a profile, the noise is not known.
  FigureChange time;
  bool knows_noise = false;
};

struct ProfileChanges {
  std::vector<ObjectChange> objects; // by size of what is sure of the cost, then of the cost
  ObjectChange small, other;         // small objects; samples in no object
  std::vector<RegionChange> regions; // likewise
};

FigureChange change_from(const Estimate& a, const Estimate& b);

// Sets is_sure of those that differ by more than noise.
void find_sure(std::span<FigureChange* const> changes);

// Sites and regions by pairs; the profiles must be of the same measure.
ProfileChanges compare(const ProfileSummary& a, const ProfileSummary& b,
                       std::span<const ComparedPair> sites, std::span<const ComparedPair> regions);

} // namespace omptier
