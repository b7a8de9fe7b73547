// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See together.hpp.
#include "advisor/together.hpp"

#include "advisor/needs.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <random>
#include <string_view>

namespace omptier {
namespace {

constexpr double k_least_saved = 1e-6; // of all time: less is rounding
constexpr std::size_t k_most_movable = 640;
constexpr int k_rounds = 8;
constexpr double k_tidy = 0.002; // of all time, for a site that need not be divided
constexpr double k_settled = 0.01;              // of all time, for all that is settled by names
constexpr double k_as_dense = 0.25;             // time per byte, about alike
constexpr std::size_t k_most_settled = 200'000; // effort
constexpr std::size_t k_most_refined = 200;     // sites
constexpr std::size_t k_picked = 10;        // sites at a time
constexpr std::size_t k_asked = 64;         // questions who lives together cost as much as one put
// Effort: a site that is put somewhere costs 1, 1 for each of its stays or more where the room's
// trees are larger than the caches, and k_timed for each of its loops.
constexpr std::size_t k_cached_pieces = 32 << 10;
constexpr std::size_t k_timed = 10;
constexpr std::size_t k_most_exchanged = 1'000'000, k_most_effort = 3'000'000; // of refine()
constexpr std::size_t k_quick_effort = 100'000;                                // of each
constexpr double k_most_tried = 8e5;                                           // of all placements

std::size_t counted_in(std::size_t tier, std::size_t tiers) {
  return tier == Placement::k_nowhere ? tiers - 1 : tier;
}

bool needs_room(const SiteDemand& site) {
  return site.placeable && site.by_plan;
}

class Exchange {
public:
  Exchange(const Workload& workload, const std::vector<TierChoice>& tiers,
           std::vector<std::size_t>& tier_of_site, Effort effort = Effort::thorough)
      : quick_(effort == Effort::quick), workload_(workload), tiers_(tiers.size()),
        where_(tier_of_site), needs_(workload), held_(workload, tiers, tier_of_site),
        times_(held_.times) {
    std::vector<std::uint64_t> capacity;
    for (const TierChoice& tier : tiers)
      capacity.push_back(tier.capacity);
    if (!room_.make(capacity, needs_.pieces())) throw std::bad_alloc();
    for (std::size_t site = 0; site < where_.size(); ++site)
      if (needs_room(workload.sites[site]) && where_[site] != Placement::k_nowhere)
        room_.take(needs_.of(site), where_[site]);
    find_movable();
    enough_ = k_least_saved * times_.time();
  }

  // From the given placement, and from everything in the slowest kind: the better of both ends.
  void run() {
    exchange();
    const std::vector<std::size_t> first = where_;
    const double first_time = times_.time();
    for (const std::size_t site : movable_)
      put(site, Placement::k_nowhere);
    for (const std::size_t site : movable_)
      put(site, room_.fits(needs_.of(site), tiers_ - 1) ? tiers_ - 1 : Placement::k_nowhere);
    exchange();
    if (!holds_all(where_) || times_.time() > first_time - enough_) restore(first);
    const double most_tried = quick_ ? double(k_quick_effort) : k_most_tried;
    if (2 * placements() * mean_effort() <= most_tried)
      search();
    else
      refine();
  }

  // rank: by name, the same for slices of one site.
  void settle(std::span<const std::size_t> rank) {
    std::vector<std::size_t> order = movable_;
    std::ranges::stable_sort(order, {}, [&](std::size_t site) { return rank[site]; });
    double left = k_settled * times_.time();
    effort_left_ = k_most_settled;
    for (std::size_t tier = 0; tier + 1 < tiers_; ++tier)
      for (const std::size_t site : order) {
        if (where_[site] == Placement::k_nowhere || where_[site] <= tier) continue;
        for (const auto& leaving : as_dense_behind(site, tier, rank, order)) {
          if (effort_left_ == 0) return fill(order);
          if (!enter({&site, 1}, tier, left, &leaving)) continue;
          left -= std::max(0.0, change_);
          break;
        }
      }
    fill(order);
  }

