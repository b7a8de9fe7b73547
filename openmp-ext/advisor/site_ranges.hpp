// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites whose blocks are divided between memories, by ranges of bytes that are the same in each
// block: so all blocks must have one size. The hot ranges of a site are placed by themselves. And
// what does not fit as a whole is tried in slices; slices of one site that end in different
// memories become ranges that alternate through the block, so that each thread of a loop whose
// iterations are dealt in order has its part of the fast ones. Small blocks are dealt out to two
// memories one by one, so of them only a share is decided.
#pragma once

#include "advisor/placement.hpp"
#include "analysis/aggregate.hpp"

#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_least_divided = std::uint64_t{1} << 20; // bytes of a block
inline constexpr unsigned k_slices = 16;

// Bytes of each of the site's blocks; 0 if a plan cannot divide them.
std::uint64_t bytes_to_divide(const SiteSummary& site);
// Of a site of small blocks, of all of them. A plan's share is only of blocks that are small.
std::uint64_t small_bytes_to_divide(const SiteSummary& site);

// The ranges' part of each block, or of small blocks; 1: it is not divided.
double part_of_block(const SiteDemand& site);

// Of each block, or of some of its ranges, what lies in these bytes, accessed as evenly; without
// ranges if nothing does. In order.
SiteDemand some_bytes(const SiteDemand& whole, const std::vector<ByteRange>& bytes);

// What the ranges, which are in order, leave of so many bytes.
std::vector<ByteRange> without(const std::vector<ByteRange>& ranges, std::uint64_t bytes);

// The hot ranges and the rest, or the whole. `whole` is all of the site's blocks or some.
std::vector<SiteDemand> divide_by_heat(SiteDemand whole, const SiteSummary& site);

struct Sliced {
  Workload workload;             // without regions
  std::vector<std::size_t> from; // by its sites: the site of the whole workload
};
// The sites that have most to gain, each in k_slices; the others as they are.
Sliced slice(const Workload& workload, const CostTable& costs);

// The whole workload, with the sites divided whose slices lie in several tiers. tier_of_site: of
// the slices before, of the result's sites after.
Workload join_slices(const Workload& whole, const Sliced& sliced,
                     std::vector<std::size_t>& tier_of_site);

// Joins ranges of a site that lie in one tier, and names what stays divided. tier_of_site: before
// and after.
void join_ranges(Workload& workload, std::vector<std::size_t>& tier_of_site);

} // namespace omptier
