// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents of one binding, for large blocks and for chunks of the small-block heap. Those up to 32
// MiB lie in *regions*: 512 MiB of address space, readable as a whole, in which a run of pages is
// writable and charged to the ledger while in use. Blocks that do not fill whole units (huge pages)
// lie side by side, so that they share huge pages and kernel mappings; extents of whole units begin
// at one. Larger extents have units of their own, the last page of which stays read-only: the
// memory after every block is readable.
//
// Extent::company decides who may share. Pages in one huge page can only be on one node (a first
// touch or khugepaged creates it as a whole). So blocks whose pages were checked are kept apart
// from blocks that threads place by first touch or that moves may relocate; and before a block
// moves, the huge pages that it shares are split and disabled.
//
// Freed extents keep their pages in a bounded cache and are reused without any kernel call (a first
// touch costs 90 to 360 us per MiB). Those that share huge pages are joined and divided in the
// cache. The ledger counts them; they are dropped when it runs short, and some time after they were
// freed. A dropped run is made read-only (*closed*); otherwise it is *open*: charged although it
// has no pages. Runs stay open where there are many holes, since each costs the process two kernel
// mappings.
#pragma once

#include "base/kind.hpp"
#include "base/object_pool.hpp"
#include "base/relaxed.hpp"
#include "model/kept_memory.hpp"
#include "placement/backing.hpp"
#include "placement/extent.hpp"
#include "placement/group_room.hpp"
#include "placement/ledger.hpp"
#include "placement/pages.hpp"
#include "placement/ranges.hpp"
#include "placement/runs.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace omptier {

class Heap;

struct ExtentPages {
  KindBytes on{};            // bytes by kind
  std::uint64_t coming = 0;  // not in memory yet
  std::uint64_t unknown = 0; // the kernel refused to report them
  bool home = false;         // none is on other nodes than the binding's
};

class ExtentSpace {
public:
  // kind: charged in the ledger. binding: preferred nodes. decay: nanoseconds that freed memory is
  // kept for reuse. promised: the tier's count of bytes handed out and not touched yet.
  ExtentSpace(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, const Binding& binding,
              std::uint64_t decay = k_usual_decay, Backing& backing = node_backing(),
              Promised* promised = nullptr);

  // Begin aligned to alignment (power of two), committed >= bytes, charged to the ledger; null when
  // the ledger, the address space or the kernel refuses. use: block (only the caller uses it until
  // hand_out or give_back) or heap. fresh: no page has been touched yet (reads as zero). commit:
  // bytes to make writable now, at most bytes. checked: its pages will be made present and checked.
  // coming: announces fresh memory to the control group.
  Extent* take(std::size_t bytes, std::size_t commit, std::size_t alignment, ExtentUse use,
               bool& fresh, bool checked = false, Ledger::Coming* coming = nullptr);
  // Charges the added bytes; false when refused, then nothing has changed.
  bool grow(Extent& extent, std::size_t committed);
  void shrink(Extent& extent, std::size_t committed);
  // The caller holds the lock or has not handed the extent out.
  void promise(Extent& extent, std::uint64_t bytes);
  // Makes a taken block visible to others. Its bytes are promised unless all were verified.
  void hand_out(Extent& extent);
  // Into the cache, or back to the system if it is too large or keep is false.
  void give_back(Extent& extent, bool keep);
  // Gives back the live block that begins there, and what was promised of it; if its pages are
  // being moved, the moving thread does so. extent: the caller's guess of the block's extent, in
  // this space at any time. False when no block begins there, and for the second of two calls.
  bool release(Extent& extent, const void* block, bool keep = true);

