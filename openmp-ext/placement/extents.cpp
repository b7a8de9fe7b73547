// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bookkeeping of one binding's extents. Free runs lie in bins by size and join their neighbours,
// found through the owners of the adjoining units. All lists are guarded by one lock; the kernel
// calls that commit and drop are made under it too: they are short, and they are what must not
// race.
#include "placement/extents.hpp"

#include "base/log.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

namespace omptier {
namespace {

constexpr std::size_t k_cache_bytes = std::size_t{512} << 20;
constexpr std::size_t k_cache_slack = 4; // a cached extent may be larger than needed by 1/4
constexpr int k_most_gaps = 4096;        // each costs two kernel mappings of the 65,530 usual

std::atomic<int> gaps{0};

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

unsigned bin_of(std::size_t units) {
  return std::min(static_cast<unsigned>(std::bit_width(units)) - 1, 23u);
}

void* pointer(std::uintptr_t at) {
  return reinterpret_cast<void*>(at);
}

} // namespace

ExtentSpace::ExtentSpace(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind,
                         const Binding& binding, std::uint64_t decay, Folder* folder)
    : ranges_(ranges), ledger_(ledger), kind_(kind), binding_(binding), decay_(decay),
      folder_(folder) {}

// Gives pages back to the system; they read as zero then. The second form (Linux 5.18) is for
// programs that lock all their memory (mlockall).
bool ExtentSpace::discard(std::uintptr_t begin, std::size_t bytes) {
  if (folder_ != nullptr) return folder_->discard(begin, bytes);
  if (os().advise(pointer(begin), bytes, MADV_DONTNEED) == 0) return true;
  return errno == EINVAL && os().advise(pointer(begin), bytes, MADV_DONTNEED_LOCKED) == 0;
}

bool ExtentSpace::make_accessible(std::uintptr_t begin, std::size_t bytes) {
  if (folder_ != nullptr && !folder_->allocate(begin, bytes)) return false;
  if (os().protect(pointer(begin), bytes, PROT_READ | PROT_WRITE) == 0) return true;
  if (folder_ != nullptr) folder_->discard(begin, bytes);
  return false;
}

// Policy and size of pages of a fresh slice, or the file behind it; false: it cannot be used.
bool ExtentSpace::back_slice(const Slice& slice) {
  if (folder_ != nullptr) return folder_->map(slice.begin, slice.bytes);
  if (bind_range(slice.begin, slice.bytes, binding_) == BindResult::refused) {
    bound_ = false;
    warn_once(Notice::placement_refused,
              "The kernel refuses memory policies here (mbind; a container or sandbox may forbid "
              "them): memory is not placed.");
  }
  if (huge_page_size() != 0)
    os().advise(pointer(slice.begin), slice.bytes,
                binding_.small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  return true;
}

void ExtentSpace::push(Extent*& head, Extent* extent) {
  extent->previous = nullptr;
  extent->next = head;
  if (head != nullptr) head->previous = extent;
  head = extent;
}

void ExtentSpace::remove(Extent*& head, Extent* extent) {
  if (extent->previous != nullptr)
    extent->previous->next = extent->next;
  else
    head = extent->next;
  if (extent->next != nullptr) extent->next->previous = extent->previous;
  extent->previous = extent->next = nullptr;
}

void ExtentSpace::add_cached(Extent* extent) {
  extent->use = ExtentUse::cached;
  extent->freed_at = monotonic_nanoseconds();
  push(cached_, extent);
  if (oldest_ == nullptr) oldest_ = extent;
  cached_bytes_ = cached_bytes_ + extent->committed;
}

void ExtentSpace::remove_cached(Extent* extent) {
  if (oldest_ == extent) oldest_ = extent->previous;
  remove(cached_, extent);
  cached_bytes_ = cached_bytes_ - extent->committed;
}

void ExtentSpace::add_free(Extent* run) {
  run->use = ExtentUse::free;
  // Only the ends are marked: neighbours look there, nobody looks inside a free run.
  ranges_.set_owner(run->begin, ranges_.unit(), run);
  ranges_.set_owner(run->begin + run->bytes - ranges_.unit(), ranges_.unit(), run);
  push(free_[bin_of(run->bytes / ranges_.unit())], run);
}

void ExtentSpace::remove_free(Extent* run) {
  remove(free_[bin_of(run->bytes / ranges_.unit())], run);
}

bool ExtentSpace::add_slice(std::size_t bytes) {
  Extent* run = pool_.make();
  if (run == nullptr) return false;
  const Slice slice = ranges_.take(bytes, this);
  if (slice.bytes == 0 || !back_slice(slice)) {
    pool_.drop(run);
    return false;
  }
  run->begin = slice.begin;
  run->bytes = slice.bytes;
  run->space = this;
  add_free(run);
  return true;
}

// Cuts [begin, begin + bytes) out of a free run; what is left before and after stays free. Null,
// and the run as it was, when there is no memory for the bookkeeping.
Extent* ExtentSpace::split(Extent* run, std::uintptr_t begin, std::size_t bytes) {
  Extent* before = nullptr;
  Extent* after = nullptr;
  const bool has_before = begin > run->begin, has_after = begin + bytes < run->begin + run->bytes;
  if (has_before) before = pool_.make();
  if (has_before && before == nullptr) return nullptr;
  if (has_after) after = pool_.make();
  if (has_after && after == nullptr) {
    if (before != nullptr) pool_.drop(before);
    return nullptr;
  }
  remove_free(run);
  if (before != nullptr) {
    before->begin = run->begin;
    before->bytes = begin - run->begin;
    before->space = this;
    add_free(before);
  }
  if (after != nullptr) {
    after->begin = begin + bytes;
    after->bytes = run->begin + run->bytes - after->begin;
    after->space = this;
    add_free(after);
  }
  run->begin = begin;
  run->bytes = bytes;
  return run;
}

Extent* ExtentSpace::from_free(std::size_t bytes, std::size_t alignment) {
  const std::size_t step = std::max(alignment, ranges_.unit());
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (unsigned bin = bin_of(bytes / ranges_.unit()); bin < k_bins; ++bin)
      for (Extent* run = free_[bin]; run != nullptr; run = run->next) {
        const std::uintptr_t begin = round_up(run->begin, step);
        if (begin + bytes <= run->begin + run->bytes) return split(run, begin, bytes);
      }
    const std::size_t wanted = bytes + (step > ranges_.unit() ? step : 0);
    if (attempt == 1 || !add_slice(wanted)) break;
  }
  return nullptr;
}

Extent* ExtentSpace::from_cache(std::size_t bytes, std::size_t commit, std::size_t alignment) {
  Extent* best = nullptr;
  for (Extent* extent = cached_; extent != nullptr; extent = extent->next) {
    if (extent->bytes < bytes || extent->begin % alignment != 0) continue;
    if (extent->bytes > bytes + bytes / k_cache_slack) continue;
    if (extent->moved) continue; // elsewhere, and here only because it could not be dropped
    if (best == nullptr || extent->bytes < best->bytes) best = extent;
  }
  if (best == nullptr) return nullptr;
  if (best->committed < commit) {
    // Only the end of the last unit is missing; it is committed like a fresh one.
    const std::size_t wanted = committed_for(commit, best->bytes);
    const std::size_t more = wanted - best->committed;
    if (!ledger_.reserve(kind_, more)) return nullptr;
    if (!make_accessible(best->begin + best->committed, more)) {
      ledger_.give_back(kind_, more);
      return nullptr;
    }
    cached_bytes_ = cached_bytes_ + more;
    best->committed = wanted;
    best->verified = false;
    const bool gap = best->committed % ranges_.unit() != 0;
    if (gap != best->gap) gaps.fetch_add(gap ? 1 : -1, std::memory_order_relaxed);
    best->gap = gap;
  }
  remove_cached(best);
  return best;
}

// Whole pages, or whole units when the gap would be small or gaps are many already.
std::size_t ExtentSpace::committed_for(std::size_t bytes, std::size_t virtual_bytes) const {
  const std::size_t pages = round_up(bytes, page_size());
  const std::size_t whole = round_up(bytes, ranges_.unit());
  const std::size_t gap = whole - pages;
  if (gap < ranges_.unit() / 8 || gaps.load(std::memory_order_relaxed) >= k_most_gaps)
    return std::min(whole, virtual_bytes);
  return std::min(pages, virtual_bytes);
}

Extent* ExtentSpace::take(std::size_t bytes, std::size_t commit, std::size_t alignment,
                          ExtentUse use, bool& fresh) {
  if (bytes > (std::size_t{1} << 46) || alignment > (std::size_t{1} << 40)) return nullptr;
  const std::size_t virtual_bytes = round_up(bytes, ranges_.unit());
  const std::lock_guard guard(lock_);
  fresh = false;
  Extent* extent = use == ExtentUse::block ? from_cache(virtual_bytes, commit, alignment) : nullptr;
  if (extent == nullptr) {
    fresh = true;
    // Pages or whole units: when the ledger refuses the rounding, exact pages are tried.
    std::size_t committed = committed_for(commit, virtual_bytes);
    if (!ledger_.reserve(kind_, committed)) {
      const std::size_t exact = round_up(commit, page_size());
      if (exact == committed || !ledger_.reserve(kind_, exact)) return nullptr;
      committed = exact;
    }
    extent = from_free(virtual_bytes, alignment);
    if (extent == nullptr) {
      ledger_.give_back(kind_, committed);
      return nullptr;
    }
    if (committed != 0 && !make_accessible(extent->begin, committed)) {
      ledger_.give_back(kind_, committed);
      extent->committed = 0;
      add_free(extent);
      return nullptr;
    }
    extent->committed = committed;
    extent->verified = false;
    extent->gap = committed % ranges_.unit() != 0;
    if (extent->gap) gaps.fetch_add(1, std::memory_order_relaxed);
  }
  extent->use = use;
  extent->charged = kind_;
  extent->chunk = nullptr;
  extent->moved = extent->required = false;
  extent->locked = extent->leaving = false;
  extent->plan_entry = extent->plan_instance = 0;
  extent->allocator = 0;
  extent->block_bytes = 0;
  ranges_.set_owner(extent->begin, extent->bytes, extent);
  extent->ready = false;
  push(used_, extent);
  return extent;
}

bool ExtentSpace::grow(Extent& extent, std::size_t committed) {
  const std::lock_guard guard(lock_);
  const std::size_t wanted = std::min(round_up(committed, page_size()), extent.bytes);
  if (wanted <= extent.committed) return true;
  const std::size_t more = wanted - extent.committed;
  if (!ledger_.reserve(kind_, more)) return false;
  if (!make_accessible(extent.begin + extent.committed, more)) {
    ledger_.give_back(kind_, more);
    return false;
  }
  extent.committed = wanted;
  extent.verified = false;
  const bool gap = wanted % ranges_.unit() != 0;
  if (gap != extent.gap) gaps.fetch_add(gap ? 1 : -1, std::memory_order_relaxed);
  extent.gap = gap;
  return true;
}

bool ExtentSpace::add_part(Extent& extent, std::size_t begin, std::size_t end, MemoryKind kind) {
  const std::lock_guard guard(lock_);
  ExtentPart* part = part_pool_.make();
  if (part == nullptr) return false;
  *part = {begin, end, kind, extent.parts};
  extent.parts = part;
  extent.apart += end - begin;
  extent.besides[static_cast<std::size_t>(kind)] -= end - begin;
  extent.moved = true;
  ledger_.give_back(extent.charged, end - begin);
  return true;
}

void ExtentSpace::uncharge_end(Extent& extent, std::size_t bytes) {
  const std::size_t kept = extent.committed - bytes;
  for (ExtentPart** at = &extent.parts; *at != nullptr;) {
    ExtentPart& part = **at;
    const std::size_t cut = part.end - std::min(part.end, std::max(part.begin, kept));
    ledger_.give_back(part.kind, cut);
    bytes -= cut;
    extent.apart -= cut;
    part.end -= cut;
    if (part.begin < part.end) {
      at = &part.next;
    } else {
      *at = part.next;
      part_pool_.drop(&part);
    }
  }
  ledger_.give_back(extent.charged, bytes);
  for (const MemoryKind kind : k_all_memory_kinds) {
    std::uint64_t& besides = extent.besides[static_cast<std::size_t>(kind)];
    if (besides <= kept) continue;
    ledger_.give_back(kind, besides - kept);
    besides = kept;
  }
}

void ExtentSpace::shrink(Extent& extent, std::size_t committed) {
  const std::lock_guard guard(lock_);
  const std::size_t kept = round_up(committed, page_size());
  if (kept >= extent.committed) return;
  const std::size_t less = extent.committed - kept;
  // A refusal leaves the extent as large as it was, and counted so.
  if (!discard(extent.begin + kept, less)) return;
  os().protect(pointer(extent.begin + kept), less, PROT_NONE);
  uncharge_end(extent, less);
  extent.committed = kept;
  const bool gap = kept % ranges_.unit() != 0;
  if (gap != extent.gap) gaps.fetch_add(gap ? 1 : -1, std::memory_order_relaxed);
  extent.gap = gap;
}

// Returns the pages to the system and the run to the free ones, joined with its neighbours. When
// the kernel refuses, the extent stays in the cache: a free run must read as zero.
bool ExtentSpace::drop(Extent* extent) {
  if (!discard(extent->begin, extent->committed)) {
    add_cached(extent);
    return false;
  }
  os().protect(pointer(extent->begin), extent->committed, PROT_NONE);
  // Borders were kept in small pages.
  if (extent->parts != nullptr && huge_page_size() != 0 && !binding_.small_pages)
    os().advise(pointer(extent->begin), extent->bytes, MADV_HUGEPAGE);
  uncharge_end(*extent, extent->committed);
  if (extent->gap) gaps.fetch_sub(1, std::memory_order_relaxed);
  extent->committed = 0;
  extent->gap = extent->verified = false;
  ranges_.set_owner(extent->begin, extent->bytes, nullptr);

  // The next slice's extents are another lock's.
  const auto mine = [this](std::uintptr_t at) {
    return ranges_.space_of(pointer(at)) == this ? ranges_.owner(pointer(at)) : nullptr;
  };
  Extent* before = mine(extent->begin - 1);
  if (before != nullptr && before->use == ExtentUse::free) {
    remove_free(before);
    ranges_.set_owner(before->begin + before->bytes - ranges_.unit(), ranges_.unit(), nullptr);
    extent->bytes += extent->begin - before->begin;
    extent->begin = before->begin;
    pool_.drop(before);
  }
  Extent* after = mine(extent->begin + extent->bytes);
  if (after != nullptr && after->use == ExtentUse::free) {
    remove_free(after);
    ranges_.set_owner(after->begin, ranges_.unit(), nullptr);
    extent->bytes += after->bytes;
    pool_.drop(after);
  }
  add_free(extent);
  return true;
}

// Owners of units change under the lock only.
Extent* ExtentSpace::used_at(const void* address) {
  Extent* extent = ranges_.owner(address);
  if (extent == nullptr) return nullptr;
  const bool used =
      extent->use == ExtentUse::heap || (extent->use == ExtentUse::block && extent->ready);
  return used ? extent : nullptr;
}

bool ExtentSpace::release(const void* block, bool keep, std::size_t& promised) {
  const std::lock_guard guard(lock_);
  Extent* extent = used_at(block);
  if (extent == nullptr || extent->use != ExtentUse::block ||
      extent->begin != reinterpret_cast<std::uintptr_t>(block))
    return false;
  promised = extent->verified ? 0 : extent->committed;
  if (extent->locked) os().unlock(pointer(extent->begin), extent->committed);
  extent->ready = extent->locked = false;
  extent->leaving = true;
  extent->keep = keep;
  if (!extent->moving) put_back(*extent, keep);
  return true;
}

void ExtentSpace::give_back(Extent& extent, bool keep) {
  const std::lock_guard guard(lock_);
  put_back(extent, keep);
}

void ExtentSpace::put_back(Extent& extent, bool keep) {
  remove(used_, &extent);
  if (!keep || decay_ == 0 || extent.use != ExtentUse::block || extent.moved ||
      extent.committed > k_cache_bytes / 2) {
    drop(&extent);
    return;
  }
  add_cached(&extent);
  while (cached_bytes_ > k_cache_bytes) {
    Extent* oldest = oldest_;
    remove_cached(oldest);
    if (!drop(oldest)) return;
  }
}

std::size_t ExtentSpace::drop_older(std::uint64_t since) {
  constexpr unsigned k_most_at_once = 16; // the lock is held
  const std::lock_guard guard(lock_);
  std::size_t dropped = 0;
  for (unsigned i = 0; i < k_most_at_once && oldest_ != nullptr && oldest_->freed_at <= since;
       ++i) {
    Extent* oldest = oldest_;
    remove_cached(oldest);
    const std::size_t committed = oldest->committed;
    if (!drop(oldest)) break;
    dropped += committed;
  }
  return dropped;
}

std::size_t ExtentSpace::drop_cache(std::size_t bytes) {
  const std::lock_guard guard(lock_);
  std::size_t dropped = 0;
  while (cached_ != nullptr && dropped < bytes) {
    Extent* extent = cached_;
    const std::size_t committed = extent->committed;
    remove_cached(extent);
    if (!drop(extent)) return dropped;
    dropped += committed;
  }
  return dropped;
}

bool ExtentSpace::is_sound(std::string& why_not) {
  const std::lock_guard guard(lock_);
  std::size_t cached = 0;
  for (const Extent* extent = cached_; extent != nullptr; extent = extent->next) {
    cached += extent->committed;
    if (extent->use != ExtentUse::cached) return why_not = "a cached extent is in use", false;
  }
  const Extent* last = cached_;
  while (last != nullptr && last->next != nullptr)
    last = last->next;
  if (last != oldest_) return why_not = "the oldest cached extent is not the last", false;
  if (cached != cached_bytes_) return why_not = "cached bytes do not add up", false;
  for (const Extent* extent = used_; extent != nullptr; extent = extent->next) {
    if (extent->use != ExtentUse::block && extent->use != ExtentUse::heap)
      return why_not = "a free extent is among the used", false;
    if (extent->committed > extent->bytes) return why_not = "committed beyond the extent", false;
    std::size_t apart = 0;
    for (const ExtentPart* part = extent->parts; part != nullptr; part = part->next) {
      if (part->begin >= part->end || part->end > extent->committed)
        return why_not = "a part beyond its extent", false;
      apart += part->end - part->begin;
    }
    if (apart != extent->apart) return why_not = "an extent's parts do not add up", false;
    for (std::size_t at = 0; at < extent->bytes; at += ranges_.unit())
      if (ranges_.owner(pointer(extent->begin + at)) != extent)
        return why_not = "a unit does not name its extent", false;
  }
  for (unsigned bin = 0; bin < k_bins; ++bin)
    for (const Extent* run = free_[bin]; run != nullptr; run = run->next) {
      if (run->use != ExtentUse::free || run->committed != 0)
        return why_not = "a free run has pages", false;
      if (bin_of(run->bytes / ranges_.unit()) != bin)
        return why_not = "a run in the wrong bin", false;
    }
  return true;
}

} // namespace omptier
