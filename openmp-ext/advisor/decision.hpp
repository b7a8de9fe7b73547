// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One site's decision (omptier explain): what the program takes with the site as a whole in each
// memory, all others placed anew around it, and what would put it elsewhere: more or less of a kind
// of memory, or more or fewer accesses. Nothing of it is estimated: each bound is found by deciding
// again, and both sides of it were tried.
#pragma once

#include "advisor/from_samples.hpp"

#include <optional>
#include <vector>

namespace omptier {

inline constexpr double k_all_of_it = 0.9995; // of a site's bytes: from here on, it lies there

struct InTier {
  bool has_room = true;
  Range price; // nanoseconds of thread time beyond what the advice takes
};

// With this capacity, the most of the site lies elsewhere.
struct OtherCapacity {
  std::size_t tier = 0;       // whose capacity it is
  std::uint64_t capacity = 0; // bytes; as shown_size()
  std::size_t goes_to = 0;
  std::uint64_t other_side = 0; // tried, and the site stays
};

struct OtherImportance {
  double factor = 1; // of the site's accesses
  std::size_t goes_to = 0;
};

struct Decision {
  Advice advice;             // quickly searched
  std::size_t site = 0;      // of the summary
  std::vector<double> parts; // of its bytes, by tier
  std::size_t home = 0;      // that holds most of it; Placement::k_nowhere: none has room for it
  std::vector<InTier> in_tier;
  std::optional<std::size_t> runner_up; // of the tiers with room but home, the one of least price
  std::vector<OtherCapacity> capacities;
  // Kinds of which more was tried than all memory of the program, and the site does not go there.
  std::vector<std::size_t> never;
  std::optional<OtherImportance> importance;
};

// site: of the summary; the workload has at least one demand of it that a plan reaches.
Decision decide_about(const Workload& workload, const std::vector<TierChoice>& tiers,
                      std::size_t site);

} // namespace omptier
