// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places memory that was not allocated by us (statics, COMMON blocks, mappings) in a kind of
// memory: its present pages are moved there, the others get a policy for their first touch. The
// ledger is charged for whole pages; a list keeps the ranges, so that one placed again is counted
// once. Pages shared with data before or after the range are left alone.
#pragma once

#include "placement/placer.hpp"

namespace omptier {

enum class RangeResult : std::uint8_t {
  placed,     // every present page is there
  no_pages,   // no page lies wholly in the range
  no_room,    // ledger or node; nothing was changed
  not_mapped, // part of it is not mapped
  refused,    // the kernel refuses policies or moves
  partly,     // some present pages are elsewhere
  shared,     // the same, because other processes share them: pages of a file
};

struct PlacedRange {
  std::uintptr_t begin = 0, end = 0; // whole pages
  MemoryKind kind = MemoryKind::unknown;
  std::uint32_t plan_entry = 0; // 1 + index of the plan's entry; 0 = ompx_place_range
  // Charged under other kinds in addition: pages that did not follow.
  KindBytes besides{};
};

class PlacedRanges {
public:
  // of_file: pages of a file are made present first, as the process's own where writable (.data);
  // constants stay shared. missing: present bytes that are elsewhere in the end.
  RangeResult place(Placer& placer, std::uintptr_t begin, std::size_t bytes, std::size_t tier,
                    bool of_file, std::uint32_t plan_entry, std::uint64_t& missing);
  bool find(const void* address, PlacedRange& found);

  template <typename F> void for_each(F&& visit) {
    const std::lock_guard guard(lock_);
    for (std::size_t i = 0; i < count_; ++i)
      visit(ranges_[i]);
  }
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  bool make_room();
  void record(Placer& placer, PlacedRange range, const PageCensus& pages);
  std::uint64_t counted(std::uintptr_t begin, std::uintptr_t end, MemoryKind kind) const;

  std::mutex lock_;
  PlacedRange* ranges_ = nullptr; // disjoint, in no order
  std::size_t count_ = 0, capacity_ = 0;
};

} // namespace omptier
