// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What strategies share: who lies where, and in which room; and the facts that they rank by.
#pragma once

#include "advisor/needs.hpp"
#include "advisor/strategies/strategies.hpp"

#include <functional>

namespace omptier {

// Whether sites that are never alive together may have the same room.
enum class Lifetimes : std::uint8_t { ignored, known };

class Seats {
public:
  Seats(const StrategyInput& input, Lifetimes lifetimes);

  bool fits(std::size_t site, std::size_t tier);
  bool put(std::size_t site, std::size_t tier); // false: no room; the site stays where it was
  void remove(std::size_t site);
  std::size_t tier_of(std::size_t site) const { return tier_of_site_[site]; }
  const Needs& needs() const { return needs_; }
  // Ascending; those that the strategy is to decide about.
  const std::vector<std::size_t>& free_sites() const { return free_; }
  // The rest into the slowest kind with room, then what no plan reaches into the fastest.
  std::vector<std::size_t> finish();

private:
  Need need_of(std::size_t site) const;

  const StrategyInput& input_;
  Lifetimes lifetimes_;
  Needs needs_;
  Room room_;
  std::vector<std::size_t> tier_of_site_, free_;
};

// Accesses of 8 bytes, as sampled by the publications: of a streamed line, seven in eight hit.
struct Counted {
  double loads = 0, load_hits = 0, stores = 0, store_hits = 0;
  double hit_ratio() const;
};
// cached: part of all accesses that a cache served, which are in no demand.
Counted count(const Demand& demand, double cached);

double lines(const SiteDemand& site);            // that memory serves
double bytes_per_second(const SiteDemand& site); // while it is alive

// H2M's model: nanoseconds by latency of what misses, by transfers of what hits.
double access_time_h2m(const Counted& of, const Figures& figures);

// Free sites, the highest value first.
std::vector<std::size_t> ranked(const Seats& seats, const std::vector<double>& value);
// The set with the greatest value into the fastest kind, of the others into the next, and so on.
// value(site, kind): against the slowest kind; less than 0: not there; infinite: there it has to
// be.
std::vector<std::size_t>
place_kind_by_kind(const StrategyInput& input, Lifetimes lifetimes,
                   const std::function<double(std::size_t, std::size_t)>& value);
// In this order, each into the fastest kind with room.
void put_in_order(Seats& seats, std::span<const std::size_t> order, std::size_t tiers);

} // namespace omptier
