// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan in use: gives the memory kinds to try for one allocation. The call stack is captured and
// matched against the plan's sites; instances of a site are counted, so that an entry for "the
// third grid" finds the third. No malloc and no lock after construction.
#pragma once

#include "base/kind.hpp"
#include "objects/stack.hpp"
#include "plan/plan.hpp"
#include "plan/site_matcher.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace omptier {

struct PlanDecision {
  std::span<const MemoryKind> kinds; // in this order; empty = not in the plan
  std::uint32_t entry = 0;           // 1 + index of the plan's entry; 0 = the plan's rest
  std::uint32_t instance = 0;        // index of the allocation at its site, from 0
};

// The least least_block of all entries that place small blocks; k_least_large: none does.
std::uint64_t least_block_of(const Plan& plan);

class PlanPlacement {
public:
  // The plan outlives this and does not change.
  explicit PlanPlacement(const Plan& plan);
  explicit PlanPlacement(Plan&&) = delete;

  PlanDecision decide(const void* caller, std::size_t bytes) const;

  // What decides on small blocks, below k_least_large, of one call; they are no instances.
  struct SmallCall {
    std::uint32_t entry = FrameMatcher::k_none; // none: they are not placed
    bool never = false;                         // no entry has a call with this return address,
    bool never_two = false; // nor with the two innermost ones, the first a library's
    std::uint32_t count = 0; // 0: words do not recognise the call
  };
  // caller: return address of malloc. words: room for that many; count of them are set.
  SmallCall decide_small(const void* caller, std::span<StackWord> words) const;
  const Plan& plan() const { return plan_; }
  const SiteMatcher& matcher() const { return matcher_; }
  bool has_regions() const { return has_regions_; }
  // Whether a region may be the call of a barrier. The frames alone decide: that of a call whose
  // name is not known may be either.
  bool has_barriers() const { return has_barriers_; }
  // Whether the entry moves an object while a region runs.
  bool is_for_region(std::uint32_t entry) const {
    return matcher_.region_of_entry(entry) != FrameMatcher::k_none;
  }
  // The site of an entry; several entries of one site may concern an object.
  std::uint32_t site_of_entry(std::uint32_t entry) const { return site_of_entry_[entry]; }
  bool covers(std::uint32_t entry, std::uint32_t instance) const;
  // Whether the program itself, not a system library, ever allocated through the plan.
  bool was_used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t matched() const { return matched_.load(std::memory_order_relaxed); }
  // Entries that matched no allocation so far: another build, another input, or different stacks.
  // An entry for a region counts by its site, whether or not the region ran.
  unsigned entries_without_allocation() const;

private:
  const Plan& plan_;
  SiteMatcher matcher_;
  std::vector<std::uint32_t> site_of_entry_;
  mutable std::vector<std::atomic<std::uint32_t>> instances_; // by site: number of allocations
  mutable std::atomic<bool> used_{false};
  mutable std::atomic<std::uint64_t> matched_{0};
  mutable std::vector<std::atomic<bool>> small_met_; // by site
  bool has_regions_ = false, has_barriers_ = false;
};

} // namespace omptier
