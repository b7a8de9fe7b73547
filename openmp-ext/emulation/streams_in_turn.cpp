// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See streams_in_turn.hpp.
#include "emulation/streams_in_turn.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace omptier {
namespace {

constexpr std::size_t k_most_streams = 32, k_few_streams = 3;
constexpr std::uint64_t k_apart = 4;         // steps between two streams, at least
constexpr std::uint64_t k_longest = 1 << 20; // bytes of a step

std::uint64_t size_of(std::int64_t distance) {
  const auto bits = static_cast<std::uint64_t>(distance);
  return distance < 0 ? 0 - bits : bits;
}

std::int64_t difference(std::span<const std::uint64_t> addresses, std::size_t i, std::size_t j) {
  return static_cast<std::int64_t>(addresses[j] - addresses[i]);
}

// Nine in ten of the accesses lie a step behind the one a period before.
bool repeats(std::span<const std::uint64_t> addresses, std::size_t period, std::int64_t step) {
  const std::size_t pairs = addresses.size() - period;
  std::size_t fits = 0;
  for (std::size_t i = 0; i < pairs; ++i)
    fits += difference(addresses, i, i + period) == step ? 1 : 0;
  return fits * 10 >= pairs * 9;
}

std::uint64_t least_distance(std::span<const std::uint64_t> addresses) {
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 1; i < addresses.size(); ++i)
    least = std::min(least, size_of(difference(addresses, i - 1, i)));
  return least;
}

} // namespace

std::optional<std::int64_t> step_of_streams(std::span<const std::uint64_t> addresses) {
  for (std::size_t streams = 2; streams <= k_most_streams && 2 * streams < addresses.size();
       ++streams) {
    const std::size_t middle = (addresses.size() - streams) / 2;
    const std::int64_t step = difference(addresses, middle, middle + streams);
    if (step == 0 || size_of(step) > k_longest || !repeats(addresses, streams, step)) continue;
    const std::uint64_t apart =
        std::max(k_apart * size_of(step), streams > k_few_streams ? k_between_streams : 0);
    return least_distance(addresses) >= apart ? std::optional(step) : std::nullopt;
  }
  return {};
}

InNoOrder streams_in_no_order(std::span<const std::uint64_t> addresses, std::uint64_t bytes) {
  constexpr std::uint64_t k_near = 64;
  struct Seen {
    std::size_t at = 0;
    std::uint64_t begin = 0; // of its stream
  };
  std::map<std::uint64_t, Seen> before; // by address, without the last: a short run is no stream
  std::set<std::uint64_t> streams;      // by begin
  std::set<std::size_t> gaps;
  std::size_t continued = 0, others = 0;
  Seen last;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t address = addresses[i];
    const auto earlier = before.find(address - bytes);
    Seen seen{i, address};
    if (earlier != before.end()) {
      ++continued;
      seen.begin = earlier->second.begin;
      streams.insert(seen.begin);
      gaps.insert(i - earlier->second.at);
    } else if (i > 0 && address - addresses[i - 1] != bytes) {
      const auto next = before.upper_bound(address - std::min(address, k_near));
      others += next != before.end() && next->first < address + k_near ? 1 : 0;
    }
    if (i > 0) before.insert_or_assign(addresses[i - 1], last);
    last = seen;
  }
  if (continued == 0 || others * 10 > continued) return InNoOrder::no;
  const bool most = continued * 4 >= addresses.size() * 3;
  return gaps.size() > 1 && (most || streams.size() * 2 > continued) ? InNoOrder::yes
                                                                     : InNoOrder::perhaps;
}

} // namespace omptier
