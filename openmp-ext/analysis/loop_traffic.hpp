// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which lines a program's loops ask memory for, object by object. Samples of time say on which
// access a loop waited; what its other streams bring meanwhile, they do not. The emulation of the
// loop does: how many bytes each instruction accesses, and in which pattern.
#pragma once

#include "analysis/object_pattern.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace omptier {

// Bytes that a core's own cache keeps between two uses: the second level of usual servers.
inline constexpr std::uint64_t k_core_cache = 1u << 20;

// Lines of 64 bytes that no cache holds, if the object is much larger than the caches.
struct Lines {
  double streamed_load = 0, gathered_load = 0, chased_load = 0;
  double streamed_store = 0, scattered_store = 0;
  double alone = 0; // of the streamed loads: the only line of its block (model/demand.hpp)
  double clustered = 0; // of the other loads: not the only one
  // Of the scattered ones, those of which is known in how many bytes they lie for a while; and the
  // sum of these bytes.
  double with_reach = 0, reach_sum = 0;
  // Of the streamed stores, those that a thread deals out to many places by an index, as one that
  // sorts into partitions does; and the sum of the places that each has.
  double dealt = 0, places_sum = 0;

  double loads() const { return streamed_load + gathered_load + chased_load; }
  double stores() const { return streamed_store + scattered_store; }
  double scattered() const { return gathered_load + chased_load + scattered_store; }
  double total() const { return loads() + stores(); }
  Lines& operator+=(const Lines& other);
  Lines& operator*=(double factor);
};

struct KnownAccess {
  const AccessPattern* pattern = nullptr; // of one instruction
  PatternKind kind = PatternKind::unknown;
  double places = 1; // that it deals out to
  double fresh = 1;  // part of random accesses whose lines no core's cache holds
};

// To how many places in turn an instruction stores whose index is a counter: as many counters as
// the instruction of the same sample that loads them uses. They are taken to be as far apart as
// those seen; a dozen or fewer come again so soon that they are taken for less.
double places_of(const AccessPattern& store, std::span<const AccessPattern* const> sample);

// Lines that a loop's instructions ask of one site. Instructions whose places are less than a line
// apart share lines, as the fields of a structure and the steps of an unrolled loop do; near rows
// of a stencil are one stream. stride: bytes, of what is strided there.
Lines lines_of(std::vector<KnownAccess> accesses, std::int64_t stride);

struct LoopTraffic {
  struct OfSite {
    std::uint32_t site = 0; // index into ProfileSummary::sites
    Lines lines;            // as many as the loop's pace says (loop_rates.hpp, loop_speed.hpp)
  };
  double nanoseconds = 0; // in the loop: of all threads, of one process
  std::vector<OfSite> sites;
};

// Counts sample by sample: each of its patterns, and the site of it behind it, then its end. Called
// from another region, a loop may have other data; where it has the same, it is one loop.
class TrafficCount {
public:
  struct Loop {
    std::uint32_t code = 0, region = 0;
    auto operator<=>(const Loop&) const = default;
  };
  explicit TrafficCount(double part) : part_(part) {} // that one sample is of what is counted
  // A pattern's bytes are its part of the sample's time, too.
  void add(const Loop& loop, const AccessPattern& pattern);
  // Of the pattern added last. speed: bytes per nanosecond of the sample.
  // fresh: as in KnownAccess.
  void at_site(std::uint32_t site, PatternKind kind, double fresh, std::int64_t stride,
               double speed);
  void end_sample();
  std::vector<LoopTraffic> traffic() const;

private:
  struct OfSite {
    double speed = 0;
    std::int64_t stride = 0;
    std::vector<KnownAccess> accesses;
  };
  struct Counted {
    double nanoseconds = 0;
    std::map<std::uint32_t, Lines> lines; // by site
  };

  double part_;
  Loop loop_; // the sample's
  std::vector<const AccessPattern*> patterns_;
  std::map<std::uint32_t, OfSite> sites_;
  std::map<Loop, Counted> loops_;
};

} // namespace omptier
