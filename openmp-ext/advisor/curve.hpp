// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the predicted time depends on how much there is of one kind of memory (omptier whatif). The
// search for a placement is not exact; but what fits into less room fits into more, so a point
// takes the placement of the point before where it finds no better one, and the curve never rises.
#pragma once

#include "advisor/advice.hpp"

#include <map>

namespace omptier {

// Where the bytes of a site of the summary lie. The parts are 0…1, of 0 if it has no bytes; what is
// nowhere is in none.
struct PartsByTier {
  std::uint64_t bytes = 0;
  std::vector<double> parts;
};
PartsByTier parts_by_tier(const Workload& workload, const std::vector<std::size_t>& tier_of_site,
                          std::size_t tiers, std::size_t site);
PartsByTier parts_by_tier(const Advice& advice, std::size_t site);

struct Arrival {
  std::string label;
  std::size_t site = 0;       // of the summary
  double before = 0, now = 0; // parts of its bytes in the tier
  std::uint64_t bytes = 0;    // of the whole site
};

class CapacityCurve {
public:
  // Varies this tier. It must not be the slowest, which more room makes no faster.
  CapacityCurve(Workload workload, std::vector<TierChoice> tiers, std::size_t tier);

  // Adds a point. References to advice stay valid.
  void add(std::uint64_t capacity);
  const std::map<std::uint64_t, Advice>& points() const { return points_; } // by capacity
  double time_in_slowest() const { return slowest_; }                       // everything there

  // Adds points until the smallest capacity from `least` on that saves this part of what the
  // largest point saves, against the smallest point, is known to about 2 %. None if the largest
  // saves less than k_worth_changing.
  std::optional<std::uint64_t> enough(double part, std::uint64_t least);

  // What the tier holds more, or less, than at another point, by at least a twentieth of the site;
  // most bytes first.
  std::vector<Arrival> arrivals(std::uint64_t before, std::uint64_t capacity) const;

private:
  void keep_better();

  Workload workload_;
  std::vector<TierChoice> tiers_;
  std::size_t tier_;
  double slowest_ = 0;
  std::map<std::uint64_t, Advice> points_;
};

// Bytes as format_size() shows them, rounded up to that: they can be given to --capacity exactly.
std::uint64_t shown_size(std::uint64_t bytes);
// "95.3M", of such a size.
std::string size_option(std::uint64_t bytes);

} // namespace omptier
