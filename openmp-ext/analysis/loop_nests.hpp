// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which inner loops of a nest are one loop for the memories. An inner loop of a few iterations ends
// before the next sample: samples of a thread in it and in its neighbours follow each other as
// drawn at random, and the threads, which do not wait for each other within a nest, are in all of
// these loops at once. Of loops that run long, samples follow each other in long runs.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

namespace omptier {

class LoopNests {
public:
  // A sample, in the order of time. Loops by their first instruction; 0 = unknown, as for threads.
  void add(std::uint32_t thread, std::uint64_t loop, std::uint64_t nest);
  // Of each loop that alternates with others: the first of them.
  std::unordered_map<std::uint64_t, std::uint64_t> together() const;

private:
  struct Place {
    std::uint64_t loop = 0, nest = 0;
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>; // of loops, ascending
  // Samples of a nest that follow one of their thread there.
  struct Nest {
    std::uint64_t samples = 0;
    std::map<std::uint64_t, std::uint64_t> by_loop;
    std::map<Pair, std::uint64_t> changes;
  };
  static bool alternate(const Nest& nest, const Pair& loops, std::uint64_t changes);

  std::unordered_map<std::uint32_t, Place> last_; // by thread
  std::map<std::uint64_t, Nest> nests_;
};

} // namespace omptier
