// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See compare.hpp.
#include "analysis/compare.hpp"

#include "analysis/share_intervals.hpp"
#include "analysis/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

namespace omptier {
namespace {

constexpr double k_error = 0.05;              // chance that any change is none
constexpr double k_same_number = 1e-9;        // relative; of counts without intervals
constexpr double k_same_size = 0.01;          // of an object's bytes: less is no change
constexpr std::uint64_t k_least_size = 4096;  // smaller blocks are not all looked at
constexpr double k_all_accesses = 0.95;       // of them with known pace, to compare their number
constexpr std::uint64_t k_enough_visits = 10; // of a region, to know how they vary

// That so large a difference is noise.
double chance_of(const FigureChange& change) {
  const double difference = change.difference.value;
  const double size = std::max(std::abs(change.a.value), std::abs(change.b.value));
  if (std::abs(difference) <= k_same_number * size) return 1;
  // Towards 0: what would have to be noise for nothing to have changed.
  const double half =
      difference > 0 ? difference - change.difference.low : change.difference.high - difference;
  if (half <= 0) return 0;
  return std::erfc(k_deviations * std::abs(difference) / half / std::numbers::sqrt2);
}

Estimate times(const Share& share, double factor) {
  return {share.value * factor, share.low * factor, share.high * factor};
}

// What samples say of what has none of them: a share of 0, up to as much as they may have missed.
Share unseen_in(const ProfileSummary& summary) {
  const bool counted =
      std::ranges::all_of(summary.runs, [](const RunRecord& run) { return run.source == "exact"; });
  if (counted) return {};
  return {0, 0, wilson_interval(0, static_cast<double>(summary.samples)).high};
}

bool is_recorded_block(const SiteSummary& site) {
  return site.kind == SiteKind::allocation || site.kind == SiteKind::mapping;
}

std::optional<Estimate> accesses_of(const ProfileSummary& summary, const SiteSummary& site) {
  const AccessRate& rate = site.access_rate;
  if (rate.pairs == 0 || rate.known < k_all_accesses) return {};
  const double seconds = static_cast<double>(summary.nanoseconds) / 1e9;
  return Estimate{rate.value * seconds, rate.low * seconds, rate.high * seconds};
}

class Comparison {
public:
  Comparison(const ProfileSummary& a, const ProfileSummary& b)
      : a_(a), b_(b), weight_a_(weight_of_all(a)), weight_b_(weight_of_all(b)) {}

  ObjectChange of(const ComparedPair& pair) const {
    const SiteSummary* a = pair.a ? &a_.sites[*pair.a] : nullptr;
    const SiteSummary* b = pair.b ? &b_.sites[*pair.b] : nullptr;
    ObjectChange change;
    static_cast<ComparedPair&>(change) = pair;
    const bool by_record = is_recorded_block(a != nullptr ? *a : *b);
    change.is_new = a == nullptr && by_record;
    change.is_gone = b == nullptr && by_record;
    set_shares(change,
               a           ? a->share
               : by_record ? Share{}
                           : unseen_in(a_),
               b           ? b->share
               : by_record ? Share{}
                           : unseen_in(b_));
    if (a != nullptr) change.bytes_a = a->bytes_peak;
    if (b != nullptr) change.bytes_b = b->bytes_peak;
    if (a == nullptr || b == nullptr) return change;
    const auto in_a = accesses_of(a_, *a), in_b = accesses_of(b_, *b);
    if (in_a && in_b) change.accesses = change_from(*in_a, *in_b);
    return change;
  }

  ObjectChange of(const Sampled& a, const Sampled& b) const {
    ObjectChange change;
    set_shares(change, a.share, b.share);
    return change;
  }

private:
  void set_shares(ObjectChange& change, const Share& a, const Share& b) const {
    change.share = change_from(times(a, 1), times(b, 1));
    change.cost = change_from(times(a, weight_a_), times(b, weight_b_));
  }

