// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiers an allocation asks, first to last: of an allocator, from the calling thread's
// processor, or of a list of kinds.
#pragma once

#include "allocators/allocator_table.hpp"
#include "placement/placer.hpp"

#include <array>
#include <span>

namespace omptier {

class TierOrder {
public:
  // At the end, unless it is there already.
  void add(std::size_t tier);
  bool empty() const { return count_ == 0; }
  std::size_t front() const { return tiers_[0]; }
  const std::size_t* begin() const { return tiers_.data(); }
  const std::size_t* end() const { return tiers_.data() + count_; }
  std::size_t size() const { return count_; }

private:
  std::array<std::size_t, k_most_tiers> tiers_;
  std::size_t count_ = 0;
};

// Only the first kind's tiers where placement is required.
TierOrder tiers_of(Placer& placer, const Allocator& allocator);
// The same without what was decided at ompx_commit or ompx_apply.
TierOrder tiers_by_traits(Placer& placer, const Allocator& allocator);
// In the order of the kinds; a kind that this machine lacks is said once.
TierOrder tiers_of_kinds(const Placer& placer, std::span<const MemoryKind> kinds);
// Kind that comes first for the allocator; unknown when this machine lacks it or any will do.
MemoryKind wanted_kind(const Allocator& allocator);

} // namespace omptier
