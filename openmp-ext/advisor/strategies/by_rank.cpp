// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies that look at one site after the other, in an order of their own.
#include "advisor/strategies/seats.hpp"
#include "model/cost.hpp"

#include <algorithm>

namespace omptier {
namespace {

template <typename Value>
std::vector<double> values(const StrategyInput& input, Value value_of) {
  std::vector<double> value;
  for (const SiteDemand& site : input.workload.sites)
    value.push_back(value_of(site));
  return value;
}

double per_byte(double value, const SiteDemand& site) {
  return value / static_cast<double>(std::max<std::uint64_t>(site.peak_bytes(), 1));
}

// Kinds by a figure, the best first.
template <typename Worse>
std::vector<std::size_t> kinds_by(const StrategyInput& input, Worse worse) {
  std::vector<std::size_t> order(input.tiers.size());
  for (std::size_t tier = 0; tier < order.size(); ++tier)
    order[tier] = tier;
  std::ranges::stable_sort(order, {},
                           [&](std::size_t tier) { return worse(input.tiers[tier].figures); });
  return order;
}

// Sites of MemBrain's fast memory, by bandwidth per byte; each kind in turn is the fast one.
class Hottest {
public:
  explicit Hottest(const StrategyInput& input)
      : input_(input), seats_(input, Lifetimes::ignored),
        order_(ranked(seats_, values(input, [](const SiteDemand& site) {
                        return per_byte(lines(site), site);
                      }))) {}

  std::vector<std::size_t> place(bool displaces) {
    for (std::size_t tier = 0; tier + 1 < input_.tiers.size(); ++tier)
      fill(tier, displaces);
    return seats_.finish();
  }

private:
  void fill(std::size_t tier, bool displaces) {
    std::vector<std::size_t> inside;
    for (const std::size_t site : order_) {
      if (seats_.tier_of(site) != Placement::k_nowhere) continue;
      if (!seats_.put(site, tier)) {
        if (!displaces) return;
        if (!displace(site, tier, inside)) continue;
      }
      inside.push_back(site);
    }
  }

  // The hottest data of the size that is missing must have less bandwidth than the site.
  bool displace(std::size_t site, std::size_t tier, std::vector<std::size_t>& inside) {
    double missing = static_cast<double>(input_.workload.sites[site].peak_bytes()) - left_in(tier);
    double hottest = 0;
    for (const std::size_t other : inside) {
      const SiteDemand& demand = input_.workload.sites[other];
      const double part = std::min(missing, static_cast<double>(demand.peak_bytes()));
      hottest += per_byte(lines(demand), demand) * part;
      missing -= part;
    }
    if (missing > 0 || lines(input_.workload.sites[site]) <= hottest) return false;
    while (!seats_.put(site, tier)) { // the coldest leave
      seats_.remove(inside.back());
      inside.pop_back();
    }
    return true;
  }

  double left_in(std::size_t tier) const {
    auto left = static_cast<double>(input_.tiers[tier].capacity);
    for (std::size_t site = 0; site < input_.workload.sites.size(); ++site)
      if (seats_.tier_of(site) == tier)
        left -= static_cast<double>(input_.workload.sites[site].peak_bytes());
    return left;
  }

  const StrategyInput& input_;
  Seats seats_;
  std::vector<std::size_t> order_;
};

// ecoHMEM's cost of a miss in the memory after `tier`: its example for NVM behind DRAM, else 1.
double misses_cost(const StrategyInput& input, const SiteDemand& site) {
  const bool nvm = input.tiers.back().kind == MemoryKind::nvm;
  const double read = nvm ? 5 : 1, write = nvm ? 10 : 1;
  const Demand& demand = site.demand;
  return read * (demand.of(Manner::scattered_load) + demand.of(Manner::streamed_load)) +
         write * (demand.of(Manner::scattered_store) + demand.of(Manner::streamed_store));
}

// ecoHMEM's third step. The publication leaves the limits to users; these are ours.
class BandwidthClasses {
public:
  BandwidthClasses(const StrategyInput& input, Seats& seats)
      : input_(input), seats_(seats), slow_(input.tiers.size() - 1),
        low_(0.2 * input.tiers[slow_].figures.read_bandwidth),
        high_(0.4 * input.tiers[slow_].figures.read_bandwidth) {}

