// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often accesses through an array of indices come to a line that a core's cache does not hold
// any more. A window of emulation is too short to tell: the nodes of a mesh come again some rows of
// elements later. But the indices are in memory. Those before the one that the loop is at were used
// by it, in this order (or by other threads, on other parts of the same structure), so the lines
// that they led to are known, too.
//
// Lines are counted if they were not led to by k_indices_before indices before: what lies between
// is at most as much as a core's cache. Of all lines one in k_tracked is followed, chosen by their
// number (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015).
#pragma once

#include "objects/pattern.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace omptier {

struct IndexArray {
  std::uint64_t pc = 0;    // of the access through it
  std::uint64_t at = 0;    // address of an index that was used
  std::uint32_t bytes = 0; // of an index: 4 or 8
  std::uint64_t scale = 0; // bytes that an index stands for
};

// indices: in the order of their use; the second half is counted. 0: no line was followed.
float fresh_part(std::span<const std::uint64_t> indices, std::uint64_t scale);

// Helper thread only. Reads thousands of indices, so it does so once in a while for each
// instruction and part of the array. What lies beside an array may be read, too: of small ones the
// analysis does not believe it.
class IndexReuse {
public:
  float of(const IndexArray& array); // AccessPattern::fresh

private:
  static constexpr unsigned k_again = 64; // calls, until indices are read again
  static constexpr std::size_t k_most_kept = 4096;
  struct Known {
    float fresh = 0;
    unsigned calls = 0;
  };
  bool read(const IndexArray& array);

  std::unordered_map<std::uint64_t, Known> known_; // by instruction and place
  std::vector<std::uint64_t> indices_;
  std::vector<std::byte> read_;
};

} // namespace omptier
