// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes extents and gives them back, and caches freed ones. (regions.cpp has the rest.) One lock
// guards all lists, and the kernel calls that commit and drop, which are short and must not race.
#include "placement/extents.hpp"

#include "base/linked_list.hpp"
#include "base/notices.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>

namespace omptier {
namespace {

constexpr std::size_t k_cache_slack = 4; // a cached extent may be larger than needed by 1/4
constexpr std::size_t k_largest_in_region = std::size_t{32} << 20;

} // namespace

ExtentSpace::ExtentSpace(ReservedRanges& ranges, Ledger& ledger, MemoryKind kind,
                         const Binding& binding, std::uint64_t decay, Backing& backing,
                         Promised* promised)
    : ranges_(ranges), ledger_(ledger), kind_(kind), binding_(binding), decay_(decay),
      reuses_pages_(binding.nodes.count() <= 1 || binding.spreading == Spreading::home ||
                    binding.spreading == Spreading::interleaved),
      backing_(backing),
      huge_pages_(backing.comes_at_touch && huge_page_size() != 0 && !binding.small_pages),
      promised_(promised),
      runs_{FreeRuns(ranges, pool_, *this, Company::none),
            FreeRuns(ranges, pool_, *this, Company::units),
            FreeRuns(ranges, pool_, *this, Company::required),
            FreeRuns(ranges, pool_, *this, Company::preferred)} {}

void ExtentSpace::add_cached(Extent* extent, std::uint64_t now) {
  extent->use = ExtentUse::cached;
  extent->freed_at = now;
  push(cached_, extent);
  if (oldest_ == nullptr) oldest_ = extent;
  cached_bytes_ = cached_bytes_ + extent->committed;
}

void ExtentSpace::remove_cached(Extent* extent) {
  if (oldest_ == extent) oldest_ = extent->previous;
  remove(cached_, extent);
  cached_bytes_ = cached_bytes_ - extent->committed;
}

void ExtentSpace::replace_cached(Extent& extent, Extent& other) {
  other.use = ExtentUse::cached;
  other.freed_at = extent.freed_at;
  other.previous = extent.previous;
  other.next = extent.next;
  (other.previous != nullptr ? other.previous->next : cached_) = &other;
  if (other.next != nullptr) other.next->previous = &other;
  if (oldest_ == &extent) oldest_ = &other;
  cached_bytes_ = cached_bytes_ - extent.committed + other.committed;
}

// Two blocks freed side by side may fit one larger block. The joined extent has the older one's
// age, or reused memory would keep its idle neighbours alive. From half of the decay on they stay
// apart, so that the younger one is kept for at least that long.
void ExtentSpace::add_joined(Extent* extent, std::uint64_t now) {
  FreeRuns& runs = runs_of(*extent);
  const auto is_like = [&](const Extent* other) {
    return other != nullptr && other->use == ExtentUse::cached && !other->moved &&
           !other->small_ends && now - other->freed_at <= decay_ / 2 &&
           extent->bytes + other->bytes <= k_largest_in_region;
  };
  // second, which is not in the cache, becomes part of first.
  const auto join = [&](Extent* first, Extent* second) {
    first->verified = first->verified && second->verified;
    cached_bytes_ = cached_bytes_ + second->committed;
    runs.join(*first, *second);
  };
  if (Extent* before = runs.before(*extent);
      is_like(before) && before->committed == before->bytes) {
    join(before, extent);
    extent = before;
  }
  Extent* after = runs.after(*extent);
  if (is_like(after) && extent->committed == extent->bytes) {
    const bool older = extent->use == ExtentUse::cached && extent->freed_at <= after->freed_at;
    if (older) {
      remove_cached(after);
    } else {
      if (extent->use == ExtentUse::cached) remove_cached(extent);
      replace_cached(*after, *extent);
    }
    join(extent, after);
  } else if (extent->use != ExtentUse::cached) {
    add_cached(extent, now);
  }
}

// The unneeded part of a cached extent stays cached, with its age.
void ExtentSpace::divide_cached(Extent& extent, std::size_t bytes) {
  if (extent.committed < bytes + std::max(k_granule, bytes / 16)) return;
  Extent* rest = runs_of(extent).cut(extent, bytes);
  if (rest == nullptr) return;
  rest->verified = extent.verified;
  rest->charged = kind_;
  rest->freed_at = extent.freed_at;
  rest->previous = &extent;
  rest->next = extent.next;
  if (rest->next != nullptr) rest->next->previous = rest;
  extent.next = rest;
  if (oldest_ == &extent) oldest_ = rest;
}

bool ExtentSpace::add_slice(std::size_t bytes) {
  Extent* run = pool_.make();
  if (run == nullptr) return false;
  const Slice slice = ranges_.take(bytes, this);
  const auto bound = slice.bytes != 0 ? backing_.bind(slice.begin, slice.bytes, binding_)
                                      : Backing::Bound::no;
  if (bound == Backing::Bound::no) {
    pool_.drop(run);
    return false;
  }
  if (bound == Backing::Bound::without_policy) bound_ = false;
  run->begin = slice.begin;
  run->bytes = slice.bytes;
  run->space = this;
  runs_of(Company::none).put(run);
  return true;
}

Extent* ExtentSpace::from_free(const Shape& shape) {
  FreeRuns& runs = runs_of(shape.company);
  if (Extent* extent = runs.take(shape.bytes, shape.alignment)) return extent;
  const std::size_t unit = ranges_.unit();
  const bool more =
      shape.company == Company::none
          ? add_slice(shape.bytes + (shape.alignment > unit ? shape.alignment : 0))
          : add_region(shape.company);
  return more ? runs.take(shape.bytes, shape.alignment) : nullptr;
}

// Rounds up to whole units (faster to touch) if that adds little; else exact pages.
ExtentSpace::Shape ExtentSpace::shape_of(std::size_t bytes, std::size_t alignment, ExtentUse use,
                                         bool checked) const {
  const std::size_t unit = ranges_.unit();
  const std::size_t pages = round_up(bytes, page_size()), whole = round_up(bytes, unit);
  const bool fills_units = whole - pages <= std::min(unit / 8, pages / 16);
  Shape shape;
  shape.committed = fills_units ? whole : pages;
  if (pages > k_largest_in_region || alignment > unit) {
    shape.bytes = round_up(shape.committed + page_size(), unit);
    shape.alignment = std::max(alignment, unit);
    return shape;
  }
  const bool in_huge_pages = binding_.spreading == Spreading::blocked ||
                             binding_.spreading == Spreading::interleaved;
  if (use == ExtentUse::heap || fills_units || (in_huge_pages && !binding_.small_pages)) {
    shape.company = Company::units;
    shape.bytes = whole;
    shape.alignment = unit;
    return shape;
  }
  shape.company = checked ? Company::required : Company::preferred;
  shape.bytes = std::max(pages, k_granule);
  shape.alignment = std::max(alignment, page_size());
  return shape;
}

Extent* ExtentSpace::from_cache(const Shape& shape, std::size_t commit, Ledger::Coming* coming) {
  const bool divides = shape.company == Company::required || shape.company == Company::preferred;
  Extent* best = nullptr;
  for (Extent* extent = cached_; extent != nullptr; extent = extent->next) {
    if (extent->company != shape.company || extent->bytes < shape.bytes) continue;
    if (extent->begin % shape.alignment != 0) continue;
    if (!divides && extent->bytes > shape.bytes + shape.bytes / k_cache_slack) continue;
    if (extent->moved || extent->small_ends) continue; // here because it could not be dropped
    if (best == nullptr || extent->bytes < best->bytes) best = extent;
    if (best->bytes == shape.bytes) break;
  }
  if (best == nullptr) return nullptr;
  if (best->committed < commit) {
    // Only the end is missing; it is committed as in a fresh extent.
    const std::size_t more = commit - best->committed;
    if (!ledger_.reserve(kind_, more, coming)) return nullptr;
    if (!backing_.commit(best->begin + best->committed, more)) {
      ledger_.give_back(kind_, more);
      return nullptr;
    }
    cached_bytes_ = cached_bytes_ + more;
    best->committed = commit;
    best->verified = false;
  }
  if (divides) divide_cached(*best, shape.bytes);
  remove_cached(best);
  return best;
}

// Charges and commits the extent, with exactly the requested bytes or rounded up; an already open
// part may make that a little more, or cover some of it.
Extent* ExtentSpace::make_fresh(const Shape& shape, std::size_t committed, std::size_t asked,
                                Ledger::Coming* coming) {
  const bool granted = committed > asked ? ledger_.reserve_spare(kind_, committed, coming)
                                         : ledger_.reserve(kind_, committed, coming);
  if (!granted) return nullptr;
  Extent* extent = from_free(shape);
  if (extent == nullptr) {
    ledger_.give_back(kind_, committed);
    return nullptr;
  }
  if (extent->shares()) return commit_in_company(join_open_before(extent, shape), committed);
  const std::size_t behind = shape.company == Company::none ? extent->bytes - committed : 0;
  const bool readable =
      behind == 0 || os().protect(pointer(extent->begin + committed), behind, PROT_READ) == 0;
  if (readable && (committed == 0 || backing_.commit(extent->begin, committed))) {
    extent->committed = committed;
    return extent;
  }
  if (behind != 0) os().protect(pointer(extent->begin), extent->bytes, PROT_NONE);
  ledger_.give_back(kind_, committed);
  runs_of(shape.company).put(extent);
  return nullptr;
}

// Its open part was charged when it was freed.
Extent* ExtentSpace::commit_in_company(Extent* extent, std::size_t committed) {
  const std::size_t open = extent->committed;
  open_bytes_ = open_bytes_ - open;
  ledger_.give_back(kind_, std::min(open, committed));
  if (open >= committed) return extent;
  FreeRuns& runs = runs_of(*extent);
  Extent* ahead = committed == extent->bytes ? open_ahead(*extent) : nullptr;
  const std::size_t more = committed - open + (ahead != nullptr ? ahead->bytes : 0);
  const bool done = backing_.commit(extent->begin + open, more);
  if (ahead != nullptr) {
    ahead->committed = done ? ahead->bytes : 0;
    open_bytes_ = open_bytes_ + ahead->committed;
    if (!done) ledger_.give_back(kind_, ahead->bytes);
    runs.put(ahead);
  }
  if (done) {
    extent->committed = committed;
    return extent;
  }
  ledger_.give_back(kind_, committed);
  if (open != 0) give_up_pages(*extent);
  free_in_region(*extent);
  return nullptr;
}

Extent* ExtentSpace::take(std::size_t bytes, std::size_t commit, std::size_t alignment,
                          ExtentUse use, bool& fresh, bool checked, Ledger::Coming* coming) {
  if (bytes > (std::size_t{1} << 46) || alignment > (std::size_t{1} << 40)) return nullptr;
  const Shape shape = shape_of(bytes, alignment, use, checked);
  const std::size_t pages = round_up(commit, page_size());
  const std::lock_guard guard(lock_);
  fresh = false;
  Extent* extent = use == ExtentUse::block ? from_cache(shape, pages, coming) : nullptr;
  if (extent == nullptr) {
    fresh = true;
    // If the ledger refuses the rounded size, exact pages are tried.
    const std::size_t wanted = commit != 0 ? shape.committed : 0;
    extent = make_fresh(shape, wanted, pages, coming);
    if (extent == nullptr && pages < wanted) extent = make_fresh(shape, pages, pages, coming);
    if (extent == nullptr) return nullptr;
    extent->verified = false;
  }
  extent->use = use;
  extent->charged = kind_;
  extent->chunk = nullptr;
  extent->moved = extent->required = extent->small_ends = false;
  extent->locked = extent->leaving = false;
  extent->plan_entry = extent->plan_instance = 0;
  extent->allocator = 0;
  extent->block_bytes = 0;
  extent->ready.store(false, std::memory_order_relaxed);
  if (use == ExtentUse::block) in_hands_.fetch_add(1, std::memory_order_relaxed);
  push(used_, extent);
  return extent;
}

bool ExtentSpace::grow(Extent& extent, std::size_t committed) {
  const std::lock_guard guard(lock_);
  const std::size_t wanted = std::min(round_up(committed, page_size()), extent.bytes);
  if (wanted <= extent.committed) return true;
  const std::size_t more = wanted - extent.committed;
  if (!ledger_.reserve(kind_, more)) return false;
  if (!backing_.commit(extent.begin + extent.committed, more)) {
    ledger_.give_back(kind_, more);
    return false;
  }
  extent.committed = wanted;
  extent.verified = false;
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
  // If the kernel refuses, the extent keeps its size and its charge.
  if (!backing_.drop(extent.begin + kept, less)) return;
  os().protect(pointer(extent.begin + kept), less, PROT_READ);
  uncharge_end(extent, less);
  extent.committed = kept;
}

// If the kernel refuses, the extent stays in the cache, because a free run must read as zero.
bool ExtentSpace::drop(Extent* extent) {
  if (!give_up_pages(*extent)) {
    add_cached(extent, monotonic_nanoseconds());
    return false;
  }
  allow_huge_pages(*extent); // borders were kept in small pages
  uncharge_end(*extent, extent->committed);
  extent->verified = false;
  if (extent->company == Company::none) {
    os().protect(pointer(extent->begin), extent->bytes, PROT_NONE);
    extent->committed = 0;
    runs_of(*extent).put(extent);
  } else {
    free_in_region(*extent);
  }
  return true;
}

// The owner of a unit changes only under the lock.
Extent* ExtentSpace::used_at(const void* address) {
  Extent* extent = ranges_.owner(address);
  if (extent == nullptr) return nullptr;
  const bool used =
      extent->use == ExtentUse::heap || (extent->use == ExtentUse::block && extent->ready);
  return used ? extent : nullptr;
}

void ExtentSpace::promise(Extent& extent, std::uint64_t bytes) {
  if (promised_ == nullptr || bytes == extent.promised) return;
  promised_->add(bytes - extent.promised); // modulo 2^64: never too small in between
  extent.promised = bytes;
}

void ExtentSpace::hand_out(Extent& extent) {
  if (!extent.verified) promise(extent, extent.committed);
  extent.ready.store(true, std::memory_order_release);
  in_hands_.fetch_sub(1, std::memory_order_release);
}

bool ExtentSpace::release(Extent& extent, const void* block, bool keep) {
  const std::lock_guard guard(lock_);
  if (extent.begin != reinterpret_cast<std::uintptr_t>(block) ||
      extent.use != ExtentUse::block || !extent.ready)
    return false;
  promise(extent, 0);
  if (extent.locked) os().unlock(pointer(extent.begin), extent.committed);
  extent.locked = false;
  extent.ready.store(false, std::memory_order_relaxed);
  extent.leaving = true;
  extent.keep = keep && reuses_pages_;
  if (!extent.moving) put_back(extent, extent.keep);
  return true;
}

void ExtentSpace::give_back(Extent& extent, bool keep) {
  const std::lock_guard guard(lock_);
  put_back(extent, keep);
}

void ExtentSpace::put_back(Extent& extent, bool keep) {
  promise(extent, 0); // of a thread that a fork left behind before hand_out
  if (extent.use == ExtentUse::block && !extent.ready && !extent.leaving)
    in_hands_.fetch_sub(1, std::memory_order_relaxed);
  remove(used_, &extent);
  if (!keep || decay_ == 0 || extent.use != ExtentUse::block || extent.moved || extent.small_ends ||
      extent.committed > k_largest_kept) {
    drop(&extent);
    return;
  }
  const std::uint64_t now = monotonic_nanoseconds();
  if (extent.shares())
    add_joined(&extent, now);
  else
    add_cached(&extent, now);
  while (cached_bytes_ > k_kept_bytes) {
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
  for (FreeRuns& runs : runs_)
    while (dropped < bytes) {
      Extent* run = runs.open_run();
      const std::size_t committed = run != nullptr ? run->committed : 0;
      if (run == nullptr || !close(*run)) break;
      dropped += committed;
    }
  return dropped;
}

} // namespace omptier