  void tidy(std::span<const std::size_t> site_of) {
    const double most = k_tidy * times_.time();
    for (std::size_t begin = 0, end = 0; begin < site_of.size(); begin = end) {
      std::vector<std::size_t> slices;
      for (end = begin; end < site_of.size() && site_of[end] == site_of[begin]; ++end)
        slices.push_back(end);
      if (!is_divided(slices)) continue;
      const std::size_t divided = sites_divided(site_of);
      const std::vector<std::size_t> before = where_;
      const double time = times_.time();
      if (enter(slices, most_common(slices), most) &&
          (sites_divided(site_of) >= divided || times_.time() > time + most))
        restore(before);
    }
  }

private:
  // Who left may have been larger than who came: the rest of the room is for who gains there.
  void fill(std::span<const std::size_t> order) {
    const std::vector<std::size_t> nobody;
    effort_left_ = k_most_settled;
    for (std::size_t tier = 0; tier + 1 < tiers_; ++tier)
      for (const std::size_t site : order) {
        if (where_[site] == Placement::k_nowhere || where_[site] <= tier) continue;
        spend(effort(site));
        if (effort_left_ == 0) return;
        if (room_.fits(needs_.of(site), tier)) enter({&site, 1}, tier, 0, &nobody);
      }
  }

  // What a move costs by byte; below 0: saves.
  double cost_density(std::size_t site, std::size_t tier) const {
    return times_.change(site, tier) /
           static_cast<double>(std::max<std::uint64_t>(needs_.of(site).bytes, 1));
  }
  // Those in the tier that lose about as much per byte as the site gains there, with later names:
  // by name, the last ones first.
  std::vector<std::vector<std::size_t>> as_dense_behind(std::size_t site, std::size_t tier,
                                                        std::span<const std::size_t> rank,
                                                        std::span<const std::size_t> order) const {
    std::vector<std::vector<std::size_t>> others;
    const double wanted = -cost_density(site, tier);
    if (!(wanted > 0)) return others;
    for (std::size_t at = order.size(); at-- > 0 && rank[order[at]] > rank[site];) {
      const std::size_t other = order[at];
      if (where_[other] != tier ||
          !(std::abs(cost_density(other, where_[site]) / wanted - 1) < k_as_dense))
        continue;
      if (others.empty() || rank[others.back()[0]] != rank[other]) others.emplace_back();
      others.back().push_back(other);
    }
    return others;
  }

  bool is_divided(std::span<const std::size_t> slices) const {
    return std::ranges::any_of(slices,
                               [&](auto slice) { return where_[slice] != where_[slices[0]]; });
  }
  std::size_t most_common(std::span<const std::size_t> slices) const {
    std::vector<unsigned> count(tiers_);
    for (const std::size_t slice : slices)
      if (where_[slice] != Placement::k_nowhere) ++count[where_[slice]];
    return static_cast<std::size_t>(std::ranges::max_element(count) - count.begin());
  }
  std::size_t sites_divided(std::span<const std::size_t> site_of) const {
    std::size_t count = 0, last = ~std::size_t{0};
    for (std::size_t slice = 1; slice < site_of.size(); ++slice)
      if (site_of[slice] == site_of[slice - 1] && where_[slice] != where_[slice - 1] &&
          site_of[slice] != last) {
        ++count;
        last = site_of[slice];
      }
    return count;
  }

  void exchange() {
    effort_left_ = quick_ ? k_quick_effort : k_most_exchanged;
    bool changed = !movable_.empty();
    for (int round = 0; changed && round < k_rounds; ++round) {
      changed = false;
      for (const std::size_t site : movable_)
        for (std::size_t tier = 0; tier < tiers_ && effort_left_ > 0; ++tier)
          changed = enter({&site, 1}, tier) || changed;
      for (const auto& together : loops_)
        for (std::size_t tier = 0; tier < tiers_ && effort_left_ > 0; ++tier)
          changed = enter(together, tier) || changed;
    }
  }

