// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See seats.hpp.
#include "advisor/strategies/seats.hpp"

#include "model/cost.hpp"

#include <algorithm>
#include <new>

namespace omptier {

Seats::Seats(const StrategyInput& input, Lifetimes lifetimes)
    : input_(input), lifetimes_(lifetimes), needs_(input.workload),
      tier_of_site_(input.workload.sites.size(), Placement::k_nowhere) {
  std::vector<std::uint64_t> capacity;
  for (const TierChoice& tier : input.tiers)
    capacity.push_back(tier.capacity);
  if (!room_.make(capacity, needs_.pieces())) throw std::bad_alloc();
  for (std::size_t site = 0; site < tier_of_site_.size(); ++site) {
    const SiteDemand& demand = input.workload.sites[site];
    if (demand.is_free()) free_.push_back(site);
    if (demand.kept) put(site, *demand.kept);
  }
}

Need Seats::need_of(std::size_t site) const {
  Need need = needs_.of(site);
  if (lifetimes_ == Lifetimes::ignored) need.stays = {};
  return need;
}

bool Seats::fits(std::size_t site, std::size_t tier) {
  return room_.fits(need_of(site), tier);
}

bool Seats::put(std::size_t site, std::size_t tier) {
  const std::size_t from = tier_of_site_[site];
  remove(site);
  const bool enters = fits(site, tier);
  const std::size_t to = enters ? tier : from;
  if (to != Placement::k_nowhere) room_.take(need_of(site), to);
  tier_of_site_[site] = to;
  return enters;
}

void Seats::remove(std::size_t site) {
  if (tier_of_site_[site] == Placement::k_nowhere) return;
  room_.give_back(need_of(site), tier_of_site_[site]);
  tier_of_site_[site] = Placement::k_nowhere;
}

std::vector<std::size_t> Seats::finish() {
  if (lifetimes_ == Lifetimes::ignored) { // what runs then is a program: lifetimes count
    for (std::size_t site = 0; site < tier_of_site_.size(); ++site)
      if (const std::size_t tier = tier_of_site_[site]; tier != Placement::k_nowhere) {
        room_.give_back(need_of(site), tier);
        room_.take(needs_.of(site), tier);
      }
    lifetimes_ = Lifetimes::known;
  }
  const std::size_t tiers = input_.tiers.size();
  for (const std::size_t site : free_)
    for (std::size_t tier = tiers; tier-- > 0 && tier_of_site_[site] == Placement::k_nowhere;)
      put(site, tier);
  for (std::size_t site = 0; site < tier_of_site_.size(); ++site)
    for (std::size_t tier = reference_tier(input_.tiers);
         tier < tiers && !input_.workload.sites[site].by_plan &&
         tier_of_site_[site] == Placement::k_nowhere;
         ++tier)
      put(site, tier);
  return tier_of_site_;
}

double Counted::hit_ratio() const {
  const double all = loads + stores;
  return all > 0 ? (load_hits + store_hits) / all : 0;
}

Counted count(const Demand& demand, double cached) {
  constexpr double k_in_line = 8, k_most_cached = 0.99;
  const double streamed_loads = demand.of(Manner::streamed_load);
  const double streamed_stores = demand.of(Manner::streamed_store);
  Counted counted;
  counted.loads = demand.of(Manner::scattered_load) + k_in_line * streamed_loads;
  counted.load_hits = (k_in_line - 1) * streamed_loads;
  counted.stores = demand.of(Manner::scattered_store) + k_in_line * streamed_stores;
  counted.store_hits = (k_in_line - 1) * streamed_stores;
  const double more = 1 / (1 - std::min(cached, k_most_cached)) - 1;
  counted.load_hits += more * counted.loads;
  counted.store_hits += more * counted.stores;
  counted.loads += more * counted.loads;
  counted.stores += more * counted.stores;
  return counted;
}

// accesses · latency / 8 of those that miss, a line's transfer of those that hit.
double access_time_h2m(const Counted& of, const Figures& figures) {
  constexpr double k_in_line = 8;
  const auto transfer = [](double bandwidth) { return k_line_bytes / bandwidth * 1e9; };
  return (of.loads - of.load_hits) / k_in_line * figures.read_latency +
         of.load_hits * transfer(figures.read_bandwidth) +
         (of.stores - of.store_hits) / k_in_line * figures.write_latency +
         of.store_hits * transfer(figures.write_bandwidth);
}

double lines(const SiteDemand& site) {
  return site.demand.total();
}

double bytes_per_second(const SiteDemand& site) {
  double nanoseconds = 0;
  for (const LiveStretch& stretch : site.live)
    nanoseconds += static_cast<double>(stretch.end - stretch.begin);
  return nanoseconds > 0 ? lines(site) * k_line_bytes / nanoseconds * 1e9 : 0;
}

std::vector<std::size_t> ranked(const Seats& seats, const std::vector<double>& value) {
  std::vector<std::size_t> order = seats.free_sites();
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t site) { return value[site]; });
  return order;
}

void put_in_order(Seats& seats, std::span<const std::size_t> order, std::size_t tiers) {
  for (const std::size_t site : order)
    for (std::size_t tier = 0; tier < tiers; ++tier)
      if (seats.put(site, tier)) break;
}

} // namespace omptier
