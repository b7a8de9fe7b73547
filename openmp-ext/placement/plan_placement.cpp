// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See plan_placement.hpp.
#include "placement/plan_placement.hpp"

#include "objects/modules.hpp"
#include "objects/stack.hpp"
#include "placement/strategy.hpp"

#include <algorithm>

namespace omptier {

// Instances and parts are of large blocks, and small ones do not move with a region.
static bool places_small(const PlanEntry& entry) {
  return entry.least_block < k_least_large && entry.symbol.empty() && entry.instances.empty() &&
         entry.parts.empty() && entry.region.empty();
}

std::uint64_t least_block_of(const Plan& plan) {
  std::uint64_t least = k_least_large;
  for (const PlanEntry& entry : plan.entries)
    if (places_small(entry)) least = std::min(least, entry.least_block);
  return least;
}

PlanPlacement::PlanPlacement(const Plan& plan)
    : plan_(plan), matcher_(plan_), site_of_entry_(plan_.entries.size(), 0),
      instances_(matcher_.site_count()), small_met_(matcher_.site_count()) {
  for (std::uint32_t site = 0; site < matcher_.site_count(); ++site)
    for (const std::uint32_t entry : matcher_.entries(site))
      site_of_entry_[entry] = site;
  for (std::uint32_t entry = 0; entry < plan_.entries.size(); ++entry)
    if (is_for_region(entry)) {
      has_regions_ = true;
      has_barriers_ = has_barriers_ || !begins_a_region(plan_.entries[entry].region.front());
    }
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
    const bool met = ranges.empty() ? made != 0 || small_met_[site_of_entry_[entry]].load()
                                    : std::ranges::any_of(ranges, [made](const InstanceRange& r) {
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

PlanPlacement::SmallCall PlanPlacement::decide_small(const void* caller,
                                                     std::span<StackWord> words) const {
  SmallCall call;
  const bool of_program = is_of_program(caller);
  if (of_program) used_.store(true, std::memory_order_relaxed);
  // Asked before anything is looked up: what is said of the call is kept for the whole run.
  const bool lasting = matcher_.is_current();
  if (of_program && !matcher_.may_begin(reinterpret_cast<ReturnAddress>(caller))) {
    call.never = lasting;
    return call;
  }
  const unsigned depth = std::min(std::max(matcher_.depth(), 1u), k_max_frames);
  ReturnAddress stack[k_max_frames];
  const unsigned count = capture_stack(caller, stack, depth);
  const std::uint32_t site = matcher_.match(stack, count);
  if (site != FrameMatcher::k_none)
    for (const std::uint32_t entry : matcher_.entries(site))
      if (call.entry == FrameMatcher::k_none && places_small(plan_.entries[entry])) {
        call.entry = entry;
        small_met_[site].store(true, std::memory_order_relaxed);
      }
  // Words that end before the site's last frame would also stand for other sites.
  const unsigned captured =
      capture_words(caller, words.data(), static_cast<unsigned>(words.size()), depth);
  const auto own = std::count_if(words.begin(), words.begin() + captured,
                                 [](const StackWord& word) { return word.own; });
  if (lasting && own == count) call.count = captured;
  call.never_two =
      call.count > 1 && !words[0].own && words[1].own && !matcher_.may_begin(words[1].code);
  return call;
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
