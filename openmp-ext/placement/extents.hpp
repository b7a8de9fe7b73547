// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents of one binding, for large blocks and for the chunks of the small-block heap. Those of up
// to 32 MiB lie in *regions*: 512 MiB of address space that can be read as a whole (what is not
// touched reads as zero and takes no memory) and of which a run of pages may be written, and is
// charged to the ledger, while somebody has it. Blocks that do not fill whole units (huge pages)
// lie beside each other page by page, so that they share huge pages and kernel mappings. Extents of
// whole units begin at one. Larger extents have units of their own, of which at least the last page
// can only be read. So something readable lies behind every block.
//
// Who may share is told by Extent::company. What shares a huge page may come to lie on another
// node with it (a first touch or khugepaged makes it as a whole), so blocks whose pages were
// checked are not put beside those that threads place by touching them or phases move; and before
// a block moves, huge pages are switched off where it shares them, and divided.
//
// Freed extents keep their pages in a bounded cache and are handed out again without any kernel
// call (a first touch costs 90 to 360 us per MiB, reuse next to nothing); those that share huge
// pages are joined and divided there. The ledger goes on counting them; they are dropped when it
// runs short, and some time after they were freed. A run that was dropped may not be written; else
// it is *open*, charged though it has no pages: so it is kept where there are many holes already,
// each of which costs the process two kernel mappings.
#pragma once

#include "base/kind.hpp"
#include "base/object_pool.hpp"
#include "base/relaxed.hpp"
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

inline constexpr std::uint64_t k_usual_decay = 10'000'000'000; // ns

// Where the pages of an extent are.
struct ExtentPages {
  KindBytes on{};            // bytes by kind
  std::uint64_t coming = 0;  // not in memory yet
  std::uint64_t unknown = 0; // the kernel refused to say
  bool home = false;         // none is on other nodes than the binding's
};

class ExtentSpace {
public:
  // kind: what the ledger is charged for. binding: where pages are preferred.
  // decay: nanoseconds that freed memory is kept for reuse. backing: what the memory is.
  // promised: where the tier counts what is handed out and not touched yet.
  ExtentSpace(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind, const Binding& binding,
              std::uint64_t decay = k_usual_decay, Backing& backing = node_pages(),
              Promised* promised = nullptr);

  // An extent with committed >= bytes, begin aligned to alignment (power of two), charged to the
  // ledger; null when the ledger, the address space or the kernel refuses. use: block (in the
  // caller's hand until hand_out or give_back) or heap. fresh: no page has been touched yet (reads
  // as zero). commit: bytes to make writable now, at most bytes. checked: its pages will be made
  // present and checked. coming: announces to the control group what is fresh.
  Extent* take(std::size_t bytes, std::size_t commit, std::size_t alignment, ExtentUse use,
               bool& fresh, bool checked = false, Ledger::Coming* coming = nullptr);
  // Makes more of an extent writable (charged); false when refused, then nothing changed.
  bool grow(Extent& extent, std::size_t committed);
  // Gives the pages beyond committed back to the system.
  void shrink(Extent& extent, std::size_t committed);
  // So many of an extent's bytes are promised from now on. The lock is held, or the extent in hand.
  void promise(Extent& extent, std::uint64_t bytes);
  // A block in hand becomes a live one: what is known of it may be seen from now on. Its bytes are
  // promised, unless all of them were seen where they belong.
  void hand_out(Extent& extent);
  // Into the cache, or back to the system when it is larger than the cache takes or keep is false.
  void give_back(Extent& extent, bool keep);
  // Gives back the live block that begins there, as above, and what was promised of it; where its
  // pages are being moved, whoever moves them does so. extent: what the caller takes for its
  // extent, one of this space at any time. False when no block begins there, also for whoever comes
  // second.
  bool release(Extent& extent, const void* block, bool keep = true);

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
  // pages came to lie (pages_of(extent)), and gives back the blocks that were not handed out yet.
  // The caller holds the lock.
  template <typename F> void forget_other_threads(F&& pages_of) {
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
  // Drops cached extents until so many bytes are free again; returns the bytes dropped.
  std::size_t drop_cache(std::size_t bytes);
  // Drops cached extents that were freed before a time (ns), a few at most; the bytes dropped.
  std::size_t drop_older(std::uint64_t since);

  ReservedRanges& ranges() { return ranges_; }
  std::uint64_t decay() const { return decay_; }
  MemoryKind kind() const { return kind_; }
  const Binding& binding() const { return binding_; }
  NodeSet nodes() const { return binding_.nodes; }
  Backing& backing() const { return backing_; }
  bool bound() const { return bound_; }            // false: the kernel refused the memory policy
  Heap* heap() const { return heap_; }             // that takes chunks here, or null
  void set_heap(Heap* heap) { heap_ = heap; }
  // Charged, but nobody's.
  std::size_t cached_bytes() const { return cached_bytes_ + open_bytes_; }
  // Of these, those without pages, in no extent.
  std::size_t open_bytes() const { return open_bytes_; }

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
  // with_pages: closed runs hold none.
  bool is_sound(std::string& why_not, bool with_pages = false);
  // From now on bytes of a block, which lie in no other part, are counted under a kind that has
  // granted them besides. False when there is no memory for the note, then nothing changed.
  bool add_part(Extent& extent, std::size_t begin, std::size_t end, MemoryKind kind);
  // Before pages of an extent move: huge pages that it shares are divided, and none is made there
  // until it is dropped.
  void keep_apart(Extent& extent);
  // Huge pages are made again where pages of an extent were to move, as far as no other's were.
  // The space is locked.
  void allow_huge_pages(Extent& extent);
  // Gives bytes at the extent's end back to the accounts they are counted under.
  void uncharge_end(Extent& extent, std::size_t bytes);

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  // What an extent for so many bytes is to be.
  struct Shape {
    std::size_t bytes = 0;     // virtual
    std::size_t committed = 0; // at best: with the rest of the last unit where that is little
    std::size_t alignment = 0;
    Company company = Company::none;
  };
  Shape shape_of(std::size_t bytes, std::size_t alignment, ExtentUse use, bool checked) const;
  FreeRuns& runs_of(Company company) { return runs_[static_cast<std::size_t>(company)]; }
  FreeRuns& runs_of(const Extent& extent) { return runs_of(extent.company); }

  // With the lock held.
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
  const bool reuses_pages_; // freed pages are not where a block's threads or size had them
  Backing& backing_;
  const bool huge_pages_;    // are made there
  Promised* const promised_; // of the tier, or null
  Heap* heap_ = nullptr;
  Relaxed<bool> bound_ = true; // written under the lock
  std::mutex lock_;
  ObjectPool<Extent> pool_;
  ObjectPool<ExtentPart> part_pool_;
  std::array<FreeRuns, k_companies> runs_;
  Extent* regions_ = nullptr;
  std::array<unsigned, k_companies> region_count_{};
  Extent* used_ = nullptr;
  Extent* cached_ = nullptr;              // latest first
  Extent* oldest_ = nullptr;              // end of the cached
  Relaxed<std::size_t> cached_bytes_ = 0; // written under the lock
  Relaxed<std::size_t> open_bytes_ = 0;   // of free runs; written under the lock
};

} // namespace omptier
