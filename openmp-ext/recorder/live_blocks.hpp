// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which block an address lies in, now or a moment ago: for the helper thread, which finds the sites
// of samples in blocks that are not logged one by one. 12 bytes a live block (16 with the room a
// hash table needs), in pages of our own, up to a limit; a block that does not fit is refused as a
// whole. Ended blocks stay in a ring in order of time: a sample belongs to the first block over its
// address that ended after it, else to the live one, else (ring overwritten) its block is unknown.
//
// Sizes are divided into levels, each 16 times the one before, and the pages of a level are as
// large as its smallest block. So at most one block begins in a page, and at most 16 pages before
// an address are searched. Open addressing in 64 segments that grow one by one, so that no move
// takes long. Not thread-safe: the owner's lock covers it.
#pragma once

#include "base/page_array.hpp"

#include <cstdint>

namespace omptier {

struct LiveBlock {
  std::uint64_t address = 0, bytes = 0; // bytes from 64 KiB on rounded up by 1/4096 at most
  std::uint32_t site = 0;
  bool logged = false; // the log has it, one by one
  bool holds(std::uint64_t at) const { return at - address < bytes; }
};

class LiveBlocks {
public:
  LiveBlocks() = default;
  LiveBlocks(const LiveBlocks&) = delete;
  LiveBlocks& operator=(const LiveBlocks&) = delete;
  ~LiveBlocks() { clear(); }

  static constexpr std::size_t k_ended = std::size_t{1} << 16; // blocks that ended, remembered
  static constexpr std::uint32_t k_most_sites = 1u << 28;

  // Of the table, without the ring's 1.5 MiB.
  void limit(std::size_t bytes) { most_bytes_ = bytes; }
  // False: no room, or address or site too large. An earlier block there must have been erased.
  bool insert(const LiveBlock& block);
  // Ends the block that begins there; false when none is known.
  bool erase(std::uint64_t address, std::uint64_t now, LiveBlock& block);
  // Not for blocks under 4 KiB.
  bool find(std::uint64_t address, LiveBlock& block) const;

  // The size that erase() will return for a block of these bytes.
  static std::uint64_t counted_bytes(std::uint64_t bytes) {
    return unpack(pack({0, bytes, 0, false}, level_of(bytes))).bytes;
  }

  struct Ended {
    LiveBlock block;
    std::uint64_t time = 0;
  };
  // Ended blocks are numbered from 0; those from oldest_ended() on are still known.
  std::uint64_t next_ended() const { return next_ended_; }
  std::uint64_t oldest_ended() const { return next_ended_ > k_ended ? next_ended_ - k_ended : 0; }
  Ended ended(std::uint64_t number) const;

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return bytes_; } // of the table
  void clear();
  bool is_consistent() const;

private:
  struct Entry {                     // all zero: empty
    std::uint32_t low = 0, high = 0; // address / 16 << 20 | lower 20 bits of the site
    std::uint32_t rest = 0; // size in the level's unit, level, the site's upper bits, logged, used
  };
  struct Segment {
    Entry* entries = nullptr;
    std::uint32_t room = 0, used = 0;
  };
  struct EndedEntry {
    Entry entry;
    std::uint32_t later = 0; // pads
    std::uint64_t time = 0;
  };
  static constexpr unsigned k_segments = 64, k_levels = 9;

  static Entry pack(const LiveBlock& block, unsigned level);
  static LiveBlock unpack(const Entry& entry);
  static unsigned level_of(std::uint64_t bytes);
  static unsigned shift_of(unsigned level) { return level == 0 ? 4 : 8 + 4 * level; }
  static std::uint64_t hash(std::uint64_t page, unsigned level);
  static std::uint32_t home(const Segment& segment, std::uint64_t hash) {
    return static_cast<std::uint32_t>((hash & 0xffffffff) * segment.room >> 32);
  }
  // The block that begins in the page; exactly: at this address, unless 0.
  const Entry* look_up(std::uint64_t page, unsigned level, std::uint64_t exactly = 0) const;
  bool grow(Segment& segment);
  static void put(Segment& segment, const Entry& entry);
  static void take_out(Segment& segment, std::uint32_t at);

  Segment segments_[k_segments];
  std::size_t size_ = 0, bytes_ = 0, most_bytes_ = ~std::size_t{0};
  std::size_t at_level_[k_levels] = {};
  EndedEntry* ended_ = nullptr;
  std::uint64_t next_ended_ = 0;
};

} // namespace omptier
