// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_speed.hpp.
#include "analysis/loop_speed.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr double k_turn = 0.4; // nanoseconds of an access that waits for nothing

// Nanoseconds beyond the instruction's turn, by the cache that holds the object.
struct Wait {
  double line, scattered, chased; // a line of a stream; an access; one through a loaded pointer
};
constexpr Wait k_from_near{0, 1, 4}, k_shared{2.5, 5, 20}, k_memory{6, 15, 90};
constexpr std::uint64_t k_fits_near = 256u << 10, k_fits_shared = 8u << 20; // bytes

const Wait& wait_for(std::uint32_t site, std::span<const SiteSummary> sites) {
  if (site >= sites.size()) return k_shared; // small objects, or no object
  const SiteSummary& summary = sites[site];
  if (!has_bytes(summary.kind)) return k_from_near;
  return summary.bytes_peak <= k_fits_near     ? k_from_near
         : summary.bytes_peak <= k_fits_shared ? k_shared
                                               : k_memory;
}

} // namespace

ExpectedSpeed expected_speed(std::span<const PatternAt> loop, std::span<const SiteSummary> sites) {
  std::vector<LoopAccess> accesses;
  accesses.reserve(loop.size());
  double nanoseconds = 0, bytes = 0;
  for (const PatternAt& at : loop) {
    accesses.push_back({at.site, false, at.pattern});
    nanoseconds += double{at.pattern->accesses} * k_turn;
    bytes += double{at.pattern->bytes};
  }
  const std::vector<Stream> streams = streams_of(std::move(accesses));
  for (const Stream& stream : streams)
    nanoseconds += stream.lines * wait_for(stream.site, sites).line;
  double fastest = nanoseconds; // if all that is scattered hits the nearest cache
  for (const PatternAt& at : loop) {
    if (std::ranges::find(streams, at.site, &Stream::site) != streams.end()) continue;
    const auto wait = at.pattern->chased >= 0.5f ? &Wait::chased : &Wait::scattered;
    const double near = k_from_near.*wait, far = wait_for(at.site, sites).*wait;
    nanoseconds += double{at.pattern->accesses} * (near + at.fresh * (far - near));
    fastest += double{at.pattern->accesses} * near;
  }
  if (!(nanoseconds > 0)) return {};
  return {bytes / nanoseconds, std::hypot(k_speed_spread, std::log(nanoseconds / fastest) / 2)};
}

} // namespace omptier
