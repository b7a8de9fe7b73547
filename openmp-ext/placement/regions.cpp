// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions, the runs in them, and huge pages that blocks share.
#include "base/linked_list.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"
#include "placement/extents.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace omptier {
namespace {

constexpr std::size_t k_least_region = std::size_t{128} << 20; // k_least_range's slice
constexpr std::size_t k_usual_region = std::size_t{512} << 20;
constexpr int k_most_closed = 4096; // each costs two of usually 65,530 kernel mappings
constexpr int k_most_closed_when_short = 4 * k_most_closed;

bool is_free(const Extent* extent, bool open) {
  return extent != nullptr && extent->use == ExtentUse::free && (extent->committed != 0) == open;
}

} // namespace

// A free run without the last unit, which stays readable behind the last extent.
bool ExtentSpace::add_region(Company company) {
  Extent* run = pool_.make();
  if (run == nullptr) return false;
  const std::size_t bytes = std::clamp(ranges_.slice_bytes(), k_least_region, k_usual_region);
  Extent* region = from_free({.bytes = bytes, .alignment = ranges_.unit()});
  if (region == nullptr) {
    pool_.drop(run);
    return false;
  }
  if (os().protect(pointer(region->begin), region->bytes, PROT_READ) != 0) {
    runs_of(Company::none).put(region);
    pool_.drop(run);
    return false;
  }
  region->use = ExtentUse::region;
  region->company = company;
  push(regions_, region);
  ++region_count_[static_cast<std::size_t>(company)];
  run->begin = region->begin;
  run->bytes = region->bytes - ranges_.unit();
  run->space = this;
  runs_of(company).add(run);
  return true;
}

void ExtentSpace::give_back_region(Extent& region, Extent& run) {
  FreeRuns& runs = runs_of(region.company);
  if (os().protect(pointer(region.begin), region.bytes, PROT_NONE) != 0) return; // stays
  runs.remove(&run);
  runs.drop(run);
  --region_count_[static_cast<std::size_t>(region.company)];
  remove(regions_, &region);
  runs_of(Company::none).put(&region);
}

// Gives the committed pages of an extent or a run back to the system; false: the kernel keeps them.
// A huge page that is freed in part would stay whole until memory is short, so it is split first.
bool ExtentSpace::give_up_pages(const Extent& extent) {
  if (may_share_huge_pages(extent)) {
    const auto has_pages = [](const Extent* other) {
      return other != nullptr && other->committed != 0;
    };
    const FreeRuns& runs = runs_of(extent);
    if (has_pages(runs.before(extent)) || has_pages(runs.after(extent)))
      split_at_ends(extent.begin, extent.committed);
  }
  return backing_.drop(extent.begin, extent.committed);
}

// Makes a free run read-only and uncharges it. It may have pages: until it is protected, a huge
// page that a neighbour touches reaches into it.
bool ExtentSpace::close(Extent& run) {
  void* const begin = pointer(run.begin);
  if (FreeRuns::closed_in_regions() >= k_most_closed_when_short ||
      os().protect(begin, run.committed, PROT_READ) != 0)
    return false;
  if (!give_up_pages(run) && os().protect(begin, run.committed, PROT_READ | PROT_WRITE) == 0)
    return false; // locked, before Linux 5.18: it stays open, and charged
  FreeRuns& runs = runs_of(run);
  runs.remove(&run);
  ledger_.give_back(kind_, run.committed);
  open_bytes_ = open_bytes_ - run.committed;
  run.committed = 0;
  runs.put(&run);
  return true;
}

