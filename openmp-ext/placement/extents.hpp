// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents: runs of whole units inside the slices of one binding, for large blocks and for the
// chunks of the small-block heap. An extent's virtual size is whole units (huge pages); *committed*
// is how many bytes from its begin are accessible, whole pages, which is what the ledger is
// charged. The uncommitted end of the last unit stays inaccessible, so no huge page can spread over
// it; where too many such gaps would cost the process its kernel mappings, the whole unit is
// committed instead.
//
// Freed extents keep their pages in a bounded cache and are handed out again without any kernel
// call (a first touch costs 90 to 360 us per MiB, reuse next to nothing). The ledger goes on
// counting them; they are dropped when it runs short, and some time after they were freed.
#pragma once

#include "base/kind.hpp"
#include "base/object_pool.hpp"
#include "base/relaxed.hpp"
#include "placement/folder.hpp"
#include "placement/ledger.hpp"
#include "placement/pages.hpp"
#include "placement/ranges.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace omptier {

class ExtentSpace;
class Heap;
struct HeapChunk;

inline constexpr std::uint64_t k_usual_decay = 10'000'000'000; // ns

enum class ExtentUse : std::uint8_t { free, cached, block, heap };

using KindBytes = std::array<std::uint64_t, k_memory_kinds + 1>; // by MemoryKind

// Where the pages of an extent are.
struct ExtentPages {
  KindBytes on{};            // bytes by kind
  std::uint64_t coming = 0;  // not in memory yet
  std::uint64_t unknown = 0; // the kernel refused to say
  bool home = false;         // none is on other nodes than the binding's
};

// Bytes [begin, end) of an extent that lie in another kind than the rest and are charged to it.
struct ExtentPart {
  std::size_t begin = 0, end = 0;
  MemoryKind kind = MemoryKind::unknown;
  ExtentPart* next = nullptr;
};

struct Extent {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;     // virtual, whole units
  std::size_t committed = 0; // accessible from begin, whole pages
  ExtentUse use = ExtentUse::free;
  bool verified = false; // every committed page was seen on the binding's nodes
  bool gap = false;      // committed ends inside a unit
  bool moved = false;    // pages are, or may be, elsewhere than on the binding's nodes
  bool required = false; // block: wanted there or not at all
  bool locked = false;   // block: pinned in memory
  bool ready = false;    // block: handed out; else only the thread that has it in hand may look
  bool moving = false;   // block: in the hand of who moves its pages, also when it is freed:
  bool leaving = false;  // that one gives it back then,
  bool keep = false;     // into the cache
  ExtentSpace* space = nullptr;
  Extent *previous = nullptr, *next = nullptr; // in the list of its use
  HeapChunk* chunk = nullptr;                  // heap
  std::uint64_t freed_at = 0;                  // cached: when, ns

  // block
  std::size_t block_bytes = 0; // as the program asked
  const void* caller = nullptr;
  std::uint32_t allocator = 0;     // number of the allocator
  std::uint32_t plan_entry = 0;    // 1 + index of the plan's entry that placed it; 0 = none
  std::uint32_t plan_instance = 0; // which allocation of its site it was, from 0
  std::uint8_t reason = 0;         // PlacementReason
  MemoryKind charged = MemoryKind::unknown; // kind the ledger counts the extent under …
  ExtentPart* parts = nullptr;              // … but for these bytes: a block split over kinds
  std::size_t apart = 0;                    // sum of the parts
  // Counted under other kinds besides: what a move has reserved, then pages that it left behind,
  // and where first touch brings those still to come.
  KindBytes besides{};
};

class ExtentSpace {
public:
  // kind: what the ledger is charged for. binding: where pages are preferred.
  // decay: nanoseconds that freed memory is kept for reuse. folder: where the memory comes from
  // instead of the system.
  ExtentSpace(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, const Binding& binding,
              std::uint64_t decay = k_usual_decay, Folder* folder = nullptr);

  // An extent with committed >= bytes, begin aligned to alignment (power of two), charged to the
  // ledger; null when the ledger, the address space or the kernel refuses. use: block or heap.
  // fresh: no page has been touched yet (reads as zero). commit: bytes to make accessible now, at
  // most bytes.
  Extent* take(std::size_t bytes, std::size_t commit, std::size_t alignment, ExtentUse use,
               bool& fresh);
  // Makes more of an extent accessible (charged); false when refused, then nothing changed.
  bool grow(Extent& extent, std::size_t committed);
  // Gives the pages beyond committed back to the system.
  void shrink(Extent& extent, std::size_t committed);
  // Into the cache, or back to the system when it is larger than the cache takes or keep is false.
  void give_back(Extent& extent, bool keep);
  // Gives back the extent of the block that begins there, as above; where its pages are being moved,
  // whoever moves them does so. False when no block begins there, also for whoever comes second.
  // promised: its bytes, unless all were seen where they belong.
  bool release(const void* block, bool keep, std::size_t& promised);

