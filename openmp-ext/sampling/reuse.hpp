// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache or memory? Samples of time do not show it, but the time until an address is used again
// does: if it is short, little was accessed in between and the line is still cached. Debug
// registers (perf breakpoint events, available to ordinary users) watch a few sampled addresses for
// some hits each. Only one byte, since neighbours' accesses would count as reuse.
// analysis/cache.hpp interprets the result.
//
// A hit costs the watched thread about 10 µs. There are at most k_hits a watch and one watch each
// 25 ms: less than 0.3 % of one thread.
//
// While a thread has a watch, some processors (AMD EPYC) execute its rep movs and rep stos byte by
// byte: memset and memcpy are 25 times slower, and so is the kernel where it clears and copies
// pages. That is measured once. On such a processor nothing is watched in the first third of a
// second, for two seconds after a sample on such an instruction, nor while the process has many
// page faults; the pause doubles whenever it begins with a watch. Helper thread only.
#pragma once

#include "objects/access.hpp"
#include "objects/reuse.hpp"
#include "sampling/perf_ring.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace omptier {

class ReuseWatch {
public:
  // May start a watch on the sample's address.
  void visit(const AccessSample& sample);
  // For a sample on a repeated string instruction: gives up all watches. Returns whether one
  // may have made the instruction slower.
  bool visit_string(const AccessSample& sample);
  // Ends watches that are complete. To be called once per drain.
  void collect();
  // Watches that have ended since the last call.
  std::vector<AddressReuse> take() { return std::exchange(ended_, {}); }

private:
  struct Instruction {
    std::uint32_t samples = 0, watched = 0;
  };
  struct Watch {
    PerfRing ring;
    AddressReuse reuse;
    std::uint64_t begin = 0, lowest = 0, highest = 0; // of the addresses sampled meanwhile
    std::vector<std::pair<std::uint64_t, std::uint64_t>> hits; // pc behind the access, time
  };
  static constexpr unsigned k_hits = 7, k_watches = 3, k_watched_often = 48;
  static constexpr std::uint64_t k_pause = 2'000'000'000, k_longest_pause = 60'000'000'000; // ns
  static constexpr std::size_t k_kept = 4096;

  struct GivenUp { // when a thread had a watch
    std::uint32_t thread;
    std::uint64_t begin, end;
  };

  void watch(const AccessSample& sample, Instruction& instruction);
  void end(Watch& watch, std::uint64_t now);
  void give_up(std::uint64_t now);
  bool kernel_clears(std::uint64_t now);

  std::unordered_map<std::uint64_t, Instruction> instructions_; // by address
  std::vector<Watch> watches_;
  std::vector<AddressReuse> ended_;
  std::vector<GivenUp> given_up_; // at the last time
  std::uint64_t last_begin_ = 0, not_before_ = 0, pause_ = k_pause;
  std::uint64_t faults_ = 0, kernel_ = 0, usage_read_ = 0; // so far: page faults, ns; when read
  unsigned refused_ = 0; // consecutive refusals
};

// Of the first processor, from sysfs.
const CacheSizes& cache_sizes();
// folder: instead of /sys/devices/system/cpu/cpu0/cache. guest: on a hypervisor.
CacheSizes read_cache_sizes(const char* folder, bool guest);

// By the calling thread.
bool can_watch_addresses();

// How many times slower a watch makes repeated string instructions here; 1: not at all. Measured
// once, by the first caller: whoever opens a source, so that no fork meets the helper thread in it.
double string_slowdown();

// The median of the times between two uses by the same instruction; 0 = there is only one use.
std::uint64_t reuse_time(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& hits);

} // namespace omptier