  // Whether something is nowhere that was not so at first.
  bool holds_all(const std::vector<std::size_t>& where) const {
    return std::ranges::none_of(movable_,
                                [&](auto site) { return where[site] == Placement::k_nowhere; });
  }

  void restore(const std::vector<std::size_t>& where) {
    for (const std::size_t site : movable_)
      put(site, Placement::k_nowhere);
    for (const std::size_t site : movable_)
      put(site, where[site]);
  }

  double placements() const {
    return std::pow(static_cast<double>(tiers_), static_cast<double>(movable_.size()));
  }

  std::size_t effort(std::size_t site) const {
    return 1 + needs_.of(site).stays.size() * (1 + needs_.pieces() / k_cached_pieces) +
           k_timed * workload_.sites[site].by_loop.size();
  }
  double mean_effort() const {
    double sum = 0;
    for (const std::size_t site : movable_)
      sum += static_cast<double>(effort(site));
    return movable_.empty() ? 1 : sum / static_cast<double>(movable_.size());
  }
  void spend(std::size_t effort) { effort_left_ -= std::min(effort_left_, effort); }

  // All placements of few sites.
  void search() {
    best_ = where_;
    best_time_ = times_.time() - enough_;
    for (const std::size_t site : movable_)
      put(site, Placement::k_nowhere);
    descend(0);
    restore(best_);
  }
  void descend(std::size_t depth) {
    journal_.clear();
    if (depth == movable_.size()) {
      if (times_.time() >= best_time_) return;
      best_time_ = times_.time() - enough_;
      best_ = where_;
      return;
    }
    const std::size_t site = movable_[depth];
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
      if (!room_.fits(needs_.of(site), tier)) continue;
      put(site, tier);
      descend(depth + 1);
      put(site, Placement::k_nowhere);
    }
  }

  // Some sites that live together are placed anew in the best way, again and again.
  void refine() {
    if (movable_.size() > k_most_refined) return;
    std::minstd_rand random(1); // the same in every run
    for (effort_left_ = quick_ ? k_quick_effort : k_most_effort; effort_left_ > 0;) {
      pick(random);
      if (picked_.size() < 2) continue;
      change_ = 0;
      best_of_picked_.clear();
      for (const std::size_t site : picked_) {
        best_of_picked_.push_back(where_[site]);
        put(site, Placement::k_nowhere);
      }
      saves_.assign(picked_.size() + 1, 0); // at most, by the sites from there on
      for (std::size_t at = picked_.size(); at-- > 0;) {
        double most = 0;
        for (std::size_t tier = 0; tier < tiers_; ++tier)
          most = std::max(most, -times_.change(picked_[at], tier));
        saves_[at] = saves_[at + 1] + most;
      }
      least_change_ = -enough_;
      place_picked(0);
      for (std::size_t at = 0; at < picked_.size(); ++at)
        put(picked_[at], best_of_picked_[at]);
      journal_.clear();
    }
  }
  template <typename Random> void pick(Random& random) {
    picked_ = {movable_[random() % movable_.size()]};
    spend(1);
    if (where_[picked_[0]] == Placement::k_nowhere) return;
    for (std::size_t tries = 0; tries < 4 * k_picked && picked_.size() < k_picked; ++tries) {
      const std::size_t site = movable_[random() % movable_.size()];
      spend((effort(site) + effort(picked_[0])) / k_asked);
      if (where_[site] != Placement::k_nowhere &&
          std::ranges::find(picked_, site) == picked_.end() &&
          are_together(needs_.of(site), needs_.of(picked_[0])))
        picked_.push_back(site);
    }
  }
  void place_picked(std::size_t depth) {
    journal_.clear();
    if (depth == picked_.size()) {
      if (change_ >= least_change_) return;
      least_change_ = change_ - enough_;
      for (std::size_t at = 0; at < picked_.size(); ++at)
        best_of_picked_[at] = where_[picked_[at]];
      return;
    }
    const std::size_t site = picked_[depth];
    for (std::size_t tier = 0; tier < tiers_ && effort_left_ > 0; ++tier) {
      if (!room_.fits(needs_.of(site), tier)) continue;
      const double before = change_;
      put(site, tier);
      if (change_ - saves_[depth + 1] < least_change_) place_picked(depth + 1);
      put(site, Placement::k_nowhere);
      change_ = before;
    }
  }

