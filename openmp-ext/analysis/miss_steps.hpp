// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many lines of a media block a stream asks for that a source counts misses of: a memory that
// moves blocks of several lines moves a whole one for one of them (model/demand.hpp). Of every n-th
// miss, the distances are whole multiples of the stream's step, whichever misses were left out: a
// step of d lines is one by which nearly all distances can be divided. And a stream that leaves out
// the same lines of every block, such as each second pair, is never seen in their places.
#pragma once

#include "model/demand.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace omptier {

// 1 to k_block_lines, of the streamed misses of a site; all where nothing else is known.
struct LinesOfBlock {
  double loads = k_block_lines, stores = k_block_lines;
};

class MissSteps {
public:
  // A streamed miss, in the order of time.
  void add(std::uint32_t site, std::uint32_t thread, bool store, std::uint64_t address);
  LinesOfBlock of(std::uint32_t site) const;

private:
  static constexpr unsigned k_most = 32; // 2048 bytes: no prefetcher follows longer steps
  static constexpr unsigned k_places = static_cast<unsigned>(k_block_lines);
  struct Distances {
    std::uint32_t all = 0;
    std::array<std::uint32_t, k_most + 1> multiples{}; // by step
  };
  struct Stream {
    std::uint64_t last = 0; // line
    std::uint32_t all = 0;
    std::array<std::uint32_t, k_places> in_place{}; // of a block
    void add_places(const Stream& of);
  };
  using StreamKey = std::tuple<std::uint32_t, bool, std::uint32_t>; // site, stores, thread
  static unsigned step_of(const Distances& distances);
  double places_of(std::uint32_t site, bool store) const;

  std::map<StreamKey, Stream> streams_;
  std::vector<std::array<Distances, 2>> distances_; // by site: of loads, of stores
};

} // namespace omptier