  void apply(std::span<const std::size_t> order) {
    for (const std::size_t site : order)
      if (lies_fast(site) && is_low(site) && is_many(site)) seats_.put(site, slow_);
    for (const std::size_t site : order)
      if (!lies_fast(site) && is_many(site) &&
          bytes_per_second(input_.workload.sites[site]) > high_)
        lift(site, order);
  }

private:
  bool is_many(std::size_t site) const { return input_.workload.sites[site].instances > 2; }
  bool is_low(std::size_t site) const {
    return bytes_per_second(input_.workload.sites[site]) < low_;
  }
  bool lies_fast(std::size_t site) const { return seats_.tier_of(site) == 0; }

  void lift(std::size_t site, std::span<const std::size_t> order) {
    for (std::size_t at = order.size(); at-- > 0 && !seats_.fits(site, 0);)
      if (lies_fast(order[at]) && is_low(order[at]) && !is_many(order[at]))
        seats_.put(order[at], slow_);
    seats_.put(site, 0);
  }

  const StrategyInput& input_;
  Seats& seats_;
  std::size_t slow_;
  double low_, high_; // bytes per second
};

} // namespace

std::vector<std::size_t> place_first_come(const StrategyInput& input) {
  Seats seats(input, Lifetimes::known);
  const auto first = values(input, [](const SiteDemand& site) {
    return site.live.empty() ? 0.0 : -static_cast<double>(site.live.front().begin);
  });
  put_in_order(seats, ranked(seats, first), input.tiers.size());
  return seats.finish();
}

std::vector<std::size_t> place_h2m(const StrategyInput& input) {
  constexpr double k_latency_below = 0.25; // of the accesses that a cache serves
  const auto by_latency = kinds_by(input, [](const Figures& of) { return of.read_latency; });
  const auto by_bandwidth = kinds_by(input, [](const Figures& of) { return -of.read_bandwidth; });
  Seats seats(input, Lifetimes::ignored);
  const auto importance =
      values(input, [](const SiteDemand& site) { return site.share * (1 - site.cached); });
  for (const std::size_t site : ranked(seats, importance)) {
    const SiteDemand& demand = input.workload.sites[site];
    const double hits = count(demand.demand, demand.cached).hit_ratio();
    for (const std::size_t tier : hits < k_latency_below ? by_latency : by_bandwidth)
      if (seats.put(site, tier)) break;
  }
  return seats.finish();
}

std::vector<std::size_t> place_hotset(const StrategyInput& input) {
  return Hottest(input).place(false);
}

std::vector<std::size_t> place_thermos(const StrategyInput& input) {
  return Hottest(input).place(true);
}

std::vector<std::size_t> place_ecohmem(const StrategyInput& input) {
  const auto density = values(input, [&](const SiteDemand& site) {
    return per_byte(misses_cost(input, site), site);
  });
  Seats by_size(input, Lifetimes::ignored), seats(input, Lifetimes::known);
  const auto order = ranked(by_size, density);
  put_in_order(by_size, order, input.tiers.size());
  for (const std::size_t site : order)
    if (by_size.tier_of(site) != Placement::k_nowhere) seats.put(site, by_size.tier_of(site));
  for (const std::size_t site : order) // what fits beside them while it lives moves up
    for (std::size_t tier = 0; tier < seats.tier_of(site) && tier < input.tiers.size(); ++tier)
      if (seats.put(site, tier)) break;
  if (input.tiers.size() > 1) BandwidthClasses(input, seats).apply(order);
  return seats.finish();
}

// ProfDP measures an access's mean latency in two runs, with the data near and far; here the model
// tells both, with the target's threads.
std::vector<std::size_t> place_profdp(const StrategyInput& input) {
  const Threads threads = input.workload.threads;
  Seats seats(input, Lifetimes::ignored);
  const auto moving_factor = values(input, [&](const SiteDemand& site) {
    const double near = demand_time(site.demand, input.tiers.front().figures, threads);
    const double far = demand_time(site.demand, input.tiers.back().figures, threads);
    return near > 0 ? per_byte(site.share * (far - near) / near, site) : 0.0;
  });
  put_in_order(seats, ranked(seats, moving_factor), input.tiers.size());
  return seats.finish();
}

std::vector<std::size_t> place_soar(const StrategyInput& input) {
  const Figures& slowest = input.tiers.back().figures;
  Seats seats(input, Lifetimes::known);
  const auto stalls = values(input, [&](const SiteDemand& site) {
    const Demand& demand = site.demand;
    const double waits = demand.of(Manner::scattered_load) / demand.at_once +
                         demand.of(Manner::streamed_load) / k_prefetch_lines;
    return per_byte(waits * slowest.read_latency, site);
  });
  put_in_order(seats, ranked(seats, stalls), input.tiers.size());
  return seats.finish();
}

} // namespace omptier
