// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See streams_in_turn.hpp.
#include "emulation/streams_in_turn.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace omptier {
namespace {

constexpr std::size_t k_most_streams = 32, k_few_streams = 3;
constexpr std::uint64_t k_apart = 4;         // steps between two streams, at least
constexpr std::uint64_t k_longest = 1 << 20; // bytes of a step
// Accesses at one step from an earlier one, in no order: if they adjoin it, and else.
constexpr std::size_t k_enough = 2, k_enough_apart = 4;

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

// An access near an earlier one, but not near the one right before: a short run is no stream.
struct Continued {
  std::uint64_t step = 0;  // from the nearest below; 0: at the same place, or only below another
  std::size_t gap = 0;     // accesses since
  std::uint64_t begin = 0; // of the stream
};

std::vector<Continued> near_earlier(std::span<const std::uint64_t> addresses) {
  constexpr std::uint64_t k_near = 64;
  struct Seen {
    std::size_t at = 0;
    std::uint64_t begin = 0;
  };
  std::map<std::uint64_t, Seen> before; // by address, without the last
  std::vector<Continued> near;
  Seen last;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t address = addresses[i];
    Seen seen{i, address};
    const auto above = before.upper_bound(address);
    if (i > 0 && size_of(difference(addresses, i - 1, i)) <= k_near) {
      seen.begin = last.begin;
    } else if (above != before.begin() && address - std::prev(above)->first <= k_near) {
      const auto& [place, earlier] = *std::prev(above);
      seen.begin = earlier.begin;
      near.push_back({address - place, i - earlier.at, earlier.begin});
    } else if (above != before.end() && above->first - address <= k_near) {
      near.push_back({});
    }
    if (i > 0) before.insert_or_assign(addresses[i - 1], last);
    last = seen;
  }
  return near;
}

} // namespace

std::optional<std::int64_t> step_of_streams(std::span<const std::uint64_t> addresses) {
  const auto rounds = [&](std::size_t streams) { // of two streams, two say nothing
    return addresses.size() >= 2 * streams + (streams < k_few_streams ? 1 : 0);
  };
  for (std::size_t streams = 2; streams <= k_most_streams && rounds(streams); ++streams) {
    const std::size_t middle = (addresses.size() - streams) / 2;
    const std::int64_t step = difference(addresses, middle, middle + streams);
    if (step == 0 || size_of(step) > k_longest || !repeats(addresses, streams, step)) continue;
    const std::uint64_t apart =
        std::max(k_apart * size_of(step), streams > k_few_streams ? k_between_streams : 0);
    return least_distance(addresses) >= apart ? std::optional(step) : std::nullopt;
  }
  return {};
}

StreamsInNoOrder streams_in_no_order(std::span<const std::uint64_t> addresses,
                                     std::uint64_t bytes) {
  const std::vector<Continued> near = near_earlier(addresses);
  std::map<std::uint64_t, std::size_t> steps;
  for (const Continued& one : near)
    if (one.step > 0) ++steps[one.step];
  if (steps.empty()) return {};
  const auto [step, continued] =
      *std::ranges::max_element(steps, {}, [](const auto& of_step) { return of_step.second; });
  if ((near.size() - continued) * 10 > continued) return {};
  std::set<std::uint64_t> streams; // by their first accesses
  std::set<std::size_t> gaps;
  for (const Continued& one : near)
    if (one.step == step) streams.insert(one.begin), gaps.insert(one.gap);
  const bool most = continued * 4 >= addresses.size() * 3;
  const std::size_t enough = step == bytes ? k_enough : k_enough_apart;
  const bool certain =
      continued >= enough && gaps.size() > 1 && (most || streams.size() * 2 > continued);
  return {certain ? StreamsInNoOrder::Are::certain : StreamsInNoOrder::Are::perhaps,
          static_cast<std::int64_t>(step)};
}

} // namespace omptier
