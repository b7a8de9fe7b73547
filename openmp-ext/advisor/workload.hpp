// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the advisor knows of a program, however it was measured: for each allocation site, the bytes
// alive over time, and the accesses by manner and region. evidence.hpp makes it from profiles.
#pragma once

#include "model/loop_time.hpp"
#include "objects/access.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

struct LiveStretch {
  std::uint64_t begin = 0, end = 0; // nanoseconds, end excluded
  std::uint64_t bytes = 0;
};

// Bytes of new huge pages that come again and again, which the kernel clears before the program
// touches them (model/first_touch.hpp), in tiers of either kind.
struct NewPages {
  double always = 0; // each block has new ones
  double reused = 0; // blocks reuse the memory of freed ones
};

struct RegionDemand {
  std::uint32_t region = 0; // index into Workload::regions
  Demand demand;
};

struct ByteRange { // [begin, end) of a block
  std::uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

// What is placed together: a site, some of its blocks (site_blocks.hpp), or ranges of each block
// (site_ranges.hpp).
struct SiteDemand {
  std::string label;             // for people
  std::size_t site = 0;          // of the profile's summary
  std::vector<LiveStretch> live; // ascending, not overlapping
  Demand demand;                 // whole run: estimated counts (samples × weight)
  NewPages new_pages;            // not in the demand
  std::vector<RegionDemand> by_region; // ascending, each region once; then their stretches
  std::vector<LoopPart> by_loop; // parts of the demand; the rest is in no known loop
  // Whether the demand tells streamed from scattered accesses, and loads from stores.
  bool knows_streams = true, knows_writes = true;
  double written = 0; // part of the bytes accessed; of time, stores have less than of accesses
  double share = 0;                     // of the measured quantity, 0…1
  double share_low = 0, share_high = 0; // 95 % interval
  // Part of share that a cache is known to have served: placement cannot make it faster. The
  // interval allows for the accesses of which that is unknown.
  double cached = 0, cached_low = 0, cached_high = 0;
  std::uint64_t instances = 0;
  bool small_blocks = false; // most are: plans know no single ones, and move none
  // If the demand is of some blocks only: their numbers, ascending, and the number of all blocks.
  std::vector<std::uint32_t> blocks;
  std::uint64_t all_instances = 0;
  // Of each block, if a plan can divide them, else 0; of small blocks, all of them as if they were
  // one.
  std::uint64_t block_bytes = 0;
  // If the demand is of these bytes of each block only; in order, not overlapping. Of small blocks
  // only their length counts.
  std::vector<ByteRange> ranges;
  bool placeable = true;   // else it needs no room and stays where it is
  std::uint64_t bytes = 0; // most bytes if not placeable; 0: not known
  // Bytes of old copies in the whole site's peak while it grows, and how long they are needed.
  std::uint64_t growing = 0, growing_nanoseconds = 0;
  std::optional<std::size_t> kept; // tier that the user demands
  bool by_plan = true;   // else only the program's source can place it

  std::uint64_t peak_bytes() const;
  Demand demand_in(std::size_t region) const;
  // So much of each block: demand, bytes and share, for a part from 0 to 1.
  SiteDemand scaled(double part) const;
  // Whether the advisor decides where it lies.
  bool is_free() const { return placeable && by_plan && !kept; }
};

struct WorkloadRegion {
  static constexpr std::size_t k_whole = static_cast<std::size_t>(-1);
  std::string label; // of a stretch, when it begins: "from the barrier of f (a.c:8) on"
  std::uint64_t entries = 0; // times it began
  // Times it began after a different one, or, of a stretch, what begins at the same place did; 0: it
  // is not known when.
  std::uint64_t entered_anew = 0;
  std::uint64_t begin = 0, end = 0; // nanoseconds: from its first to its last sample
  // Of a stretch of a region, between barriers:
  std::size_t part_of = k_whole;            // that region; its demand holds the stretch's
  bool at_region = false;                   // it begins with the region,
  std::vector<std::uint32_t> barriers = {}; // and behind the barriers that end these phases

  bool is_whole() const { return part_of == k_whole; }
};

// Memory that is no site's; it stays where it is.
struct NoSite {
  double share = 0;
  std::uint64_t bytes = 0; // 0: not known
};

struct Workload {
  std::vector<SiteDemand> sites;
  std::vector<WorkloadRegion> regions;
  std::vector<double> loop_work; // nanoseconds of thread time of each loop (model/loop_time.hpp)
  NoSite small_objects, elsewhere;
  // Nanoseconds of thread time beside sites and loops, where the profile tells time.
  double rest = 0;
  Threads threads;
  Measure measure = Measure::misses;
};

// Stretches ordered, shares in [0, 1] and summing to at most 1, regions known.
bool is_consistent(const Workload& workload, std::string& why_not);

} // namespace omptier
