// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See plan_placement.hpp.
#include "placement/plan_placement.hpp"

#include "objects/modules.hpp"
#include "objects/stack.hpp"
#include "placement/strategy.hpp"

#include <algorithm>

namespace omptier {

PlanPlacement::PlanPlacement(const Plan& plan)
    : plan_(plan), matcher_(plan_), site_of_entry_(plan_.entries.size(), 0),
      instances_(matcher_.site_count()) {
  for (std::uint32_t site = 0; site < matcher_.site_count(); ++site)
    for (const std::uint32_t entry : matcher_.entries(site))
      site_of_entry_[entry] = site;
  for (std::uint32_t entry = 0; entry < plan_.entries.size(); ++entry)
    has_regions_ = has_regions_ || is_for_region(entry);
}

bool PlanPlacement::covers(std::uint32_t entry, std::uint32_t instance) const {
  const std::vector<InstanceRange>& ranges = plan_.entries[entry].instances;
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const InstanceRange& r) {
           return instance >= r.first && instance <= r.last;
         });
}

unsigned PlanPlacement::entries_without_allocation() const {
  unsigned count = 0;
  for (std::uint32_t entry = 0; entry < plan_.entries.size(); ++entry) {
    if (!plan_.entries[entry].symbol.empty()) continue; // statics are reported at start
    const std::uint32_t made = instances_[site_of_entry_[entry]].load(std::memory_order_relaxed);
    const std::vector<InstanceRange>& ranges = plan_.entries[entry].instances;
    const bool met =
        ranges.empty() ? made != 0 : std::ranges::any_of(ranges, [made](const InstanceRange& r) {
          return r.first < made;
        });
    count += met ? 0 : 1;
  }
  return count;
}

// System libraries and OpenMP runtimes also allocate for themselves.
static bool is_of_program(const void* caller) {
  const LoadedModule* module = module_of(reinterpret_cast<std::uintptr_t>(caller));
  return module == nullptr || !(module->system || module->runtime);
}

PlanDecision PlanPlacement::decide(const void* caller, std::size_t bytes) const {
  PlanDecision decision;
  if (!was_used() && is_of_program(caller)) used_.store(true, std::memory_order_relaxed);
  const unsigned depth = std::min(std::max(matcher_.depth(), 1u), k_max_frames);
  ReturnAddress stack[k_max_frames];
  const unsigned count = capture_stack(caller, stack, depth);
  const std::uint32_t site = matcher_.match(stack, count);
  if (site != FrameMatcher::k_none) {
    matched_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t instance = instances_[site].fetch_add(1, std::memory_order_relaxed);
    // An entry without region gives the object's first kind; else the first that covers it.
    for (const bool with_region : {false, true})
      for (const std::uint32_t entry : matcher_.entries(site))
        if (is_for_region(entry) == with_region && covers(entry, instance)) {
          decision.kinds = plan_.entries[entry].kinds;
          decision.entry = entry + 1;
          decision.instance = instance;
          return decision;
        }
  }
  if (bytes >= k_least_strategy_block) decision.kinds = plan_.rest;
  return decision;
}

} // namespace omptier
