// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An instruction that serves several streams in turn: the loop over a field's components inside the
// loop over its cells, or two halves of an array. From one access to the next it steps from array
// to array, but each stream advances by a small step: that is its pattern, for people and
// prefetchers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace omptier {

// Bytes between two of many streams, at least; rows of a tile are closer.
constexpr std::uint64_t k_between_streams = 256 << 10;

// The step of each stream, in bytes; none if these addresses, in order of the accesses, are not at
// least two rounds over the same number of streams.
std::optional<std::int64_t> step_of_streams(std::span<const std::uint64_t> addresses);

// Streams that take turns in no order, as when tuples are dealt to partitions: of accesses that lie
// near an earlier one, but not near the last, nearly all lie a step above it. Few accesses tell,
// since at random hardly any are near each other. What returns to a place is no stream.
//
// One stream among other accesses, as a sparse matrix's diagonal, is continued by all such pairs,
// and at equal distances: then, and with a few pairs, they are uncertain. If three in four accesses
// continue, one stream will do. bytes: of an access.
struct StreamsInNoOrder {
  enum class Are : std::uint8_t { none, perhaps, certain } are = Are::none;
  std::int64_t step = 0; // bytes
};
StreamsInNoOrder streams_in_no_order(std::span<const std::uint64_t> addresses, std::uint64_t bytes);

} // namespace omptier
