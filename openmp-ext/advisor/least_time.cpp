// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound for few sites: that of relaxation.hpp with one price for each tier, which halving finds
// exactly. Bytes are averages over time, or those at the moment of most bytes. The point x wanders
// towards the relaxed optimum (Frank and Wolfe, 1956), each time as far as that pays, and the best
// bound on the way is taken.
#include "advisor/needs.hpp"
#include "advisor/relaxation.hpp"
#include "model/loop_time.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr int k_point_steps = 24; // of x
constexpr int k_price_rounds = 4; // over the tiers
constexpr int k_halvings = 40;   // of the interval of one price
constexpr int k_way_halvings = 8; // of the way of one step

struct PricedItem {
  std::array<double, k_most_memories> slope{}, parts{}; // by tier; parts: the point x
  std::size_t start = 0;                                // tier
  double bytes = 0;
};

class OnePrice {
public:
  OnePrice(std::vector<PricedItem>& items, const std::vector<TierChoice>& tiers)
      : items_(items), tiers_(tiers), price_(tiers.size()) {}

  std::size_t best_of(const PricedItem& item) const {
    std::size_t best = tiers_.size() - 1;
    for (std::size_t tier = best; tier-- > 0;)
      if (cost(item, tier) < cost(item, best)) best = tier;
    return best;
  }

  // Without LoopTimes::slope_of_work().
  double bound() {
    for (int round = 0; round < k_price_rounds; ++round)
      for (std::size_t tier = 0; tier + 1 < tiers_.size(); ++tier) // the slowest holds everything
        balance(tier);
    double sum = 0;
    for (const PricedItem& item : items_)
      sum += cost(item, best_of(item));
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
      sum -= price_[tier] * static_cast<double>(tiers_[tier].capacity);
    return sum;
  }

  double rent(const PricedItem& item, std::size_t tier) const { return price_[tier] * item.bytes; }

private:
  double cost(const PricedItem& item, std::size_t tier) const {
    return item.slope[tier] + rent(item, tier);
  }
  // Halves the interval of the tier's price until what wants to lie there just fits.
  void balance(std::size_t tier) {
    double low = 0, high = 0;
    for (const PricedItem& item : items_)
      if (item.bytes > 0)
        high = std::max(high, (item.slope[tiers_.size() - 1] - item.slope[tier]) / item.bytes);
    price_[tier] = 0;
    if (fits(tier)) return;
    for (int i = 0; i < k_halvings; ++i) {
      price_[tier] = (low + high) / 2;
      (fits(tier) ? high : low) = price_[tier];
    }
    price_[tier] = high;
  }
  bool fits(std::size_t tier) const {
    double bytes = 0;
    for (const PricedItem& item : items_)
      if (best_of(item) == tier) bytes += item.bytes;
    return bytes <= static_cast<double>(tiers_[tier].capacity);
  }

  std::vector<PricedItem>& items_;
  const std::vector<TierChoice>& tiers_;
  std::vector<double> price_;
};

std::vector<double> average_bytes(const Needs& needs, std::size_t sites) {
  double all = 0;
  for (std::size_t piece = 0; piece < needs.pieces(); ++piece)
    all += needs.length(piece);
  std::vector<double> bytes(sites);
  for (std::size_t site = 0; site < sites; ++site)
    for (const Stay& stay : needs.of(site).stays)
      for (std::size_t piece = stay.begin; piece < stay.end; ++piece)
        bytes[site] += static_cast<double>(stay.bytes) * needs.length(piece) / all;
  return bytes;
}

std::vector<double> bytes_at_peak(const Needs& needs, std::size_t sites) {
  std::vector<double> sum(needs.pieces());
  for (std::size_t site = 0; site < sites; ++site)
    for (const Stay& stay : needs.of(site).stays)
      for (std::size_t piece = stay.begin; piece < stay.end; ++piece)
        sum[piece] += static_cast<double>(stay.bytes);
  const auto peak = static_cast<std::size_t>(std::ranges::max_element(sum) - sum.begin());
  std::vector<double> bytes(sites);
  for (std::size_t site = 0; site < sites; ++site)
    for (const Stay& stay : needs.of(site).stays)
      if (stay.begin <= peak && peak < stay.end) bytes[site] = static_cast<double>(stay.bytes);
  return bytes;
}

