// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts and joins free runs. Smallest bins first, so that holes are filled before a region's end.
#include "placement/runs.hpp"

#include "base/linked_list.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace omptier {
namespace {

std::atomic<int> closed_runs{0};

} // namespace

FreeRuns::FreeRuns(ReservedRanges& ranges, ObjectPool<Extent>& pool, ExtentSpace& space,
                   Company company)
    : ranges_(ranges), pool_(pool), space_(space), company_(company),
      grain_(company == Company::none ? ranges.unit() : page_size()),
      least_(company == Company::none ? ranges.unit() : std::max(k_granule, page_size())) {}

int FreeRuns::closed_in_regions() {
  return closed_runs.load(std::memory_order_relaxed);
}

// Index from the highest bit and the two below it.
unsigned FreeRuns::bin_of(std::size_t grains) {
  if (grains < 4) return static_cast<unsigned>(grains);
  const auto top = static_cast<unsigned>(std::bit_width(grains)) - 1;
  return std::min(top * 4 + static_cast<unsigned>(grains >> (top - 2)) - 8, k_bins - 1);
}

unsigned FreeRuns::next_bin(unsigned from) const {
  for (unsigned word = from / 64; word < filled_.size(); ++word) {
    std::uint64_t bits = filled_[word];
    if (word == from / 64) bits &= ~std::uint64_t{0} << from % 64;
    if (bits != 0) return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
  }
  return k_bins;
}

void FreeRuns::mark(Extent& extent, ReservedRanges::Marks marks) {
  if (company_ == Company::none)
    ranges_.set_owner_of_units(extent, marks);
  else
    ranges_.set_owner_of_granules(extent, marks);
}

// The tables get only the ends of a free run: neighbours look there, and nothing looks inside.
void FreeRuns::add(Extent* run) {
  run->use = ExtentUse::free;
  run->company = company_;
  mark(*run, ReservedRanges::Marks::ends);
  const unsigned bin = bin_of(run->bytes / grain_);
  push(bins_[bin], run);
  filled_[bin / 64] |= std::uint64_t{1} << bin % 64;
  if (company_ != Company::none && run->committed == 0)
    closed_runs.fetch_add(1, std::memory_order_relaxed);
}

void FreeRuns::remove(Extent* run) {
  const unsigned bin = bin_of(run->bytes / grain_);
  omptier::remove(bins_[bin], run);
  if (bins_[bin] == nullptr) filled_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
  if (company_ != Company::none && run->committed == 0)
    closed_runs.fetch_sub(1, std::memory_order_relaxed);
}

bool FreeRuns::fits(const Extent& run, std::size_t bytes, std::size_t alignment,
                    std::uintptr_t& begin) const {
  begin = round_up(run.begin, alignment);
  while (begin != run.begin && begin - run.begin < least_) // too little before it
    begin += alignment;
  return begin + bytes <= run.end();
}

// First tries a few runs of each bin: in a bin that is high enough every run fits.
Extent* FreeRuns::find(std::size_t bytes, std::size_t alignment, std::uintptr_t& begin) const {
  for (const unsigned most : {8u, ~0u})
    for (unsigned bin = next_bin(bin_of(bytes / grain_)); bin < k_bins; bin = next_bin(bin + 1)) {
      unsigned tried = 0;
      for (Extent* run = bins_[bin]; run != nullptr && tried < most; run = run->next, ++tried)
        if (fits(*run, bytes, alignment, begin)) return run;
    }
  return nullptr;
}

Extent* FreeRuns::make(std::uintptr_t begin, std::size_t bytes) {
  Extent* extent = pool_.make();
  if (extent == nullptr) return nullptr;
  extent->begin = begin;
  extent->bytes = bytes;
  extent->space = &space_;
  extent->company = company_;
  return extent;
}

Extent* FreeRuns::take(std::size_t bytes, std::size_t alignment) {
  std::uintptr_t begin = 0;
  Extent* run = find(bytes, std::max(alignment, grain_), begin);
  if (run == nullptr) return nullptr;
  const bool open = run->committed != 0;
  std::uintptr_t end = begin + bytes;
  if (run->end() - end < least_) end = run->end();
  Extent* extent = run;
  Extent* rest = nullptr;
  const bool has_before = begin != run->begin, has_after = end != run->end();
  if (has_before || has_after) extent = make(begin, end - begin);
  if (extent == nullptr) return nullptr;
  const bool in_the_middle = has_before && has_after;
  if (in_the_middle) rest = make(end, run->end() - end);
  if (in_the_middle && rest == nullptr) {
    pool_.drop(extent);
    return nullptr;
  }
  remove(run);
  const auto keep = [&](Extent* left) {
    left->committed = open ? left->bytes : 0;
    add(left);
  };
  if (has_before) run->bytes = begin - run->begin;
  if (has_after && !has_before) run->bytes = run->end() - end, run->begin = end;
  if (extent != run) keep(run);
  if (rest != nullptr) keep(rest);
  extent->committed = open ? extent->bytes : 0;
  extent->use = ExtentUse::block; // in no bin: a neighbour that is put back must not join it
  mark(*extent, ReservedRanges::Marks::all);
  return extent;
}