  // Moves (extent_moves.cpp). Holds the extent of the block that begins there while its pages move:
  // only the holder changes where it lies and how it is counted. Null when there is no such block,
  // it is pinned or in a file, or another thread holds it.
  Extent* begin_move(const void* block);
  void end_move(Extent& extent);
  // Also counts bytes of a held extent under another kind, if the ledger grants them; undoes it.
  // beyond: also above the process's limit, where that is allowed now.
  bool count_besides(Extent& extent, MemoryKind kind, std::size_t bytes, bool beyond = false);
  void uncount_besides(Extent& extent, MemoryKind kind, std::size_t bytes);
  // Counts a held extent under this kind: its own, or one that has granted all of it. Bytes that
  // lie elsewhere, or will, stay counted there as far as they were; the rest is given back.
  void charge_to(Extent& extent, MemoryKind kind, const ExtentPages& pages);
  // Counts bytes [begin, end) of a held extent, all counted under from, under a kind that has
  // granted them (count_besides): they become a part of that kind, or of the extent's own account.
  // Those that still lie in from, or will, stay counted there. False without memory for the parts,
  // then nothing has changed.
  bool count_part_under(Extent& extent, std::size_t begin, std::size_t end, MemoryKind from,
                        MemoryKind kind, const ExtentPages& pages);
  // An extent of which all parts are of one kind is charged to that kind again, without parts.
  void join_parts(Extent& extent);
  // In a forked child: ends the moves of missing threads, with the accounts as the pages lie
  // (pages_of(extent)), and gives back blocks not handed out. The caller holds the lock.
  template <typename F> void forget_other_threads(F&& pages_of) {
    if (in_hands_.load(std::memory_order_acquire) == 0) return; // there may be very many extents
    for (Extent *extent = used_, *next = nullptr; extent != nullptr; extent = next) {
      next = extent->next;
      if (extent->moving) {
        recharge(*extent, extent->charged, pages_of(*extent));
        let_go(*extent);
      } else if (extent->use == ExtentUse::block && !extent->ready) {
        put_back(*extent, false);
      }
    }
  }
  // Until that many bytes are free; returns the bytes dropped.
  std::size_t drop_cache(std::size_t bytes);
  // Drops only a few of those freed before a time (ns); returns the bytes dropped.
  std::size_t drop_older(std::uint64_t since);

  ReservedRanges& ranges() { return ranges_; }
  std::uint64_t decay() const { return decay_; }
  MemoryKind kind() const { return kind_; }
  const Binding& binding() const { return binding_; }
  NodeSet nodes() const { return binding_.nodes; }
  Backing& backing() const { return backing_; }
  bool moves_pages() const { return backing_.comes_at_touch; } // else they are a file's
  bool bound() const { return bound_; }            // false: the kernel refused the memory policy
  Heap* heap() const { return heap_; }             // that takes chunks here, or null
  void set_heap(Heap* heap) { heap_ = heap; }
  // Charged, but not in use.
  std::size_t cached_bytes() const { return cached_bytes_ + open_bytes_; }
  // Of these, bytes without pages and outside of extents.
  std::size_t open_bytes() const { return open_bytes_; }

  // Visits block and heap extents with the lock held.
  template <typename F> void for_each(F&& visit) {
    const std::lock_guard guard(lock_);
    for (Extent* extent = used_; extent != nullptr; extent = extent->next)
      visit(*extent);
  }
  // Also visits cached ones: everything that the ledger counts.
  template <typename F> void for_each_counted(F&& visit) {
    for_each(visit);
    const std::lock_guard guard(lock_);
    for (const Extent* extent = cached_; extent != nullptr; extent = extent->next)
      visit(*extent);
  }
  // Visits, with the lock held, the block or heap extent that contains the address, if any. Accepts
  // any address of this space at any time.
  template <typename F> void visit_at(const void* address, F&& visit) {
    const std::lock_guard guard(lock_);
    if (Extent* extent = used_at(address)) visit(*extent);
  }
  // with_pages: also checks that closed runs have no pages.
  bool is_sound(std::string& why_not, bool with_pages = false);
  // Counts bytes of a block, outside of its other parts, under a kind that has granted them in
  // addition. False, and nothing changed, when there is no memory for the part.
  bool add_part(Extent& extent, std::size_t begin, std::size_t end, MemoryKind kind);
  // Before a move: splits the huge pages that an extent shares, and disables new ones there.
  void keep_apart(Extent& extent);
  // Enables huge pages again unless a neighbour needs them off. The caller holds the lock.
  void allow_huge_pages(Extent& extent);
  // Gives bytes at the extent's end back to the accounts that count them.
  void uncharge_end(Extent& extent, std::size_t bytes);

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  struct Shape {
    std::size_t bytes = 0;     // virtual
    std::size_t committed = 0; // rounded up to whole units where that adds little
    std::size_t alignment = 0;
    Company company = Company::none;
  };
  Shape shape_of(std::size_t bytes, std::size_t alignment, ExtentUse use, bool checked) const;
  FreeRuns& runs_of(Company company) { return runs_[static_cast<std::size_t>(company)]; }
  FreeRuns& runs_of(const Extent& extent) { return runs_of(extent.company); }

