// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and checks of a workload.
#include "advisor/workload.hpp"

#include <algorithm>
#include <utility>

namespace omptier {

std::uint64_t SiteDemand::peak_bytes() const {
  std::uint64_t peak = 0;
  for (const LiveStretch& stretch : live)
    peak = std::max(peak, stretch.bytes);
  return peak;
}

Demand SiteDemand::demand_in(std::size_t region) const {
  const auto part = std::ranges::lower_bound(by_region, region, {}, &RegionDemand::region);
  return part != by_region.end() && part->region == region ? part->demand : Demand();
}

SiteDemand SiteDemand::scaled(double part) const {
  SiteDemand made = *this;
  for (LiveStretch& stretch : made.live)
    stretch.bytes = static_cast<std::uint64_t>(static_cast<double>(stretch.bytes) * part);
  made.demand *= part;
  for (RegionDemand& in : made.by_region)
    in.demand *= part;
  for (double* of_all : {&made.share, &made.share_low, &made.share_high})
    *of_all *= part;
  made.new_pages.always *= part;
  made.new_pages.reused *= part;
  made.growing = static_cast<std::uint64_t>(static_cast<double>(growing) * part);
  return made;
}

bool is_consistent(const Workload& workload, std::string& why_not) {
  const auto is_wrong = [&](std::string why) { return why_not = std::move(why), false; };
  double shares = 0;
  for (const SiteDemand& site : workload.sites) {
    std::uint64_t at = 0;
    for (const LiveStretch& stretch : site.live) {
      if (stretch.begin < at || stretch.end < stretch.begin)
        return is_wrong(site.label + ": live stretches are not in order");
      at = stretch.end;
    }
    if (!(site.share >= 0 && site.share <= 1)) return is_wrong(site.label + ": share outside 0…1");
    if (!(0 <= site.cached_low && site.cached_low <= site.cached &&
          site.cached <= site.cached_high && site.cached_high <= 1))
      return is_wrong(site.label + ": the part from a cache is outside of its interval");
    shares += site.share;
    double in_regions = 0;
    for (const RegionDemand& part : site.by_region) {
      if (part.region >= workload.regions.size())
        return is_wrong(site.label + ": names a region that is not there");
      if (workload.regions[part.region].is_whole()) in_regions += part.demand.total();
    }
    if (in_regions > 1.000001 * site.demand.total())
      return is_wrong(site.label + ": parts by region add up to more than the whole");
    if (std::ranges::adjacent_find(site.by_region, std::ranges::greater_equal{},
                                   &RegionDemand::region) != site.by_region.end())
      return is_wrong(site.label + ": its regions are not in order");
    double in_loops = 0;
    for (const LoopPart& part : site.by_loop) {
      if (part.loop >= workload.loop_work.size())
        return is_wrong(site.label + ": names a loop that is not there");
      in_loops += part.part;
    }
    if (in_loops > 1.000001) return is_wrong(site.label + ": parts by loop add up to more than 1");
  }
  return shares <= 1.000001 || is_wrong("shares add up to more than 1");
}

} // namespace omptier