// Frees an extent without pages that is no longer charged. If another hole would exceed the limit,
// its committed bytes stay writable: it becomes open, and charged again.
void ExtentSpace::free_in_region(Extent& extent) {
  FreeRuns& runs = runs_of(extent);
  Extent* neighbours[] = {runs.before(extent), runs.after(extent)};
  const bool joins = is_free(neighbours[0], false) || is_free(neighbours[1], false);
  const auto forbid = [&] {
    if (extent.committed == 0) return true;
    if (os().protect(pointer(extent.begin), extent.committed, PROT_READ) != 0) return false;
    // A neighbour touched since the pages were dropped may have brought new ones.
    if (may_share_huge_pages(extent)) backing_.drop(extent.begin, extent.committed);
    return true;
  };
  const auto keep_open = [&] {
    if (!extent.shares() || !backing_.comes_at_touch) return false;
    if (!ledger_.reserve_spare(kind_, extent.bytes)) return false;
    const std::size_t more = extent.bytes - extent.committed;
    if (more == 0 || backing_.commit(extent.begin + extent.committed, more)) return true;
    ledger_.give_back(kind_, extent.bytes);
    return false;
  };
  const bool may_close =
      joins || !extent.shares() || FreeRuns::closed_in_regions() < k_most_closed;
  const bool closed = may_close && forbid();
  if (!closed && keep_open()) {
    extent.committed = extent.bytes;
    open_bytes_ = open_bytes_ + extent.bytes;
  } else {
    if (!closed) forbid();
    extent.committed = 0;
    for (Extent* neighbour : neighbours)
      if (is_free(neighbour, true)) close(*neighbour);
  }
  Extent* run = runs.put(&extent);
  Extent* region = ranges_.owner_of_unit(run->begin);
  if (run->committed == 0 && run->bytes == region->bytes - ranges_.unit() &&
      region_count_[static_cast<std::size_t>(region->company)] > 1)
    give_back_region(*region, *run);
}

// Extends an extent that was just taken over the open run before it, which alone was too small.
Extent* ExtentSpace::join_open_before(Extent* extent, const Shape& shape) {
  if (extent->committed != 0 || shape.alignment > page_size()) return extent;
  FreeRuns& runs = runs_of(*extent);
  Extent* before = runs.before(*extent);
  if (!is_free(before, true) || before->bytes >= shape.bytes) return extent;
  runs.remove(before);
  before->use = ExtentUse::block;
  runs.join(*before, *extent);
  if (Extent* rest = runs.cut(*before, shape.bytes)) runs.put(rest);
  return before;
}

// Where many blocks lie side by side, also opens the rest of the last one's huge page, so that a
// block touched before the next is taken gets it. Returns that rest, charged and unwritten, or
// null.
Extent* ExtentSpace::open_ahead(const Extent& extent) {
  constexpr unsigned k_least_units = 16; // before it, so that the rest is little
  if (!may_share_huge_pages(extent)) return nullptr;
  const std::size_t unit = ranges_.unit();
  const Extent* region = ranges_.owner_of_unit(extent.begin);
  if (region_count_[static_cast<std::size_t>(extent.company)] == 1 &&
      extent.end() - region->begin < k_least_units * unit)
    return nullptr;
  const std::size_t rest = (unit - extent.end() % unit) % unit;
  FreeRuns& runs = runs_of(extent);
  Extent* after = runs.after(extent);
  if (rest < k_granule || !is_free(after, false) || after->bytes < rest + k_granule) return nullptr;
  if (!ledger_.reserve_spare(kind_, rest)) return nullptr;
  Extent* ahead = runs.cut_begin(*after, rest);
  if (ahead == nullptr) ledger_.give_back(kind_, rest);
  return ahead;
}

// Whether another extent's pages in the unit must stay small.
bool ExtentSpace::others_apart(const Extent& extent, std::uintptr_t unit) {
  const FreeRuns& runs = runs_of(extent);
  for (const Extent* other = runs.before(extent); other != nullptr && other->end() > unit;
       other = runs.before(*other))
    if (other->small_ends) return true;
  for (const Extent* other = runs.after(extent);
       other != nullptr && other->begin < unit + ranges_.unit(); other = runs.after(*other))
    if (other->small_ends) return true;
  return false;
}

void ExtentSpace::keep_apart(Extent& extent) {
  if (!may_share_huge_pages(extent)) return;
  {
    const std::lock_guard guard(lock_);
    extent.small_ends = true;
    for (const std::uintptr_t end : {extent.begin, extent.begin + extent.committed})
      if (end % ranges_.unit() != 0)
        os().advise(pointer(round_down(end, ranges_.unit())), ranges_.unit(), MADV_NOHUGEPAGE);
  }
  split_at_ends(extent.begin, extent.committed);
}

void ExtentSpace::allow_huge_pages(Extent& extent) {
  if (!huge_pages_) return;
  if (!extent.small_ends && extent.parts == nullptr) return;
  extent.small_ends = false;
  const std::size_t unit = ranges_.unit();
  std::uintptr_t begin = round_down(extent.begin, unit);
  std::uintptr_t end = round_up(extent.end(), unit);
  if (extent.shares()) {
    const bool others_at_end = others_apart(extent, end - unit);
    if (others_apart(extent, begin)) begin += unit;
    if (others_at_end) end -= unit;
  }
  if (begin < end) os().advise(pointer(begin), end - begin, MADV_HUGEPAGE);
}