  // The caller holds the lock.
  void put_back(Extent& extent, bool keep);
  void recharge(Extent& extent, MemoryKind kind, const ExtentPages& pages);
  void let_go(Extent& extent);
  Extent* used_at(const void* address);
  Extent* from_cache(const Shape& shape, std::size_t commit, Ledger::Coming* coming);
  Extent* make_fresh(const Shape& shape, std::size_t committed, std::size_t asked,
                     Ledger::Coming* coming);
  Extent* commit_in_company(Extent* extent, std::size_t committed);
  Extent* from_free(const Shape& shape);
  bool add_slice(std::size_t bytes);
  bool add_region(Company company);
  void give_back_region(Extent& region, Extent& run);
  bool drop(Extent* extent);
  void free_in_region(Extent& extent);
  bool cut_parts(Extent& extent, std::size_t begin, std::size_t end);
  Extent* join_open_before(Extent* extent, const Shape& shape);
  Extent* open_ahead(const Extent& extent);
  bool give_up_pages(const Extent& extent);
  bool close(Extent& run);
  bool may_share_huge_pages(const Extent& extent) const { return extent.shares() && huge_pages_; }
  bool others_apart(const Extent& extent, std::uintptr_t unit);
  void add_cached(Extent* extent, std::uint64_t now);
  void add_joined(Extent* extent, std::uint64_t now);
  void remove_cached(Extent* extent);
  void replace_cached(Extent& extent, Extent& other);
  void divide_cached(Extent& extent, std::size_t bytes);
  bool has_no_pages(const Extent& run) const;
  bool regions_are_sound(std::string& why_not, bool with_pages);
  static void* pointer(std::uintptr_t at) { return reinterpret_cast<void*>(at); }

  ReservedRanges& ranges_;
  Ledger& ledger_;
  const MemoryKind kind_;
  const Binding binding_;
  const std::uint64_t decay_;
  const bool reuses_pages_; // freed pages do not depend on the threads or size of a block
  Backing& backing_;
  const bool huge_pages_;    // may be made there
  Promised* const promised_; // the tier's, or null
  Heap* heap_ = nullptr;
  Relaxed<bool> bound_ = true; // written under the lock
  std::mutex lock_;
  ObjectPool<Extent> pool_;
  ObjectPool<ExtentPart> part_pool_;
  std::array<FreeRuns, k_companies> runs_;
  Extent* regions_ = nullptr;
  std::array<unsigned, k_companies> region_count_{};
  Extent* used_ = nullptr;
  std::atomic<std::uint32_t> in_hands_{0}; // blocks not yet handed out, and those being moved
  Extent* cached_ = nullptr;              // latest first
  Extent* oldest_ = nullptr;              // end of that list
  Relaxed<std::size_t> cached_bytes_ = 0; // written under the lock
  Relaxed<std::size_t> open_bytes_ = 0;   // of free runs; written under the lock
};

} // namespace omptier
