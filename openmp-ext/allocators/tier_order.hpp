// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which an allocation tries tiers.
#pragma once

#include "allocators/allocator_table.hpp"
#include "placement/placer.hpp"

#include <array>
#include <span>

namespace omptier {

class TierOrder {
public:
  // Does nothing if the tier is in the list.
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

// If placement is required, only the first kind's tiers.
TierOrder tiers_of(Placer& placer, const Allocator& allocator);
// The same, ignoring what ompx_commit or ompx_apply decided.
TierOrder tiers_by_traits(Placer& placer, const Allocator& allocator);
// In the order of the kinds; warns once of a kind that this machine lacks.
TierOrder tiers_of_kinds(const Placer& placer, std::span<const MemoryKind> kinds);
// The allocator's first kind; unknown when this machine lacks it or any kind will do.
MemoryKind wanted_kind(const Allocator& allocator);

} // namespace omptier