  // Moves (extent_moves.cpp). The extent of the block that begins there, held in place while its
  // pages are moved: only who holds it changes where it lies and under what it is counted. Null
  // when there is none, it is pinned or a file's, or somebody else moves it.
  Extent* begin_move(const void* block);
  void end_move(Extent& extent);
  // Counts bytes of a held extent under a kind besides, if the ledger grants them; and no longer.
  bool count_besides(Extent& extent, MemoryKind kind, std::size_t bytes);
  void uncount_besides(Extent& extent, MemoryKind kind, std::size_t bytes);
  // From now on a held extent is counted under this kind, which it was or which has granted all of
  // it besides. What lies or will come elsewhere stays counted there, as far as it was; the rest
  // goes back.
  void charge_to(Extent& extent, MemoryKind kind, const ExtentPages& pages);
  // In a forked child, where nobody goes on with them: ends every move, with the accounts as the
  // pages came to lie (pages_of(extent)). The caller holds the lock.
  template <typename F> void forget_moves(F&& pages_of) {
    for (Extent *extent = used_, *next = nullptr; extent != nullptr; extent = next) {
      next = extent->next;
      if (!extent->moving) continue;
      recharge(*extent, extent->charged, pages_of(*extent));
      let_go(*extent);
    }
  }
  // Drops cached extents until so many bytes are free again; returns the bytes dropped.
  std::size_t drop_cache(std::size_t bytes);
  // Drops cached extents that were freed before a time (ns), a few at most; the bytes dropped.
  std::size_t drop_older(std::uint64_t since);

  ReservedRanges& ranges() { return ranges_; }
  std::uint64_t decay() const { return decay_; }
  MemoryKind kind() const { return kind_; }
  const Binding& binding() const { return binding_; }
  NodeSet nodes() const { return binding_.nodes; }
  const Folder* folder() const { return folder_; } // or null
  bool bound() const { return bound_; }            // false: the kernel refused the memory policy
  Heap* heap() const { return heap_; }             // that takes chunks here, or null
  void set_heap(Heap* heap) { heap_ = heap; }
  std::size_t cached_bytes() const { return cached_bytes_; }

  // Calls visit(extent) for every block and heap extent; the lock is held.
  template <typename F> void for_each(F&& visit) {
    const std::lock_guard guard(lock_);
    for (Extent* extent = used_; extent != nullptr; extent = extent->next)
      visit(*extent);
  }
  // The same for the cached ones too: for all that the ledger counts.
  template <typename F> void for_each_counted(F&& visit) {
    for_each(visit);
    const std::lock_guard guard(lock_);
    for (const Extent* extent = cached_; extent != nullptr; extent = extent->next)
      visit(*extent);
  }
  // Calls visit(extent) for the live block's or heap's extent that an address of this space lies
  // in, if any; the lock is held. Any address of the space may be asked for, at any time.
  template <typename F> void visit_at(const void* address, F&& visit) {
    const std::lock_guard guard(lock_);
    if (Extent* extent = used_at(address)) visit(*extent);
  }
  bool is_sound(std::string& why_not);
  // From now on bytes of a block, which lie in no other part, are counted under a kind that has
  // granted them besides. False when there is no memory for the note, then nothing changed.
  bool add_part(Extent& extent, std::size_t begin, std::size_t end, MemoryKind kind);
  // Gives bytes at the extent's end back to the accounts they are counted under.
  void uncharge_end(Extent& extent, std::size_t bytes);

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  static constexpr unsigned k_bins = 24; // free runs by log2 of their units

  // With the lock held.
  void put_back(Extent& extent, bool keep);
  void recharge(Extent& extent, MemoryKind kind, const ExtentPages& pages);
  void let_go(Extent& extent);
  Extent* used_at(const void* address);
  Extent* from_cache(std::size_t bytes, std::size_t commit, std::size_t alignment);
  Extent* from_free(std::size_t bytes, std::size_t alignment);
  bool add_slice(std::size_t bytes);
  Extent* split(Extent* run, std::uintptr_t begin, std::size_t bytes);
  bool drop(Extent* extent);
  bool back_slice(const Slice& slice);
  bool make_accessible(std::uintptr_t begin, std::size_t bytes);
  bool discard(std::uintptr_t begin, std::size_t bytes);
  void add_free(Extent* run);
  void remove_free(Extent* run);
  std::size_t committed_for(std::size_t bytes, std::size_t virtual_bytes) const;
  void add_cached(Extent* extent);
  void remove_cached(Extent* extent);
  static void push(Extent*& head, Extent* extent);
  static void remove(Extent*& head, Extent* extent);

  ReservedRanges& ranges_;
  Ledger& ledger_;
  const MemoryKind kind_;
  const Binding binding_;
  const std::uint64_t decay_;
  Folder* const folder_;
  Heap* heap_ = nullptr;
  Relaxed<bool> bound_ = true; // written under the lock
  std::mutex lock_;
  ObjectPool<Extent> pool_;
  ObjectPool<ExtentPart> part_pool_;
  Extent* free_[k_bins] = {};
  Extent* used_ = nullptr;
  Extent* cached_ = nullptr;              // latest first
  Extent* oldest_ = nullptr;              // end of the cached
  Relaxed<std::size_t> cached_bytes_ = 0; // written under the lock
};

} // namespace omptier
