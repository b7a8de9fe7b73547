// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache or memory? A sample of time cannot tell. How soon an address is used again can: between two
// uses a thread touches at most its rate times that time, and what is less than its share of the
// last-level cache is still there. A few sampled addresses are watched by the processor's debug
// registers (perf breakpoint events, for ordinary users too) for some hits each; the verdict is the
// instruction's, and later samples of it carry it:
//   cache   the same instruction used the address again so soon that even at the fastest rate of a
//           core everything in between fits;
//   memory  it ranges over twice the cache, and did not use the address for so long that as much
//           could have passed; or it did, but between two such uses it was sampled a whole cache
//           away from there. (One core brings in more than that rate on some machines.)
// Anything else stays unknown. A hit costs the watched thread about 10 µs; at most k_hits a watch,
// one watch each 50 ms: below 0.2 % of one thread. Helper thread only.
#pragma once

#include "objects/access.hpp"
#include "sampling/perf_ring.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace omptier {

class ReuseWatch {
public:
  // Notes the sample, gives it the level its instruction is known for, and may watch its address.
  void visit(AccessSample& sample);
  // Reads the watches and ends those that are done. Once per drain.
  void collect();
  std::uint64_t verdicts() const { return verdicts_; }

private:
  struct Instruction {
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0; // of the addresses seen
    std::uint32_t samples = 0, watched = 0, cache = 0, memory = 0;
  };
  struct Watch {
    PerfRing ring;
    std::uint64_t pc = 0, begin = 0, address = 0;
    std::uint32_t thread = 0;
    bool ended = false; // samples of its time are still to come
    std::vector<std::pair<std::uint64_t, std::uint64_t>> hits;    // place behind the access, time
    std::vector<std::pair<std::uint64_t, std::uint64_t>> samples; // address, time
  };
  static constexpr unsigned k_hits = 8, k_watches = 2, k_watched_often = 12;
  static constexpr std::size_t k_kept = 4096, k_samples = 256;

  void watch(const AccessSample& sample, Instruction& instruction);
  // True when the verdict has been made.
  bool judge(const Watch& watch, Instruction& instruction);

  std::unordered_map<std::uint64_t, Instruction> instructions_; // by address
  std::vector<Watch> watches_;
  std::uint64_t last_begin_ = 0, verdicts_ = 0;
  unsigned refused_ = 0; // times in a row
};

// Bytes of the last-level cache, and a processor's part of it.
struct LastLevelCache {
  double all = 32 << 20, share = 2 << 20;
};
const LastLevelCache& last_level_cache();

// Whether an address of the calling thread can be watched here.
bool can_watch_addresses();

// Shortest time from one use to the next by the same instruction; 0 = it was not used twice.
std::uint64_t reuse_time(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits);

// Samples (address, time) of the instruction between one use of the address and the next, as far as
// that came within twice the shortest such time: all, and those at least `far` bytes away from it.
struct BetweenUses {
  unsigned samples = 0, far = 0;
  bool is_wide() const { return far >= 2 && 8 * far >= samples; }
};
BetweenUses between_uses(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits,
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& samples,
                         std::uint64_t address, std::uint64_t far);

} // namespace omptier