  const ProfileSummary &a_, &b_;
  double weight_a_, weight_b_;
};

struct RegionTime {
  std::uint64_t entries = 0;
  Estimate time;
  bool knows_noise = true;
};

// Visits in which no sample fell are not in a profile; of most of a region's, they are.
RegionTime time_of(const ProfileSummary& summary, const std::optional<std::uint32_t>& number,
                   const std::vector<Spread>& visits) {
  if (!number) return {};
  const RegionSummary& region = summary.regions[*number];
  const Spread& seen = visits[*number];
  const auto entries = static_cast<double>(region.entries);
  const double time = static_cast<double>(region.nanoseconds);
  const double half = k_deviations * seen.deviation() * std::sqrt(entries);
  return {region.entries,
          {time, std::max(0.0, time - half), time + half},
          seen.count >= k_enough_visits &&
              static_cast<double>(seen.count) >= k_enough_seen * entries};
}

std::vector<Spread> visits_of(const ProfileSummary& summary) {
  std::vector<Spread> spreads(summary.regions.size());
  for (const RegionVisit& visit : summary.visits)
    spreads[visit.region].add(static_cast<double>(visit.end - visit.begin));
  return spreads;
}

// The part of a difference that is not noise.
double least(const Estimate& difference) {
  return std::max({difference.low, -difference.high, 0.0});
}

void sort_objects(std::vector<ObjectChange>& objects) {
  const auto order = [](const ObjectChange& one) {
    return std::tuple(one.is_sure(), one.cost.is_sure ? least(one.cost.difference) : 0,
                      std::max(one.cost.a.value, one.cost.b.value),
                      std::max(one.bytes_a, one.bytes_b));
  };
  std::ranges::stable_sort(objects, std::greater{}, order);
}

void sort_regions(std::vector<RegionChange>& regions) {
  std::ranges::stable_sort(regions, std::greater{}, [](const RegionChange& one) {
    return std::tuple(one.time.is_sure || !one.knows_noise, std::abs(one.time.difference.value));
  });
}

} // namespace

bool ObjectChange::changes_size() const {
  const std::uint64_t least = std::min(bytes_a, bytes_b), most = std::max(bytes_a, bytes_b);
  return least > 0 && most >= k_least_size &&
         static_cast<double>(most - least) > k_same_size * static_cast<double>(most);
}

FigureChange change_from(const Estimate& a, const Estimate& b) {
  const double difference = b.value - a.value;
  return {a,
          b,
          {difference, difference - std::hypot(b.value - b.low, a.high - a.value),
           difference + std::hypot(b.high - b.value, a.value - a.low)}};
}

void find_sure(std::span<FigureChange* const> changes) {
  std::vector<std::pair<double, FigureChange*>> ordered;
  for (FigureChange* change : changes)
    ordered.emplace_back(chance_of(*change), change);
  std::ranges::stable_sort(ordered, {}, [](const auto& one) { return one.first; });
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (ordered[i].first > k_error / static_cast<double>(ordered.size() - i)) break;
    ordered[i].second->is_sure = true;
  }
}

ProfileChanges compare(const ProfileSummary& a, const ProfileSummary& b,
                       std::span<const ComparedPair> sites, std::span<const ComparedPair> regions) {
  const Comparison comparison(a, b);
  ProfileChanges made;
  for (const ComparedPair& pair : sites)
    made.objects.push_back(comparison.of(pair));
  made.small = comparison.of(a.small, b.small);
  made.other = comparison.of(a.other, b.other);
  std::vector<FigureChange*> changes{&made.small.cost, &made.other.cost, &made.small.share,
                                     &made.other.share};
  for (ObjectChange& object : made.objects) {
    if (object.cost.a.value > 0 || object.cost.b.value > 0) {
      changes.push_back(&object.cost);
      changes.push_back(&object.share);
    }
    if (object.accesses) changes.push_back(&*object.accesses);
  }
  const std::vector<Spread> in_a = visits_of(a), in_b = visits_of(b);
  for (const ComparedPair& pair : regions) {
    const RegionTime before = time_of(a, pair.a, in_a), after = time_of(b, pair.b, in_b);
    RegionChange& region = made.regions.emplace_back();
    static_cast<ComparedPair&>(region) = pair;
    region.entries_a = before.entries;
    region.entries_b = after.entries;
    region.time = change_from(before.time, after.time);
    region.knows_noise = before.knows_noise && after.knows_noise;
  }
  for (RegionChange& region : made.regions)
    if (region.knows_noise) changes.push_back(&region.time);
  find_sure(changes);
  sort_objects(made.objects);
  sort_regions(made.regions);
  return made;
}

} // namespace omptier