Extent* FreeRuns::neighbour(const Extent& extent, std::uintptr_t address) const {
  if (company_ == Company::none) { // the next slice's extents have another lock
    const auto* at = reinterpret_cast<const void*>(address);
    Extent* found = ranges_.space_of(at) == &space_ ? ranges_.owner_of_unit(address) : nullptr;
    return found != nullptr && found->holds(address) ? found : nullptr;
  }
  const Extent* region = ranges_.owner_of_unit(extent.begin);
  return region->holds(address) ? ranges_.owner_in_region(address) : nullptr;
}

Extent* FreeRuns::before(const Extent& extent) const {
  return neighbour(extent, extent.begin - 1);
}

Extent* FreeRuns::after(const Extent& extent) const {
  return neighbour(extent, extent.end());
}

void FreeRuns::join(Extent& first, Extent& second) {
  first.bytes += second.bytes;
  first.committed += second.committed;
  if (first.use != ExtentUse::free) mark(first, ReservedRanges::Marks::all);
  drop(second);
}

void FreeRuns::drop(Extent& extent) {
  extent.bytes = 0; // an outdated entry for it finds nothing in it
  pool_.drop(&extent);
}

Extent* FreeRuns::cut(Extent& extent, std::size_t bytes) {
  if (extent.bytes < bytes + least_ || bytes < least_) return nullptr;
  Extent* second = make(extent.begin + bytes, extent.bytes - bytes);
  if (second == nullptr) return nullptr;
  second->use = extent.use;
  second->committed = extent.committed - std::min(extent.committed, bytes);
  extent.committed = std::min(extent.committed, bytes);
  extent.bytes = bytes;
  mark(*second, ReservedRanges::Marks::all);
  return second;
}

Extent* FreeRuns::cut_begin(Extent& run, std::size_t bytes) {
  Extent* front = run.bytes >= bytes + least_ && bytes >= least_ ? make(run.begin, bytes) : nullptr;
  if (front == nullptr) return nullptr;
  remove(&run);
  run.begin += bytes;
  run.bytes -= bytes;
  add(&run);
  return front;
}

Extent* FreeRuns::put(Extent* extent) {
  const auto joins = [&](const Extent* other) {
    return other != nullptr && other->use == ExtentUse::free &&
           (other->committed == 0) == (extent->committed == 0);
  };
  extent->use = ExtentUse::free;
  if (Extent* first = before(*extent); joins(first)) {
    remove(first);
    join(*first, *extent);
    extent = first;
  }
  if (Extent* second = after(*extent); joins(second)) {
    remove(second);
    join(*extent, *second);
  }
  add(extent);
  return extent;
}

Extent* FreeRuns::open_run() const {
  for (unsigned bin = next_bin(0); bin < k_bins; bin = next_bin(bin + 1))
    for (Extent* run = bins_[bin]; run != nullptr; run = run->next)
      if (run->committed != 0) return run;
  return nullptr;
}

bool FreeRuns::is_sound(std::string& why_not) const {
  for (unsigned bin = 0; bin < k_bins; ++bin) {
    if ((bins_[bin] != nullptr) != ((filled_[bin / 64] >> bin % 64 & 1) != 0))
      return why_not = "a bit does not match its bin", false;
    const Extent* previous = nullptr;
    for (const Extent* run = bins_[bin]; run != nullptr; previous = run, run = run->next) {
      if (run->previous != previous) return why_not = "a bin's list is broken", false;
      if (run->use != ExtentUse::free || (run->committed != 0 && run->committed != run->bytes))
        return why_not = "a free run is in use, or committed in part", false;
      if (bin_of(run->bytes / grain_) != bin || run->bytes % grain_ != 0 || run->bytes < least_)
        return why_not = "a run in the wrong bin", false;
      const Extent* next = after(*run);
      if (next != nullptr && next->use == ExtentUse::free &&
          (next->committed == 0) == (run->committed == 0))
        return why_not = "two free runs are not joined", false;
      if (next != nullptr && next->begin != run->end())
        return why_not = "a run reaches into its neighbour", false;
    }
  }
  return true;
}

} // namespace omptier
