// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loops.hpp.
#include "advisor/loops.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace omptier {
namespace {

struct SiteInLoop {
  double weight = 0; // of samples blamed on it there
  bool seen = false; // accessed there, maybe without a sample
};

struct Loop {
  double weight = 0;
  std::map<std::uint32_t, SiteInLoop> sites;
};

// By module and offset of the loop's first instruction.
std::vector<Loop> loops_of(const ProfileSummary& summary) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, Loop> loops;
  for (const CodeSummary& code : summary.code) {
    if (code.loop == 0) continue;
    Loop& loop = loops[{code.at.module, code.loop}];
    loop.weight += code.weight;
    for (const CodeAtSite& at : code.by_site) {
      SiteInLoop& site = loop.sites[at.site];
      site.weight += at.weight;
      site.seen = site.seen || at.loads || at.stores;
    }
  }
  std::vector<Loop> list;
  for (auto& [place, loop] : loops)
    list.push_back(std::move(loop));
  return list;
}

} // namespace

// A sample of a loop that waits on two streams is blamed on one of them, and its time is dealt to
// both later. So what a site has beyond its own samples lies in the loops that were seen to access
// it, by these loops' time.
LoopsOfSites loops_of_sites(const ProfileSummary& summary) {
  const std::vector<Loop> loops = loops_of(summary);
  std::vector<double> own(summary.sites.size()), seen_in(summary.sites.size());
  for (const Loop& loop : loops)
    for (const auto& [site, here] : loop.sites) {
      own[site] += here.weight;
      seen_in[site] += here.seen ? loop.weight : 0;
    }
  // Samples outside of known loops are the site's own, too.
  std::vector<double> blamed(summary.sites.size());
  for (const CodeSummary& code : summary.code)
    for (const CodeAtSite& at : code.by_site)
      blamed[at.site] += at.weight;

  LoopsOfSites found;
  found.loops = loops.size();
  found.of_site.resize(summary.sites.size());
  for (std::uint32_t number = 0; number < loops.size(); ++number)
    for (const auto& [site, here] : loops[number].sites) {
      const double all = summary.sites[site].accesses.total();
      const double dealt = std::max(0.0, all - blamed[site]);
      double weight = here.weight;
      if (here.seen && seen_in[site] > 0) weight += dealt * loops[number].weight / seen_in[site];
      const double part = weight / std::max(all, blamed[site]);
      if (part > 0) found.of_site[site].push_back({number, std::min(part, 1.0)});
    }
  return found;
}

} // namespace omptier
