// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded plan's allocation sites and regions, ready to be matched against captured stacks.
// Entries with the same frames (other instances, other regions) share one site: the caller counts
// instances by site number and tries the site's entries in the plan's order.
#pragma once

#include "objects/frame_matcher.hpp"
#include "plan/plan.hpp"

#include <vector>

namespace omptier {

class SiteMatcher {
public:
  explicit SiteMatcher(const Plan& plan)
      : sites_(identities_of(plan), frames_of(plan, &PlanEntry::frames)),
        regions_(identities_of(plan), frames_of(plan, &PlanEntry::region)),
        entries_(sites_.distinct_lists()) {
    for (std::uint32_t i = 0; i < plan.entries.size(); ++i) {
      entries_[sites_.list_of(i)].push_back(i);
      region_of_entry_.push_back(plan.entries[i].region.empty() ? FrameMatcher::k_none
                                                                : regions_.list_of(i));
    }
  }

  // Or FrameMatcher::k_none. Thread-safe, no malloc.
  std::uint32_t match(const ReturnAddress* stack, unsigned count) const {
    return sites_.match(stack, count);
  }
  // Whether a site's innermost frame is there.
  bool may_begin(ReturnAddress address) const { return sites_.may_begin(address); }
  bool is_current() const { return sites_.is_current(); }
  // In the plan's order.
  const std::vector<std::uint32_t>& entries(std::uint32_t site) const { return entries_[site]; }
  unsigned site_count() const { return sites_.distinct_lists(); }
  unsigned depth() const { return sites_.depth(); }

  // The region of a captured stack that begins with the construct's codeptr, or k_none; and the
  // region that an entry is limited to (k_none: none).
  std::uint32_t match_region(const ReturnAddress* stack, unsigned count) const {
    return regions_.match(stack, count);
  }
  std::uint32_t region_of_entry(std::uint32_t entry) const { return region_of_entry_[entry]; }
  unsigned region_depth() const { return regions_.depth(); }

  // Number of sites that name a module which is not loaded: the plan was made for another build
  // (then `omptier run --plan` matches by names first), or the library is not loaded yet.
  unsigned sites_without_module() const { return sites_.lists_without_module(); }

private:
  static std::vector<std::string> identities_of(const Plan& plan) {
    std::vector<std::string> identities;
    for (const PlanModule& module : plan.modules)
      identities.push_back(module.identity);
    return identities;
  }
  static std::vector<std::vector<Frame>> frames_of(const Plan& plan,
                                                   std::vector<PlanFrame> PlanEntry::* which) {
    std::vector<std::vector<Frame>> lists;
    for (const PlanEntry& entry : plan.entries) {
      lists.emplace_back();
      for (const PlanFrame& frame : entry.*which)
        lists.back().push_back({frame.module, frame.offset});
    }
    return lists;
  }

  FrameMatcher sites_, regions_;
  std::vector<std::vector<std::uint32_t>> entries_;
  std::vector<std::uint32_t> region_of_entry_;
};

} // namespace omptier
