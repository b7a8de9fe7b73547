// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of 64 KiB, each of one site and one size of blocks, in one reserved range. A span begins
// with a byte per block (free, kept by a thread, live); the blocks follow without headers, so they
// take no more room than glibc's. Nothing of ours is written into blocks.
//
// Blocks leave and enter spans in batches. A span that becomes empty stays with its bin until
// another one does; then it serves any bin. If there are many such spans, their pages are given
// back. A span is added only while at most a sixteenth of all spans is idle.
//
// The owner's lock covers everything but `block_at` and the states of blocks outside of spans.
#pragma once

#include "base/relaxed.hpp"
#include "borders/malloc_record.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omptier::preload {

inline constexpr std::size_t k_span = std::size_t{64} << 10;
inline constexpr std::uint32_t k_no_site = ~std::uint32_t{0};

using BlockState = std::atomic<std::uint8_t>;
inline constexpr std::uint8_t k_block_free = 0, k_block_kept = 1, k_block_live = 2;

struct FreeBlock {
  char* begin = nullptr; // null: none
  BlockState* state = nullptr;
};

class SpanPool {
public:
  static constexpr std::uint32_t k_most_alignment = 256; // of a block: see Bin

  struct Bin {
    // Bytes of a block, a multiple of 16; the largest power of two in it is its alignment, up to
    // k_most_alignment.
    std::uint32_t room = 0;
    std::uint32_t site = k_no_site;
    std::uint16_t number = 0;
    std::uint32_t spans = k_none;          // with blocks to give
    std::uint64_t out = 0, most_out = 0;   // blocks that are not in spans; its peak
  };

  // Reserves the range. False: no address space.
  bool begin();
  bool has_begun() const { return bytes_.load(std::memory_order_relaxed) != 0; }
  [[gnu::always_inline]] bool holds(const void* block) const {
    const std::size_t bytes = bytes_.load(std::memory_order_acquire); // then the begin is there too
    return reinterpret_cast<std::uintptr_t>(block) - begin_.load(std::memory_order_relaxed) < bytes;
  }

  // At most `most` blocks, which become kept; returns how many: 0 without room.
  unsigned take(Bin& bin, FreeBlock* out, unsigned most);
  // Frees a kept block. bin: of its span.
  void put(Bin& bin, const FreeBlock& block);

  // The block that begins at an address of the range: its state, and its bin's number; null: there
  // is none. Takes no lock: the caller has the block.
  [[gnu::always_inline]] BlockState* state_at(const void* address, std::uint16_t& bin) const {
    const std::uintptr_t begin = begin_.load(std::memory_order_relaxed);
    const std::uintptr_t in_range = reinterpret_cast<std::uintptr_t>(address) - begin;
    const Span& span = spans_[in_range / k_span];
    const auto offset = static_cast<std::uint32_t>(in_range % k_span) - span.first;
    const std::uint32_t index = index_of(offset, span.reciprocal);
    if (index >= span.blocks || index * span.room != offset) [[unlikely]]
      return nullptr;
    bin = span.bin;
    return reinterpret_cast<BlockState*>(begin + round_down_to_span(in_range)) + index;
  }
  // For the span around an address.
  std::size_t room_at(const void* address) const {
    return spans_[span_at(reinterpret_cast<std::uintptr_t>(address))].room;
  }

  // As omptier_small_spans::find.
  int find(std::uint64_t address, std::uint64_t time, omptier_small_place& place) const;
  // For a forked child: its parent's spans belong to no site any more, and no blocks are taken from
  // them. They do not count as idle.
  void forget_sites();

  std::size_t touched() const { return touched_; }
  // Checks lists and counts: null, or what is wrong.
  const char* what_is_wrong(const Bin* bins, unsigned count) const;

private:
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};
  struct Use { // of a span, from a time on
    std::uint64_t since = 0;
    std::uint64_t cut = 0; // its ordinal among all spans that were cut, from 1
    std::uint32_t site = k_no_site, room = 0, first = 0;
  };
  struct Span {
    std::uint32_t room = 0;
    std::uint32_t reciprocal = 0; // ceil(2^32 / room): exact for offsets in a span
    std::uint32_t first = 0;      // offset of the first block
    std::uint16_t blocks = 0, bin = 0;
    std::uint16_t begun = 0; // blocks handed out so far, the first ones
    std::uint16_t free = 0;  // of these
    std::uint16_t hint = 0;  // none before it is free
    bool listed = false;
    std::uint32_t previous = k_none, next = k_none;
    Use now, before;
  };

  static std::uintptr_t round_down_to_span(std::uintptr_t in_range) {
    return in_range & ~(k_span - 1);
  }
  static std::uint32_t index_of(std::uint32_t offset, std::uint32_t reciprocal) {
    return static_cast<std::uint32_t>(std::uint64_t{offset} * reciprocal >> 32);
  }
  std::uintptr_t begin_of(std::uint32_t span) const {
    return begin_.load(std::memory_order_relaxed) + span * k_span;
  }
  std::uint32_t span_at(std::uintptr_t address) const {
    return static_cast<std::uint32_t>((address - begin_.load(std::memory_order_relaxed)) / k_span);
  }
  bool is_counted(const Span& span) const { return span.now.cut > sites_from_; }
  std::uint32_t cut(const Bin& bin);
  std::uint32_t empty_or_new();
  unsigned take_from(Bin& bin, std::uint32_t number, FreeBlock* out, unsigned most);
  void retire(Bin& bin, std::uint32_t number);
  void link(Bin& bin, std::uint32_t number);
  void unlink(Bin& bin, std::uint32_t number);

  std::atomic<std::uintptr_t> begin_{0};
  std::atomic<std::size_t> bytes_{0};
  Span* spans_ = nullptr;
  std::uint32_t used_ = 0;      // spans cut so far, the first of the range
  std::size_t accessible_ = 0;  // bytes of the range
  std::uint32_t idle_ = k_none; // the span of a bin that is wholly free, if any; its bin
  Bin* idle_bin_ = nullptr;
  std::uint32_t empty_ = k_none; // spans of no bin, linked by next
  std::uint32_t empty_count_ = 0;
  std::uint64_t cut_ = 0, sites_from_ = 0;
  // Bytes of blocks: begun in spans of bins (also read without the lock), and not in spans.
  Relaxed<std::size_t> touched_ = 0;
  std::size_t out_ = 0;
};

// By a system call, because mmap is intercepted; null: none.
void* map_directly(std::size_t bytes, int protection);

} // namespace omptier::preload
