// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See streams_in_turn.hpp.
#include "emulation/streams_in_turn.hpp"

#include <algorithm>

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

} // namespace omptier
