// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound for few sites: that of relaxation.hpp with one price for each tier, which halving finds
// exactly. Bytes are averages over time, or those at the moment of most bytes. The point x wanders
// towards the relaxed optimum (Frank and Wolfe, 1956), and the best bound on the way is taken.
#include "advisor/needs.hpp"
#include "advisor/relaxation.hpp"
#include "model/loop_time.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr int k_point_steps = 24; // of x
constexpr int k_price_rounds = 4; // over the tiers
constexpr int k_halvings = 40;   // of the interval of one price

struct PricedItem {
  std::array<double, k_most_memories> slope{};
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

private:
  double cost(const PricedItem& item, std::size_t tier) const {
    return item.slope[tier] + price_[tier] * item.bytes;
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

double least_with(const Workload& workload, const std::vector<TierChoice>& tiers,
                  std::span<const std::size_t> tier_of_site, const std::vector<double>& bytes) {
  const std::vector<Figures> figures = figures_of(tiers);
  LoopTimes times(figures, workload.threads, workload.loops);
  const std::size_t count = workload.sites.size(), slowest = tiers.size() - 1;
  std::vector<std::array<double, k_most_memories>> parts(count); // of each site by tier: x
  for (std::size_t site = 0; site < count; ++site) {
    const std::size_t tier = std::min(tier_of_site[site], slowest);
    times.add({workload.sites[site].demand, workload.sites[site].by_loop,
               first_touch_times(workload.sites[site], tiers, workload.threads)},
              tier);
    parts[site][tier] = 1;
  }
  std::vector<PricedItem> items(count);
  double best = 0;
  for (int step = 0; step < k_point_steps; ++step) {
    for (std::size_t site = 0; site < count; ++site) {
      const bool moves = workload.sites[site].is_free();
      const double stays_at = times.slope(site, std::min(tier_of_site[site], slowest));
      for (std::size_t tier = 0; tier < tiers.size(); ++tier)
        items[site].slope[tier] = moves ? times.slope(site, tier) : stays_at;
      items[site].bytes = moves ? bytes[site] : 0;
    }
    OnePrice one_price(items, tiers);
    best = std::max(best, one_price.bound());
    const double length = 2.0 / (step + 3);
    for (std::size_t site = 0; site < count; ++site) {
      if (!workload.sites[site].is_free()) continue;
      const std::size_t to = one_price.best_of(items[site]);
      for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
        const double part = tier == to ? 0 : parts[site][tier] * length;
        if (part <= 0) continue;
        times.shift(site, tier, to, part);
        parts[site][tier] -= part;
        parts[site][to] += part;
      }
    }
  }
  return best;
}

} // namespace

double least_by_tier_prices(const Workload& workload, const std::vector<TierChoice>& tiers,
                            std::span<const std::size_t> tier_of_site) {
  if (tiers.empty() || workload.sites.empty()) return 0;
  const Needs needs(workload);
  const std::size_t sites = workload.sites.size();
  return std::max(least_with(workload, tiers, tier_of_site, average_bytes(needs, sites)),
                  least_with(workload, tiers, tier_of_site, bytes_at_peak(needs, sites)));
}

} // namespace omptier
