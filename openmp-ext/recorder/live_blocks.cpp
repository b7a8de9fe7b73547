// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See live_blocks.hpp. Level 0: under 4 KiB, pages of 16 bytes, found by their begin only; level 1:
// from 4 KiB, pages of 4 KiB, and so on. When a slot is emptied, a later entry fills it.
#include "recorder/live_blocks.hpp"

namespace omptier {
namespace {

constexpr std::uint32_t k_used = 1u << 31, k_logged = 1u << 30;
constexpr unsigned k_level_shift = 16;
constexpr std::uint32_t k_level_mask = 15;
constexpr unsigned k_site_bits = 20, k_site_shift = 20; // below the address; upper ones in rest
constexpr std::uint32_t k_low_site = (1u << k_site_bits) - 1, k_high_site = 0xff;
constexpr std::uint64_t k_most_addresses = std::uint64_t{1} << 48;
constexpr std::size_t k_small_segment = std::size_t{64} << 10; // bytes; grows by half up to here

// Bytes of one unit of a packed size.
unsigned unit_shift(unsigned level) {
  return level <= 1 ? 0 : 4 * (level - 1);
}

} // namespace

unsigned LiveBlocks::level_of(std::uint64_t bytes) {
  unsigned level = 0;
  for (std::uint64_t least = 4096; level + 1 < k_levels && bytes >= least; least <<= 4)
    ++level;
  return level;
}

LiveBlocks::Entry LiveBlocks::pack(const LiveBlock& block, unsigned level) {
  const std::uint64_t unit = std::uint64_t{1} << unit_shift(level);
  std::uint64_t size = (block.bytes + unit - 1) / unit;
  if (size > 0xffff) size = 0xffff;
  const std::uint64_t key = block.address >> 4 << k_site_bits | (block.site & k_low_site);
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32),
          static_cast<std::uint32_t>(size) | level << k_level_shift |
              block.site >> k_site_bits << k_site_shift | (block.logged ? k_logged : 0) | k_used};
}

LiveBlock LiveBlocks::unpack(const Entry& entry) {
  const std::uint64_t key = std::uint64_t{entry.high} << 32 | entry.low;
  const unsigned level = entry.rest >> k_level_shift & k_level_mask;
  LiveBlock block;
  block.address = key >> 20 << 4;
  block.bytes = std::uint64_t{entry.rest & 0xffff} << unit_shift(level);
  block.site = static_cast<std::uint32_t>(key & k_low_site) |
               (entry.rest >> k_site_shift & k_high_site) << k_site_bits;
  block.logged = (entry.rest & k_logged) != 0;
  return block;
}

std::uint64_t LiveBlocks::hash(std::uint64_t page, unsigned level) {
  std::uint64_t hash = (page << 4 | level) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 32;
  return hash * 0xd6e8feb86659fd93u;
}

const LiveBlocks::Entry* LiveBlocks::look_up(std::uint64_t page, unsigned level,
                                             std::uint64_t exactly) const {
  const std::uint64_t mixed = hash(page, level);
  const Segment& segment = segments_[mixed >> 58];
  if (segment.room == 0) return nullptr;
  for (std::uint32_t at = home(segment, mixed);; at = at + 1 == segment.room ? 0 : at + 1) {
    const Entry& entry = segment.entries[at];
    if (entry.rest == 0) return nullptr;
    if ((entry.rest >> k_level_shift & k_level_mask) != level) continue;
    const std::uint64_t key = std::uint64_t{entry.high} << 32 | entry.low;
    const std::uint64_t address = key >> 20 << 4;
    if (address >> shift_of(level) == page && (exactly == 0 || exactly == address)) return &entry;
  }
}

void LiveBlocks::put(Segment& segment, const Entry& entry) {
  const unsigned level = entry.rest >> k_level_shift & k_level_mask;
  std::uint32_t at = home(segment, hash(unpack(entry).address >> shift_of(level), level));
  while (segment.entries[at].rest != 0)
    at = at + 1 == segment.room ? 0 : at + 1;
  segment.entries[at] = entry;
}

bool LiveBlocks::grow(Segment& segment) {
  const std::size_t before = in_whole_pages(segment.room * sizeof(Entry));
  const std::size_t bytes =
      in_whole_pages(before < k_small_segment ? before + before / 2 + 1 : before + before / 8);
  // While it is copied, the old table exists too.
  if (bytes_ + bytes > most_bytes_) return false;
  auto* entries = static_cast<Entry*>(map_pages(bytes));
  if (entries == nullptr) return false;
  const Segment old = segment;
  segment.entries = entries;
  segment.room = static_cast<std::uint32_t>(bytes / sizeof(Entry));
  for (std::uint32_t i = 0; i < old.room; ++i)
    if (old.entries[i].rest != 0) put(segment, old.entries[i]);
  if (old.entries != nullptr) unmap_pages(old.entries, before);
  bytes_ += bytes - before;
  return true;
}

