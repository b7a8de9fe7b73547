// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An extent: consecutive pages inside the slices of one binding, for one large block, for one chunk
// of the small-block heap, or unused. Its *committed* bytes, whole pages from its begin, are
// writable, and only these are charged to the ledger; pages after them are at most readable. So
// every page that the kernel makes present, huge pages included, is counted.
#pragma once

#include "base/kind.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omptier {

class ExtentSpace;
struct HeapChunk;

// region: address space that extents are cut from, without pages of its own.
enum class ExtentUse : std::uint8_t { free, cached, block, heap, region };

// Which extents may share a huge page.
enum class Company : std::uint8_t {
  none,      // largest extents: units of their own, outside of regions
  units,     // no other's: units of their own in a region
  required,  // blocks whose pages are checked when placed, of one tier
  preferred, // blocks placed by first touch, which may move
};
inline constexpr unsigned k_companies = 4;

using KindBytes = std::array<std::uint64_t, k_memory_kinds + 1>; // by MemoryKind

// Bytes [begin, end) of an extent that lie in another kind and are charged to that kind.
struct ExtentPart {
  std::size_t begin = 0, end = 0;
  MemoryKind kind = MemoryKind::unknown;
  ExtentPart* next = nullptr;
};

struct Extent {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;     // virtual, whole pages
  std::size_t committed = 0; // writable from begin, whole pages; a free one: all or nothing
  ExtentUse use = ExtentUse::free;
  Company company = Company::none;
  bool verified = false;   // every committed page was seen on the binding's nodes
  bool moved = false;      // pages are, or may be, elsewhere than on the binding's nodes
  bool small_ends = false; // huge pages are off in those that it shares
  bool required = false;   // block: wanted there or not at all
  bool locked = false;     // block: pinned in memory
  // block: handed out. Until then others read only use and committed.
  std::atomic<bool> ready{false};
  bool moving = false;     // block: held by the thread that moves its pages, also when freed:
  bool leaving = false;    // then that thread gives it back,
  bool keep = false;       // into the cache
  ExtentSpace* space = nullptr;
  Extent *previous = nullptr, *next = nullptr; // in the list of its use
  HeapChunk* chunk = nullptr;                  // heap
  std::uint64_t freed_at = 0;                  // cached: when, ns; of its oldest part

  // block
  std::size_t block_bytes = 0; // requested size
  std::uint64_t promised = 0;  // of its bytes, in the tier's count: perhaps untouched
  const void* caller = nullptr;
  std::uint32_t allocator = 0;     // number of the allocator
  std::uint32_t plan_entry = 0;    // 1 + index of the plan's entry that placed it; 0 = none
  std::uint32_t plan_instance = 0; // index of the allocation at its site, from 0
  std::uint8_t reason = 0;         // PlacementReason
  MemoryKind charged = MemoryKind::unknown; // kind that the ledger counts the extent under …
  ExtentPart* parts = nullptr;              // … except these bytes: a block split over kinds
  std::size_t apart = 0;                    // sum of the parts
  // Also counted under other kinds: reserved or left behind by a move, and touches to come.
  KindBytes besides{};

  std::uintptr_t end() const { return begin + bytes; }
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
  // Its ends may lie in huge pages that others use.
  bool shares() const { return company == Company::required || company == Company::preferred; }
};

} // namespace omptier
