// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See region_view.hpp. A profile's summary does not say which samples in a region fell on small
// objects: they are in "everything else".
#include "cli/region_view.hpp"

#include "cli/share_cells.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace omptier {
namespace {

class RegionView {
public:
  RegionView(ProfileSummary& summary, ProfileNames& names, std::vector<bool> kept)
      : summary_(summary), names_(names), kept_(std::move(kept)) {}

  void take() {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      RegionSummary& region = summary_.regions[i];
      if (!kept_[i]) {
        region.samples = region.entries = 0; // no row
        continue;
      }
      all_ += region.accesses.total();
      samples_ += region.samples;
    }
    double rest = all_;
    std::uint64_t others = samples_;
    for (SiteSummary& site : summary_.sites) {
      take_site(site);
      rest -= site.accesses.total();
      others -= std::min(others, site.samples);
    }
    summary_.other = {};
    summary_.other.samples = others;
    summary_.other.share = share(std::max(0.0, rest));
    summary_.other_access_share = {0, 0, 1};
    summary_.small = {};
    summary_.small_objects = {};
    summary_.samples = samples_;
    sort_sites();
  }

private:
  Share share(double weight) const {
    return share_of_samples(summary_, weight, all_, samples_);
  }

  // For one region its own figures are known; for several only how often they were sampled.
  void take_site(SiteSummary& site) {
    const SitePart* only = nullptr;
    std::size_t parts = 0;
    Sampled sum;
    for (const SitePart& part : site.by_region)
      if (kept_[part.of]) {
        only = &part;
        ++parts;
        sum.samples += part.samples;
        sum.accesses += part.accesses;
        sum.first_touch += part.first_touch;
      }
    static_cast<Sampled&>(site) = sum;
    const bool alone = parts == 1 && std::ranges::count(kept_, true) == 1;
    site.share = alone ? only->share : share(sum.accesses.total());
    site.hot_part = alone ? only->hot_part : std::nullopt;
    site.access_rate = alone ? only->access_rate : AccessRate();
    site.access_share = {0, 0, 1};
    site.mean_latency = 0;
    site.hot_blocks.clear(); // they are those of the whole run
    site.blocks = 0;
  }

  void sort_sites() {
    std::vector<std::uint32_t> order(summary_.sites.size());
    std::iota(order.begin(), order.end(), 0u);
    std::erase_if(order, [&](std::uint32_t site) { return summary_.sites[site].samples == 0; });
    std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t site) {
      return summary_.sites[site].share.value;
    });
    const std::vector<std::string> before = std::exchange(names_.sites, {});
    std::vector<SiteSummary> sites;
    for (const std::uint32_t site : order) {
      sites.push_back(std::move(summary_.sites[site]));
      names_.sites.push_back(before[site]);
    }
    // If the object with the indices is gone, the name is gone too.
    for (SiteSummary& site : sites) {
      if (site.through == SiteSummary::k_nothing) continue;
      const auto at = std::ranges::find(order, site.through);
      site.through = at == order.end() ? SiteSummary::k_nothing
                                       : static_cast<std::uint32_t>(at - order.begin());
    }
    summary_.sites = std::move(sites);
    summary_.ranks.clear();
    summary_.moves.clear();
  }

  ProfileSummary& summary_;
  ProfileNames& names_;
  std::vector<bool> kept_;
  double all_ = 0;
  std::uint64_t samples_ = 0;
};

} // namespace

bool keep_regions(ProfileSummary& summary, ProfileNames& names, const std::string& text) {
  std::vector<bool> kept;
  for (const std::string& name : names.regions)
    kept.push_back(has_text(name, text));
  if (std::ranges::none_of(kept, std::identity())) return false;
  RegionView(summary, names, std::move(kept)).take();
  return true;
}

} // namespace omptier