// Whether the run has no pages, ignoring units shared with its neighbours.
bool ExtentSpace::has_no_pages(const Extent& run) const {
  const std::size_t unit = ranges_.unit();
  PageCensus census;
  backing_.census(run.begin, std::min((unit - run.begin % unit) % unit, run.bytes), census);
  const std::size_t last = std::min(run.end() % unit, run.bytes);
  backing_.census(run.end() - last, last, census);
  return census.present() == 0;
}

bool ExtentSpace::regions_are_sound(std::string& why_not, bool with_pages) {
  std::size_t open = 0;
  std::array<unsigned, k_companies> count{};
  for (const Extent* region = regions_; region != nullptr; region = region->next) {
    ++count[static_cast<std::size_t>(region->company)];
    if (region->use != ExtentUse::region || region->company == Company::none)
      return why_not = "a region is in use as something else", false;
    const std::uintptr_t end = region->end() - ranges_.unit();
    for (std::uintptr_t at = region->begin; at < end;) {
      const Extent* extent = ranges_.owner(pointer(at));
      if (extent == nullptr || extent == region || extent->begin != at || extent->end() > end)
        return why_not = "a region is not covered by extents", false;
      if (extent->company != region->company || extent->space != this)
        return why_not = "an extent lies in another company's region", false;
      if (extent->bytes < k_granule || extent->bytes % page_size() != 0)
        return why_not = "an extent in a region is too small", false;
      if (extent->use == ExtentUse::free) open += extent->committed;
      if (with_pages && is_free(extent, false) && !has_no_pages(*extent))
        return why_not = "a closed run has pages that are not counted", false;
      if (extent->use != ExtentUse::free)
        for (std::uintptr_t inside = at; inside < extent->end(); inside += page_size())
          if (ranges_.owner(pointer(inside)) != extent)
            return why_not = "a page in a region does not name its extent", false;
      at = extent->end();
    }
    if (ranges_.owner(pointer(end)) != region)
      return why_not = "the last unit of a region is an extent's", false;
  }
  if (open != open_bytes_) return why_not = "open bytes do not add up", false;
  if (count != region_count_) return why_not = "regions do not add up", false;
  return true;
}

bool ExtentSpace::is_sound(std::string& why_not, bool with_pages) {
  const std::lock_guard guard(lock_);
  std::size_t cached = 0;
  const Extent* last = nullptr;
  for (const Extent* extent = cached_; extent != nullptr; last = extent, extent = extent->next) {
    cached += extent->committed;
    if (extent->use != ExtentUse::cached) return why_not = "a cached extent is in use", false;
    if (last != nullptr && last->freed_at < extent->freed_at)
      return why_not = "the cached extents are not in the order of their age", false;
  }
  if (last != oldest_) return why_not = "the oldest cached extent is not the last", false;
  if (cached != cached_bytes_) return why_not = "cached bytes do not add up", false;
  std::uint32_t in_hands = 0;
  for (const Extent* extent = used_; extent != nullptr; extent = extent->next) {
    if (extent->moving) ++in_hands;
    if (extent->use == ExtentUse::block && !extent->ready && !extent->leaving) ++in_hands;
    if (extent->use != ExtentUse::block && extent->use != ExtentUse::heap)
      return why_not = "a free extent is among the used", false;
    if (extent->committed > extent->bytes) return why_not = "committed beyond the extent", false;
    if (extent->company == Company::none && extent->committed == extent->bytes)
      return why_not = "nothing can be read behind an extent", false;
    std::size_t apart = 0;
    for (const ExtentPart* part = extent->parts; part != nullptr; part = part->next) {
      if (part->begin >= part->end || part->end > extent->committed)
        return why_not = "a part beyond its extent", false;
      apart += part->end - part->begin;
    }
    if (apart != extent->apart) return why_not = "an extent's parts do not add up", false;
    if (extent->company == Company::none)
      for (std::size_t at = 0; at < extent->bytes; at += ranges_.unit())
        if (ranges_.owner(pointer(extent->begin + at)) != extent)
          return why_not = "a unit does not name its extent", false;
  }
  // A block may just have been handed out, and not be counted off yet.
  if (in_hands > in_hands_ || (with_pages && in_hands != in_hands_))
    return why_not = "extents in a thread's hands do not add up", false;
  for (const FreeRuns& runs : runs_)
    if (!runs.is_sound(why_not)) return false;
  return regions_are_sound(why_not, with_pages);
}

} // namespace omptier
