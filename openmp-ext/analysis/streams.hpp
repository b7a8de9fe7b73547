// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of streams. Blame gives a loop's time to loads, which wait, and hardly to stores, which
// the store buffer hides; and of several prefetched loads the first one waits for all. Streams
// share the memory's bandwidth: each costs the lines it moves. A written line moves twice: read for
// ownership, written back (J. McCalpin, "STREAM: counting bytes and FLOPS"; the memory term of the
// execution-cache-memory model, H. Stengel et al., ICS 2015, counts alike and has the rule that of
// stencil rows following each other through the cache one moves lines).
//
// A timer cannot show how far the prefetcher runs ahead: blame is right at one extreme, traffic at
// the other. The middle errs by at most half their difference: every other sample blamed on a
// stream is given to the loop's streams in proportion to lines. All else keeps its blame.
#pragma once

#include "log/records.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace omptier {

struct LoopAccess {
  std::uint32_t site = 0;
  bool cached = false; // what the site has lies in a cache: no traffic
  const LoggedPattern* pattern = nullptr;
};

// What a site's stream moves, in lines per arbitrary unit of the loop, by loads or by stores.
struct Stream {
  std::uint32_t site = 0;
  double lines = 0;
  std::uint64_t address = 0; // one that it accessed
  BlockPlace place;          // the same
  AccessKind kind = AccessKind::load;
  std::int64_t step = 0; // bytes, from one access to its next; 0 = not known
};

// The streams among the accesses of one loop, in ascending order of sites: sites whose accesses
// there are sequential (or leave no line out) or tiled. A site may have several; streams of cached
// sites have no lines.
std::vector<Stream> streams_of(std::vector<LoopAccess> accesses);

// Remembers streams by the blamed instruction: not every sample's loop is emulated.
class StreamDealer {
public:
  void learn(std::uint64_t pc, std::vector<Stream> streams) { loops_[pc] = std::move(streams); }
  // The stream that gets a sample blamed on this site at this instruction; null: none, it stays.
  const Stream* deal(std::uint64_t pc, std::uint32_t site);
  // The site's stream in the loop that was seen nearest to the address, or null.
  const Stream* nearest(std::uint64_t pc, std::uint32_t site, std::uint64_t address) const;

private:
  std::unordered_map<std::uint64_t, std::vector<Stream>> loops_;
  std::uint64_t dealt_ = 0;
};

} // namespace omptier