// With one number of bytes for each site.
class WithOnePrice {
public:
  WithOnePrice(const Workload& workload, const std::vector<TierChoice>& tiers,
               std::span<const std::size_t> tier_of_site, const std::vector<double>& bytes)
      : workload_(workload), tiers_(tiers), figures_(figures_of(tiers)),
        times_(figures_, workload.threads, workload.loop_work, LoopTimes::Which::convex),
        items_(workload.sites.size()) {
    for (std::size_t site = 0; site < items_.size(); ++site) {
      const SiteDemand& demand = workload.sites[site];
      PricedItem& item = items_[site];
      item.start = std::min(tier_of_site[site], tiers.size() - 1);
      item.parts[item.start] = 1;
      item.bytes = demand.is_free() ? bytes[site] : 0;
      times_.add(
          {demand.demand, demand.by_loop, first_touch_times(demand, tiers, workload.threads)},
          item.start);
    }
  }

  double bound() {
    double best = 0;
    for (int step = 0;; ++step) {
      set_slopes();
      OnePrice price(items_, tiers_);
      best = std::max(best, price.bound() + times_.slope_of_work());
      if (step == k_point_steps) return best;
      go(price);
    }
  }

private:
  // What goes from one tier to another in a step.
  struct Way {
    std::size_t site, from, to;
    double part;
  };

  // What is not free stays where it is.
  void set_slopes() {
    for (std::size_t site = 0; site < items_.size(); ++site)
      for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
        items_[site].slope[tier] = times_.slope(site, free(site) ? tier : items_[site].start);
  }
  bool free(std::size_t site) const { return workload_.sites[site].is_free(); }

  std::vector<Way> ways(const OnePrice& price) const {
    std::vector<Way> ways;
    for (std::size_t site = 0; site < items_.size(); ++site) {
      const std::size_t to = price.best_of(items_[site]);
      for (std::size_t tier = 0; free(site) && tier < tiers_.size(); ++tier)
        if (const double part = items_[site].parts[tier]; tier != to && part > 0)
          ways.push_back({site, tier, to, part});
    }
    return ways;
  }

  // So far on all ways together that time and rents are least.
  void go(const OnePrice& price) {
    const std::vector<Way> all = ways(price);
    double low = 0, high = 1, at = 0;
    for (int i = 0; i < k_way_halvings; ++i) {
      const double next = (low + high) / 2;
      for (const Way& way : all)
        times_.shift(way.site, way.from, way.to, way.part * (next - at));
      at = next;
      (rises(all, price) ? high : low) = at;
    }
    for (const Way& way : all) {
      items_[way.site].parts[way.from] -= way.part * at;
      items_[way.site].parts[way.to] += way.part * at;
    }
  }
  bool rises(const std::vector<Way>& ways, const OnePrice& price) const {
    double slope = 0;
    for (const Way& way : ways) {
      const PricedItem& item = items_[way.site];
      slope += way.part * (times_.slope(way.site, way.to) + price.rent(item, way.to) -
                           times_.slope(way.site, way.from) - price.rent(item, way.from));
    }
    return slope > 0;
  }

  const Workload& workload_;
  const std::vector<TierChoice>& tiers_;
  std::vector<Figures> figures_;
  LoopTimes times_;
  std::vector<PricedItem> items_;
};

} // namespace

double least_by_tier_prices(const Workload& workload, const std::vector<TierChoice>& tiers,
                            std::span<const std::size_t> tier_of_site) {
  if (tiers.empty() || workload.sites.empty()) return 0;
  const Needs needs(workload);
  const std::size_t sites = workload.sites.size();
  return std::max(WithOnePrice(workload, tiers, tier_of_site, average_bytes(needs, sites)).bound(),
                  WithOnePrice(workload, tiers, tier_of_site, bytes_at_peak(needs, sites)).bound());
}

} // namespace omptier
