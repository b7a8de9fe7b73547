// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The address space of all memory that we hand out: at most eight ranges reserved without access
// (PROT_NONE) at addresses of the kernel's choice, 1 TiB at first, halved on refusal down to 4 GiB.
// Each is divided into equal slices; a slice belongs to one *binding* (a tier and a distribution
// over its nodes) and gets its NUMA policy once, when it is taken: a policy set while a range is
// inaccessible stays in force, and few different policies mean few kernel mappings.
//
// Memory is managed in *units* (a huge page, else 2 MiB); a table has the extent that owns each
// unit. Inside a region a second table has extents by *granules* of 64 KiB: no extent is smaller,
// so at most one begins in a granule; the entry is that one, else the one that fills the granule. A
// third table, also by granules, has the spans of small blocks. Both are reserved with the range
// and made accessible slice by slice. Testing whether an address is ours takes one comparison with
// the overall bounds, then at most eight.
#pragma once

#include "placement/size_classes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace omptier {

class ExtentSpace;
struct Extent;
struct Span;

inline constexpr std::size_t k_largest_range = std::size_t{1} << 40; // 1 TiB
inline constexpr std::size_t k_least_range = std::size_t{1} << 32;   // 4 GiB
inline constexpr unsigned k_most_ranges = 8;
inline constexpr unsigned k_slices = 32; // per range

struct Slice {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

struct SpanTable {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<Span*>* spans = nullptr; // one per granule
  // Bytes from begin for which spans is accessible: slices are taken in order.
  std::atomic<std::size_t> accessible{0};

  Span* find(const void* address) const {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(address) - begin.load(std::memory_order_relaxed);
    if (offset >= accessible.load(std::memory_order_acquire)) return nullptr;
    return spans[offset >> k_granule_shift].load(std::memory_order_acquire);
  }
};

class ReservedRanges {
public:
  // Bytes of a unit: the huge page size if it is reasonable, else 2 MiB.
  std::size_t unit() const { return unit_; }

  bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at < low_.load(std::memory_order_relaxed) || at >= high_.load(std::memory_order_relaxed))
      return false;
    return find(at) != nullptr;
  }

  // Every address of ours lies in [low, high).
  void bounds(std::uintptr_t& low, std::uintptr_t& high) const {
    low = low_.load(std::memory_order_relaxed);
    high = high_.load(std::memory_order_relaxed);
  }

  // Called before a block of a range behind the first is handed out, on any thread.
  void when_grown(void (*call)()) { grown_.store(call, std::memory_order_release); }

  // Of the first range; 0 before it is reserved.
  std::size_t slice_bytes() const {
    return count_.load(std::memory_order_acquire) != 0 ? ranges_[0].bytes / k_slices : 0;
  }

  // Takes consecutive free slices of at least that many bytes for the space, still inaccessible and
  // without policy; bytes is 0 when no address space is left. Reserves another range when needed.
  Slice take(std::size_t bytes, ExtentSpace* space);
  // Null if the address is not ours. The answer never changes.
  ExtentSpace* space_of(const void* address) const;

  // The extent that contains an address of ours, else the region's own, or null. Only stable while
  // its space is locked, or for the caller's own block.
  Extent* owner(const void* address) const;
  // The entry of the table of units: inside a region always the region.
  Extent* owner_of_unit(std::uintptr_t address) const;
  // For an address in a region; null if no extent of it contains the address.
  Extent* owner_in_region(std::uintptr_t address) const;
  // Enters the extent in the tables, only at its ends if addresses inside are never looked up.
  // Entries where no extent lies may be outdated: owner() checks the extent itself.
  enum class Marks { all, ends };
  void set_owner_of_units(Extent& extent, Marks marks = Marks::all);
  void set_owner_of_granules(Extent& extent, Marks marks = Marks::all);

  // Null if there is none.
  Span* span_of(const void* address) const {
    Span* span = ranges_[0].find(address);
    return span != nullptr ? span : span_beyond_first(reinterpret_cast<std::uintptr_t>(address));
  }
  // Of the first range, in which nearly all blocks lie.
  const SpanTable& first() const { return ranges_[0]; }
  void set_span(std::uintptr_t begin, unsigned granules, Span* span);

  bool is_sound(std::string& why_not) const;

  ReservedRanges();
  // Used by tests only: a process's placer is never destroyed.
  ~ReservedRanges();
  ReservedRanges(const ReservedRanges&) = delete;
  ReservedRanges& operator=(const ReservedRanges&) = delete;

private:
  struct Range : SpanTable {
    std::size_t bytes = 0;
    std::atomic<Extent*>* owners = nullptr;   // one per unit
    std::atomic<Extent*>* granules = nullptr; // one per granule
    std::uint32_t taken = 0;                // one bit per slice
    std::array<std::atomic<ExtentSpace*>, k_slices> spaces{};
  };
  const Range* find(std::uintptr_t address) const;
  Span* span_beyond_first(std::uintptr_t address) const;
  bool reserve_range(std::size_t least);
  Slice take_from(Range& range, std::size_t bytes, ExtentSpace* space);

  std::size_t unit_;
  std::atomic<std::uintptr_t> low_{~std::uintptr_t{0}}, high_{0};
  std::array<Range, k_most_ranges> ranges_;
  std::atomic<unsigned> count_{0};
  std::atomic<void (*)()> grown_{nullptr};
  mutable std::mutex lock_;

public:
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }
};

} // namespace omptier
