// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache or memory? Samples of time do not show it, but the time until an address is used again
// does. Between two uses a thread touches at most its rate times that time, and if that is less
// than its share of the last-level cache, the line is still cached. Debug registers (perf
// breakpoint events, available to ordinary users) watch a few sampled addresses for some hits each.
// The verdict is the instruction's and applies to its later samples:
//   cache   the instruction used the address again so soon that even at a core's highest rate
//           everything in between fits
//   memory  it ranges over twice the cache, and did not use the address for so long that as much
//           could have passed; or it did, but between two such uses it was sampled a whole cache
//           away (a core may load more than that rate)
// Otherwise it is unknown. A hit costs the watched thread about 10 µs. There are at most k_hits a
// watch and one watch each 50 ms: less than 0.2 % of one thread. Helper thread only.
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
  // Records the sample, sets the level that its instruction is known for, and may start a watch.
  void visit(AccessSample& sample);
  // Reads the watches and ends those that are complete. Called once per drain.
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
    bool ended = false; // samples of its time may still arrive
    std::vector<std::pair<std::uint64_t, std::uint64_t>> hits;    // pc behind the access, time
    std::vector<std::pair<std::uint64_t, std::uint64_t>> samples; // address, time
  };
  static constexpr unsigned k_hits = 8, k_watches = 2, k_watched_often = 12;
  static constexpr std::size_t k_kept = 4096, k_samples = 256;

  void watch(const AccessSample& sample, Instruction& instruction);
  // True if it reached a verdict.
  bool judge(const Watch& watch, Instruction& instruction);

  std::unordered_map<std::uint64_t, Instruction> instructions_; // by address
  std::vector<Watch> watches_;
  std::uint64_t last_begin_ = 0, verdicts_ = 0;
  unsigned refused_ = 0; // consecutive refusals
};

// Bytes of the last-level cache, and one processor's share of them.
struct LastLevelCache {
  double all = 32 << 20, share = 2 << 20;
};
const LastLevelCache& last_level_cache();

// Whether an address of the calling thread can be watched here.
bool can_watch_addresses();

// Shortest time between two uses by the same instruction; 0 = there is only one use.
std::uint64_t reuse_time(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits);

// Samples (address, time) of the instruction between one use of the address and the next, for uses
// within twice the shortest such time: all, and those at least `far` bytes away from it.
struct BetweenUses {
  unsigned samples = 0, far = 0;
  bool is_wide() const { return far >= 2 && 8 * far >= samples; }
};
BetweenUses between_uses(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits,
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& samples,
                         std::uint64_t address, std::uint64_t far);

} // namespace omptier
