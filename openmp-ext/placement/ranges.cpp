// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reserves address space and the tables of owners. The tables are reserved without backing too (per
// range, 8 bytes a unit: 4 MiB for 1 TiB; 128 MiB each for granules), touched where in use.
#include "placement/ranges.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"
#include "placement/extent.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace omptier {
namespace {

constexpr std::size_t k_plain_unit = std::size_t{2} << 20;
constexpr std::size_t k_largest_unit = std::size_t{32} << 20;

std::size_t choose_unit() {
  const std::size_t huge = huge_page_size();
  return huge != 0 && huge <= k_largest_unit && huge % page_size() == 0 ? huge : k_plain_unit;
}

void* reserve(std::size_t bytes) {
  void* at =
      os().map(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

std::size_t granule_table_bytes(std::size_t range_bytes) {
  return round_up(range_bytes / k_granule * sizeof(std::atomic<void*>), page_size());
}

} // namespace

ReservedRanges::ReservedRanges() : unit_(choose_unit()) {}

ReservedRanges::~ReservedRanges() {
  for (unsigned i = 0; i < count_.load(); ++i) {
    os().unmap(reinterpret_cast<void*>(ranges_[i].begin.load()), ranges_[i].bytes);
    os().unmap(ranges_[i].owners, ranges_[i].bytes / unit_ * sizeof(std::atomic<Extent*>));
    os().unmap(ranges_[i].spans, granule_table_bytes(ranges_[i].bytes));
    os().unmap(ranges_[i].granules, granule_table_bytes(ranges_[i].bytes));
  }
}

const ReservedRanges::Range* ReservedRanges::find(std::uintptr_t address) const {
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const std::uintptr_t begin = ranges_[i].begin.load(std::memory_order_relaxed);
    if (address - begin < ranges_[i].bytes) return &ranges_[i];
  }
  return nullptr;
}

bool ReservedRanges::reserve_range(std::size_t least) {
  const unsigned count = count_.load(std::memory_order_relaxed);
  if (count == k_most_ranges) return false;
  // A request larger than the usual range gets a range of its size.
  std::size_t bytes = k_largest_range;
  while (bytes < least && bytes < (std::size_t{1} << 46))
    bytes *= 2;
  void* at = nullptr;
  // One extra unit, to align the begin to a unit.
  while ((at = reserve(bytes + unit_)) == nullptr && bytes / 2 >= std::max(k_least_range, least))
    bytes /= 2;
  if (at == nullptr) return false;
  if (bytes < k_largest_range)
    warn_once(Notice::address_space,
              "Only %zu GiB of address space could be reserved for placed memory (a limit such as "
              "'ulimit -v' or a sanitizer): more is reserved when needed.",
              bytes >> 30);

  const std::size_t units = bytes / unit_;
  void* owners = os().map(nullptr, units * sizeof(std::atomic<Extent*>), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* spans = reserve(granule_table_bytes(bytes));
  void* granules = reserve(granule_table_bytes(bytes));
  if (owners == MAP_FAILED || spans == nullptr || granules == nullptr) {
    if (owners != MAP_FAILED) os().unmap(owners, units * sizeof(std::atomic<Extent*>));
    if (spans != nullptr) os().unmap(spans, granule_table_bytes(bytes));
    if (granules != nullptr) os().unmap(granules, granule_table_bytes(bytes));
    os().unmap(at, bytes + unit_);
    return false;
  }
  const std::uintptr_t begin = round_up(reinterpret_cast<std::uintptr_t>(at), unit_);
  Range& range = ranges_[count];
  range.begin.store(begin, std::memory_order_relaxed);
  range.bytes = bytes;
  range.owners = static_cast<std::atomic<Extent*>*>(owners);
  range.spans = static_cast<std::atomic<Span*>*>(spans);
  range.granules = static_cast<std::atomic<Extent*>*>(granules);
  range.taken = 0;
  if (begin < low_.load(std::memory_order_relaxed)) low_.store(begin, std::memory_order_relaxed);
  if (begin + bytes > high_.load(std::memory_order_relaxed))
    high_.store(begin + bytes, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
  const auto grown = grown_.load(std::memory_order_acquire);
  if (count != 0 && grown != nullptr) grown();
  return true;
}

Slice ReservedRanges::take_from(Range& range, std::size_t bytes, ExtentSpace* space) {
  const std::size_t slice = range.bytes / k_slices;
  const std::size_t wanted = (bytes + slice - 1) / slice;
  if (wanted > k_slices) return {};
  for (unsigned first = 0; first + wanted <= k_slices; ++first) {
    const std::uint64_t mask = ((std::uint64_t{1} << wanted) - 1) << first;
    if ((range.taken & mask) != 0) continue;
    // The tables are made accessible together with the slices.
    const std::size_t end = (first + wanted) * slice;
    if (end > range.accessible.load(std::memory_order_relaxed)) {
      const std::size_t bytes_of_table =
          std::min(granule_table_bytes(end), granule_table_bytes(range.bytes));
      if (os().protect(range.spans, bytes_of_table, PROT_READ | PROT_WRITE) != 0 ||
          os().protect(range.granules, bytes_of_table, PROT_READ | PROT_WRITE) != 0)
        return {};
      range.accessible.store(end, std::memory_order_release);
    }
    range.taken |= static_cast<std::uint32_t>(mask);
    for (std::size_t i = 0; i < wanted; ++i)
      range.spaces[first + i].store(space, std::memory_order_release);
    return {range.begin.load(std::memory_order_relaxed) + first * slice, wanted * slice};
  }
  return {};
}

Slice ReservedRanges::take(std::size_t bytes, ExtentSpace* space) {
  const std::lock_guard guard(lock_);
  const unsigned count = count_.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i)
    if (const Slice slice = take_from(ranges_[i], bytes, space); slice.bytes != 0) return slice;
  if (!reserve_range(bytes)) return {};
  return take_from(ranges_[count], bytes, space);
}

ExtentSpace* ReservedRanges::space_of(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Range* range = find(at);
  if (range == nullptr) return nullptr;
  const std::size_t slice =
      (at - range->begin.load(std::memory_order_relaxed)) / (range->bytes / k_slices);
  return range->spaces[slice].load(std::memory_order_acquire);
}

Extent* ReservedRanges::owner_of_unit(std::uintptr_t address) const {
  const Range* range = find(address);
  if (range == nullptr) return nullptr;
  const std::size_t unit = (address - range->begin.load(std::memory_order_relaxed)) / unit_;
  return range->owners[unit].load(std::memory_order_acquire);
}

// The extent that begins in the granule, fills it, or (by the granule before) ends in it.
Extent* ReservedRanges::owner_in_region(std::uintptr_t address) const {
  const Range& range = *find(address);
  const std::size_t granule =
      (address - range.begin.load(std::memory_order_relaxed)) >> k_granule_shift;
  for (const std::size_t at : {granule, granule - (granule != 0 ? 1 : 0)}) {
    Extent* extent = range.granules[at].load(std::memory_order_acquire);
    if (extent != nullptr && extent->holds(address)) return extent;
  }
  return nullptr;
}

Extent* ReservedRanges::owner(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  Extent* extent = owner_of_unit(at);
  if (extent == nullptr || !extent->holds(at)) return nullptr;
  if (extent->use != ExtentUse::region) return extent;
  Extent* in_region = owner_in_region(at);
  return in_region != nullptr ? in_region : extent;
}

void ReservedRanges::set_owner_of_units(Extent& extent, Marks marks) {
  const Range& range = *find(extent.begin);
  const std::size_t first =
      (extent.begin - range.begin.load(std::memory_order_relaxed)) / unit_;
  const std::size_t last = first + extent.bytes / unit_ - 1;
  for (std::size_t i = first; i <= last; i = marks == Marks::ends && i < last ? last : i + 1)
    range.owners[i].store(&extent, std::memory_order_release);
}

// A granule in which the extent only ends belongs to the next extent.
void ReservedRanges::set_owner_of_granules(Extent& extent, Marks marks) {
  const Range& range = *find(extent.begin);
  const std::uintptr_t begin = range.begin.load(std::memory_order_relaxed);
  const std::size_t first = (extent.begin - begin) >> k_granule_shift;
  const std::size_t last = std::max(first, ((extent.end() - begin) >> k_granule_shift) - 1);
  for (std::size_t i = first; i <= last; i = marks == Marks::ends && i < last ? last : i + 1)
    range.granules[i].store(&extent, std::memory_order_release);
}

Span* ReservedRanges::span_beyond_first(std::uintptr_t address) const {
  const Range* range = find(address);
  if (range == nullptr) return nullptr;
  const std::uintptr_t offset = address - range->begin.load(std::memory_order_relaxed);
  if (offset >= range->accessible.load(std::memory_order_acquire)) return nullptr;
  return range->spans[offset >> k_granule_shift].load(std::memory_order_acquire);
}

void ReservedRanges::set_span(std::uintptr_t begin, unsigned granules, Span* span) {
  const Range* range = find(begin);
  if (range == nullptr) return;
  const std::size_t first =
      (begin - range->begin.load(std::memory_order_relaxed)) >> k_granule_shift;
  for (unsigned i = 0; i < granules; ++i)
    range->spans[first + i].store(span, std::memory_order_release);
}

bool ReservedRanges::is_sound(std::string& why_not) const {
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const std::uintptr_t begin = ranges_[i].begin.load(std::memory_order_relaxed);
    const std::uintptr_t end = begin + ranges_[i].bytes;
    if (begin % unit_ != 0) return why_not = "a range does not begin at a unit", false;
    if (begin < low_.load() || end > high_.load())
      return why_not = "a range lies outside the overall bounds", false;
    for (unsigned j = 0; j < i; ++j) {
      const std::uintptr_t other = ranges_[j].begin.load(std::memory_order_relaxed);
      if (begin < other + ranges_[j].bytes && other < end)
        return why_not = "two ranges overlap", false;
    }
  }
  return true;
}

} // namespace omptier
