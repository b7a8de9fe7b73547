// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See kept.hpp.
#include "advisor/kept.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace omptier {

std::string keep_sites(Workload& workload, const std::vector<TierChoice>& tiers,
                       std::string_view wish) {
  const std::string quoted = "'" + std::string(wish) + "'";
  const std::size_t split = wish.rfind('=');
  if (split == std::string_view::npos || split == 0)
    return quoted + " is not NAME=KIND, such as grid=hbm";
  const std::string_view name = wish.substr(0, split), kind = wish.substr(split + 1);
  std::string kinds;
  std::size_t tier = tiers.size();
  for (std::size_t at = 0; at < tiers.size(); ++at) {
    kinds += (at == 0 ? "" : ", ") + std::string(name_of(tiers[at].kind));
    if (same_ignoring_case(kind, name_of(tiers[at].kind))) tier = at;
  }
  if (tier == tiers.size())
    return quoted + ": '" + std::string(kind) + "' is none of the kinds to place in (" + kinds +
           ")";
  bool found = false;
  for (SiteDemand& site : workload.sites) {
    if (!site.placeable || !site.by_plan || site.label.find(name) == std::string::npos) continue;
    if (site.kept && *site.kept != tier)
      return quoted + ": '" + site.label + "' is already kept in " +
             std::string(title_of(tiers[*site.kept].kind));
    site.kept = tier;
    found = true;
  }
  return found ? ""
               : quoted + ": no allocation or static that a plan can place has '" +
                     std::string(name) + "' in its name; omptier report lists the names";
}

std::string kept_without_room(const Workload& workload, const Placement& placement,
                              const std::vector<TierChoice>& tiers) {
  for (std::size_t site = 0; site < workload.sites.size(); ++site)
    if (const SiteDemand& demand = workload.sites[site];
        demand.kept && placement.tier_of_site[site] == Placement::k_nowhere)
      return "'" + demand.label + "' is to be kept in " +
             std::string(title_of(tiers[*demand.kept].kind)) + ", which has " +
             format_size(tiers[*demand.kept].capacity) + "; it needs " +
             format_size(demand.peak_bytes()) + " beside what else is kept there";
  return {};
}

} // namespace omptier