bool LiveBlocks::insert(const LiveBlock& block) {
  if (block.address >= k_most_addresses || block.site >= k_most_sites) return false;
  if (ended_ == nullptr) {
    ended_ = static_cast<EndedEntry*>(map_pages(k_ended * sizeof(EndedEntry)));
    if (ended_ == nullptr) return false;
  }
  const unsigned level = level_of(block.bytes);
  Segment& segment = segments_[hash(block.address >> shift_of(level), level) >> 58];
  if ((segment.used + 1) * std::uint64_t{8} > segment.room * std::uint64_t{7} && !grow(segment) &&
      (segment.used + 1) * std::uint64_t{16} > segment.room * std::uint64_t{15})
    return false; // a search that finds nothing would go through all of them
  put(segment, pack(block, level));
  ++segment.used;
  ++size_;
  ++at_level_[level];
  return true;
}

// Moves up entries behind the gap whose place would be the gap or one before it.
void LiveBlocks::take_out(Segment& segment, std::uint32_t gap) {
  const auto distance = [&](std::uint32_t from, std::uint32_t to) {
    return to >= from ? to - from : to + segment.room - from;
  };
  for (std::uint32_t at = gap;;) {
    at = at + 1 == segment.room ? 0 : at + 1;
    Entry& entry = segment.entries[at];
    if (entry.rest == 0) break;
    const unsigned level = entry.rest >> k_level_shift & k_level_mask;
    const std::uint32_t wanted =
        home(segment, hash(unpack(entry).address >> shift_of(level), level));
    if (distance(wanted, at) < distance(gap, at)) continue;
    segment.entries[gap] = entry;
    gap = at;
  }
  segment.entries[gap] = {};
  --segment.used;
}

bool LiveBlocks::erase(std::uint64_t address, std::uint64_t now, LiveBlock& block) {
  if (address >= k_most_addresses) return false;
  for (unsigned level = 0; level < k_levels; ++level) {
    if (at_level_[level] == 0) continue;
    const std::uint64_t page = address >> shift_of(level);
    const Entry* entry = look_up(page, level, address & ~std::uint64_t{15});
    if (entry == nullptr) continue;
    block = unpack(*entry);
    ended_[next_ended_++ % k_ended] = {*entry, 0, now};
    Segment& segment = segments_[hash(page, level) >> 58];
    take_out(segment, static_cast<std::uint32_t>(entry - segment.entries));
    --size_;
    --at_level_[level];
    return true;
  }
  return false;
}

bool LiveBlocks::find(std::uint64_t address, LiveBlock& block) const {
  if (address >= k_most_addresses) return false;
  for (unsigned level = 1; level < k_levels; ++level) {
    if (at_level_[level] == 0) continue;
    const std::uint64_t page = address >> shift_of(level);
    for (std::uint64_t back = 0; back <= 16 && back <= page; ++back) {
      const Entry* entry = look_up(page - back, level);
      if (entry == nullptr) continue;
      block = unpack(*entry);
      if (address >= block.address && block.holds(address)) return true;
    }
  }
  return false;
}

LiveBlocks::Ended LiveBlocks::ended(std::uint64_t number) const {
  const EndedEntry& entry = ended_[number % k_ended];
  return {unpack(entry.entry), entry.time};
}

void LiveBlocks::clear() {
  for (Segment& segment : segments_) {
    if (segment.entries != nullptr) unmap_pages(segment.entries, segment.room * sizeof(Entry));
    segment = {};
  }
  if (ended_ != nullptr) unmap_pages(ended_, k_ended * sizeof(EndedEntry));
  ended_ = nullptr;
  size_ = bytes_ = 0;
  for (std::size_t& count : at_level_)
    count = 0;
  next_ended_ = 0;
}

// Every entry is found at its place; the counts are right.
bool LiveBlocks::is_consistent() const {
  std::size_t found = 0;
  for (const Segment& segment : segments_) {
    std::uint32_t used = 0;
    for (std::uint32_t i = 0; i < segment.room; ++i) {
      const Entry& entry = segment.entries[i];
      if (entry.rest == 0) continue;
      ++used;
      const unsigned level = entry.rest >> k_level_shift & k_level_mask;
      const std::uint64_t address = unpack(entry).address;
      if (look_up(address >> shift_of(level), level, address) != &entry) return false;
    }
    if (used != segment.used) return false;
    found += used;
  }
  return found == size_;
}

} // namespace omptier
