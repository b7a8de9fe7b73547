// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far apart the lines of a stream lie that a source counts misses of. Of every n-th miss, the
// distances are whole multiples of the stream's step, whichever misses were left out: a step of d
// lines is one by which nearly all distances can be divided. A memory that moves blocks of several
// lines moves a whole one for each line of such a stream (model/demand.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace omptier {

// Lines from one streamed miss to the next, at least.
struct StepsOfSite {
  unsigned loads = 1, stores = 1;
};

class MissSteps {
public:
  // A streamed miss, in the order of time.
  void add(std::uint32_t site, std::uint32_t thread, bool store, std::uint64_t address);
  // 1 to k_most; 1 where no longer step is known.
  StepsOfSite of(std::uint32_t site) const;

private:
  static constexpr unsigned k_most = 32; // 2048 bytes: no prefetcher follows longer steps
  struct Distances {
    std::uint32_t all = 0;
    std::array<std::uint32_t, k_most + 1> multiples{}; // by step
  };
  using Stream = std::tuple<std::uint32_t, std::uint32_t, bool>;
  static unsigned step_of(const Distances& distances);

  std::map<Stream, std::uint64_t> last_;               // line
  std::vector<std::array<Distances, 2>> distances_;    // by site: of loads, of stores
};

} // namespace omptier