  void find_movable() {
    std::vector<double> worth(where_.size());
    for (std::size_t site = 0; site < where_.size(); ++site) {
      if (!workload_.sites[site].is_free()) continue;
      double least = 0, most = 0;
      for (std::size_t tier = 0; tier < tiers_; ++tier) {
        least = std::min(least, times_.change(site, tier));
        most = std::max(most, times_.change(site, tier));
      }
      worth[site] = most - least;
      if (worth[site] > 0) movable_.push_back(site);
    }
    std::ranges::stable_sort(movable_, std::greater{}, [&](auto site) { return worth[site]; });
    if (movable_.size() > k_most_movable) movable_.resize(k_most_movable);
    loops_.resize(workload_.loop_work.size());
    for (const std::size_t site : movable_)
      for (const LoopPart& part : workload_.sites[site].by_loop)
        loops_[part.loop].push_back(site);
    std::erase_if(loops_, [](const auto& sites) { return sites.size() < 2; });
    std::ranges::sort(loops_);
    const auto repeats = std::ranges::unique(loops_);
    loops_.erase(repeats.begin(), repeats.end());
  }

  void put(std::size_t site, std::size_t tier) {
    spend(effort(site));
    if (where_[site] != Placement::k_nowhere) room_.give_back(needs_.of(site), where_[site]);
    if (tier != Placement::k_nowhere) room_.take(needs_.of(site), tier);
    change_ += times_.move(site, counted_in(tier, tiers_));
    journal_.push_back({site, where_[site]});
    where_[site] = tier;
  }

  // False if no memory has room.
  bool put_in_best(std::size_t site) {
    std::size_t best = Placement::k_nowhere;
    for (std::size_t tier = tiers_; tier-- > 0;)
      if (room_.fits(needs_.of(site), tier) &&
          (best == Placement::k_nowhere || times_.change(site, tier) < times_.change(site, best)))
        best = tier;
    put(site, best);
    return best != Placement::k_nowhere;
  }

