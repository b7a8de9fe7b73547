// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See densest.hpp.
#include "analysis/densest.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr double k_least_step = 1.0 / 200;

double density(const SiteSummary& site) {
  return site.share.value / static_cast<double>(site.bytes_peak);
}

std::vector<std::uint32_t> sites_by_density(const ProfileSummary& summary) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < summary.sites.size(); ++i)
    if (has_bytes(summary.sites[i].kind) && summary.sites[i].bytes_peak > 0) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return density(summary.sites[a]) > density(summary.sites[b]);
  });
  return order;
}

} // namespace

std::vector<DensestStep> densest_first(const ProfileSummary& summary) {
  const std::vector<std::uint32_t> order = sites_by_density(summary);
  double all_share = 0, all_bytes = 0;
  for (const std::uint32_t site : order) {
    all_share += summary.sites[site].share.value;
    all_bytes += static_cast<double>(summary.sites[site].bytes_peak);
  }
  std::vector<DensestStep> steps;
  DensestStep now;
  for (const std::uint32_t number : order) {
    const SiteSummary& site = summary.sites[number];
    const DensestStep before = steps.empty() ? DensestStep{} : steps.back();
    now.site = number;
    ++now.sites;
    now.bytes += site.bytes_peak;
    now.samples += site.samples;
    if (now.sites == 1)
      now.share = site.share;
    else
      now.share += site.share;
    if (now.sites == 1 || now.sites == order.size() ||
        now.share.value - before.share.value >= k_least_step * all_share ||
        static_cast<double>(now.bytes - before.bytes) >= k_least_step * all_bytes)
      steps.push_back(now);
  }
  return steps;
}

} // namespace omptier
