// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which lines a program's loops ask memory for, object by object. Samples of time say on which
// access a loop waited; what its other streams bring meanwhile, they do not. The emulation of the
// loop does: how many bytes each instruction accesses, and in which pattern.
#pragma once

#include "analysis/object_pattern.hpp"

#include <cstdint>
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
  double places = 1; // that it deals out to (dealt_to)
};

// How many elements of an index a thread uses in turn, if this instruction loads them: in so many
// places are streams that go through the index. 1: it stays or moves on.
double dealt_to(const AccessPattern& index);

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

} // namespace omptier