  // Sites of the tier that may leave it, those that lose least per byte first.
  std::vector<std::size_t> cheapest_in(std::size_t tier) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t site : movable_) {
      if (where_[site] != tier) continue;
      double loss = times_.change(site, tiers_ - 1);
      for (std::size_t other = 0; other < tiers_; ++other)
        if (other != tier) loss = std::min(loss, times_.change(site, other));
      order.emplace_back(loss / static_cast<double>(std::max<std::uint64_t>(
                                    needs_.of(site).bytes, 1)),
                         site);
    }
    std::ranges::sort(order);
    std::vector<std::size_t> sites;
    for (const auto& [loss, site] : order)
      sites.push_back(site);
    return sites;
  }

  // Brings the sites into the tier, if what must leave for them loses less, or `most` more.
  // leaving: who may leave, in this order; null: all, the cheapest first.
  bool enter(std::span<const std::size_t> sites, std::size_t tier, double most = 0,
             const std::vector<std::size_t>* leaving = nullptr) {
    journal_.clear();
    change_ = 0;
    for (const std::size_t site : sites)
      if (where_[site] != tier) put(site, Placement::k_nowhere);
    if (journal_.empty()) return false;
    if (bring(sites, tier, leaving) && change_ < most - enough_) return true;
    for (std::size_t at = journal_.size(); at-- > 0;) {
      const auto [site, from] = journal_[at];
      put(site, from); // lengthens the journal, which is read from where it ended
    }
    return false;
  }

  bool may_leave(std::size_t other, std::size_t tier, std::span<const std::size_t> sites,
                 std::size_t site) const {
    return where_[other] == tier && std::ranges::find(sites, other) == sites.end() &&
           are_together(needs_.of(site), needs_.of(other));
  }

  bool bring(std::span<const std::size_t> sites, std::size_t tier,
             const std::vector<std::size_t>* leaving) {
    std::vector<std::size_t> others, gone;
    bool listed = leaving != nullptr;
    if (listed) others = *leaving;
    for (const std::size_t site : sites) {
      if (where_[site] == tier) continue;
      std::size_t next = 0;
      while (!room_.fits(needs_.of(site), tier)) {
        if (!listed) others = cheapest_in(tier);
        listed = true;
        while (next < others.size() && !may_leave(others[next], tier, sites, site))
          ++next;
        if (next == others.size()) return false;
        gone.push_back(others[next]);
        put(others[next++], Placement::k_nowhere);
      }
      put(site, tier);
    }
    for (std::size_t at = gone.size(); at-- > 0;)
      if (!put_in_best(gone[at])) return false;
    return true;
  }

  bool quick_;
  const Workload& workload_;
  std::size_t tiers_;
  std::vector<std::size_t>& where_;
  Needs needs_;
  PlacementTimes held_;
  LoopTimes& times_;
  Room room_;
  std::vector<std::size_t> movable_;              // sites, the most worth first
  std::vector<std::vector<std::size_t>> loops_;   // movable sites of each
  std::vector<std::pair<std::size_t, std::size_t>> journal_; // site, tier before
  double change_ = 0, enough_ = 0;
  std::vector<std::size_t> picked_, best_of_picked_; // of refine()
  std::vector<double> saves_;
  double least_change_ = 0;
  std::size_t effort_left_ = 0;
  std::vector<std::size_t> best_; // of search()
  double best_time_ = 0;
};

} // namespace

PlacementTimes::PlacementTimes(const Workload& workload, const std::vector<TierChoice>& tiers,
                               std::span<const std::size_t> tier_of_site, LoopTimes::Which which)
    : figures_(figures_of(tiers)), times(figures_, workload.threads, workload.loop_work, which) {
  for (std::size_t site = 0; site < workload.sites.size(); ++site)
    times.add({workload.sites[site].demand, workload.sites[site].by_loop,
               first_touch_times(workload.sites[site], tiers, workload.threads)},
              counted_in(tier_of_site[site], tiers.size()));
}

double predicted_time(const Workload& workload, const std::vector<TierChoice>& tiers,
                      std::span<const std::size_t> tier_of_site, LoopTimes::Which which) {
  return tiers.empty() ? 0 : PlacementTimes(workload, tiers, tier_of_site, which).times.time();
}

void improve_together(const Workload& workload, const std::vector<TierChoice>& tiers,
                      std::vector<std::size_t>& tier_of_site, Effort effort) {
  const bool any = std::ranges::any_of(
      workload.sites, [](const SiteDemand& site) { return !site.by_loop.empty(); });
  if ((any || Needs(workload).pieces() > 1) && tiers.size() > 1)
    Exchange(workload, tiers, tier_of_site, effort).run();
}

void settle(const Workload& workload, const std::vector<TierChoice>& tiers,
            std::vector<std::size_t>& tier_of_site) {
  std::vector<std::string_view> names;
  for (const SiteDemand& site : workload.sites)
    names.push_back(site.label);
  std::ranges::sort(names);
  std::vector<std::size_t> rank;
  for (const SiteDemand& site : workload.sites)
    rank.push_back(static_cast<std::size_t>(
        std::ranges::lower_bound(names, std::string_view(site.label)) - names.begin()));
  Exchange(workload, tiers, tier_of_site).settle(rank);
}

void tidy_slices(const Workload& slices, const std::vector<TierChoice>& tiers,
                 std::span<const std::size_t> site_of, std::vector<std::size_t>& tier_of_slice) {
  Exchange(slices, tiers, tier_of_slice).tidy(site_of);
}

} // namespace omptier
