// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an earlier plan makes of a workload (advise --after). Profiles of one program differ by
// chance, and by where its data lay and how many threads there were when they were recorded; a plan
// that changed with each of them would not get better. So a plan that is in use is kept unless
// another placement is clearly faster (advice.hpp).
#pragma once

#include "advisor/placement.hpp"
#include "analysis/aggregate.hpp"
#include "plan/plan.hpp"

#include <optional>
#include <vector>

namespace omptier {

struct EarlierPlacement {
  Workload workload; // sites divided as the plan divides them
  // By site; none where the plan does not say, or the user has said something else (site.kept).
  std::vector<std::optional<std::size_t>> tier_of_site;
  double worth_changing = k_worth_changing; // part of the time that other advice must save

  bool names_any() const;
  // With what the user keeps elsewhere, and what the plan does not name.
  std::vector<std::size_t> completed(std::size_t unnamed) const;
};

// Where what the plan does not name lies: where its "rest" says; else in DRAM, or in the slowest
// kind where there is none. tiers: at least one.
std::size_t tier_of_unnamed(const Plan& plan, const std::vector<TierChoice>& tiers);

// plan: of the build that was recorded. summary: what the workload was made from.
EarlierPlacement placed_by(const Plan& plan, Workload workload, const ProfileSummary& summary,
                           const std::vector<TierChoice>& tiers);

} // namespace omptier
