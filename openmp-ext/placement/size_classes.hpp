// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of small blocks: 16 to 128 bytes in steps of 16, then four classes per doubling up to 256
// KiB, so at most a quarter of a block is lost. Also here is what depends on a class only: how
// large its spans are and how many of its blocks a thread may keep.
#pragma once

#include "model/kept_memory.hpp" // from k_large_block on blocks are extents

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace omptier {

inline constexpr std::size_t k_chunk_bytes = 4 << 20;
inline constexpr unsigned k_granule_shift = 16;
inline constexpr std::size_t k_granule = std::size_t{1} << k_granule_shift;
inline constexpr unsigned k_chunk_granules = k_chunk_bytes / k_granule;

inline constexpr unsigned k_size_classes = 52;
inline constexpr unsigned k_no_class = ~0u;

inline constexpr auto k_class_bytes = [] {
  std::array<std::uint32_t, k_size_classes> sizes{};
  std::uint32_t size = 16;
  for (auto& entry : sizes) {
    entry = size;
    size += size < 128 ? 16 : std::bit_floor(size) / 4;
  }
  return sizes;
}();
static_assert(k_class_bytes[7] == 128 && k_class_bytes[k_size_classes - 1] == k_large_block);

// bytes: 1 to k_large_block.
constexpr unsigned class_of_bytes(std::size_t bytes) {
  const std::size_t last = bytes - 1;
  if (last < 128) return static_cast<unsigned>(last >> 4);
  // Index from the highest bit and the two below it.
  const auto top = static_cast<unsigned>(std::bit_width(last)) - 1;
  return top * 4 + static_cast<unsigned>(last >> (top - 2)) - 24;
}

// By table: index (bytes + 15) / 16, for up to k_largest_looked_up bytes; k_size_classes for 0
// bytes. Mixed sizes would make the branch above unpredictable.
inline constexpr std::size_t k_largest_looked_up = 1024;
inline constexpr auto k_class_of_sixteenths = [] {
  std::array<std::uint8_t, k_largest_looked_up / 16 + 1> classes{};
  classes[0] = k_size_classes;
  for (std::size_t i = 1; i < classes.size(); ++i)
    classes[i] = static_cast<std::uint8_t>(class_of_bytes(i * 16));
  return classes;
}();
static_assert([] {
  for (std::size_t bytes = 1; bytes <= k_largest_looked_up; ++bytes)
    if (k_class_of_sixteenths[(bytes + 15) / 16] != class_of_bytes(bytes)) return false;
  return true;
}());

// alignment: power of two; k_no_class if no class has such blocks.
constexpr unsigned class_of(std::size_t bytes, std::size_t alignment) {
  if (alignment > k_granule || bytes > k_large_block) return k_no_class;
  for (unsigned c = class_of_bytes(std::max(bytes, std::size_t{1})); c < k_size_classes; ++c)
    if (k_class_bytes[c] % alignment == 0) return c;
  return k_no_class;
}

// Granules of a span: the fewest that waste at most an eighth after the last block. A program that
// uses a few blocks of every size should not pay for many.
constexpr unsigned granules_of_span(unsigned size_class) {
  const std::size_t block = k_class_bytes[size_class];
  std::size_t span = k_granule;
  while (span < block || span % block > span / 8)
    span += k_granule;
  return static_cast<unsigned>(span / k_granule);
}
static_assert(granules_of_span(0) == 1 && granules_of_span(k_size_classes - 1) == 4);

// Most blocks of a class that one thread keeps: 32 KiB of them, within limits. A thread that uses
// many sizes has as many magazines, and touching a block of some KiB costs more than fetching it.
constexpr unsigned magazine_capacity(unsigned size_class) {
  return static_cast<unsigned>(std::clamp((std::size_t{32} << 10) / k_class_bytes[size_class],
                                          std::size_t{2}, std::size_t{64}));
}

// Most blocks of a class that may wait to pass from a freeing thread to an allocating one: 64 KiB
// of them, enough for bursts between two threads. Larger blocks go singly through their spans.
constexpr unsigned passing_capacity(unsigned size_class) {
  const auto blocks = static_cast<unsigned>((std::size_t{64} << 10) / k_class_bytes[size_class]);
  return blocks < 64 ? 0 : std::min(blocks, 1024u);
}

} // namespace omptier
