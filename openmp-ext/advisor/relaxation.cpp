// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See relaxation.hpp.
#include "advisor/relaxation.hpp"

#include "model/loop_time.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace omptier {
namespace {

constexpr std::size_t k_few_sites = 1000;
constexpr int k_steps = 400;
constexpr double k_close = 2e-4;    // bound and placement: nearer is near enough
constexpr double k_newest = 0.1;    // part of the newest choices in the average
constexpr double k_shorter = 0.5;   // the next strides, if no bound was better for
constexpr int k_patience = 8;       // so many steps
constexpr double k_progress = 2e-5; // part of the time that the bound must rise in
constexpr int k_period = 40;        // so many steps once strides are as
constexpr double k_short = 0.02;    // short as this; else they end

class Relaxation {
public:
  Relaxation(const Workload& workload, const std::vector<TierChoice>& tiers,
             std::span<const std::size_t> where)
      : workload_(workload), tiers_(tiers.size()), needs_(workload), pieces_(needs_.pieces()),
        figures_(figures_of(tiers)),
        times_(figures_, workload.threads, workload.loop_work, LoopTimes::Which::convex),
        slope_(where.size() * tiers_), part_(where.size() * tiers_), choice_(where.size()),
        limited_((tiers_ - 1) * pieces_) {
    for (const TierChoice& tier : tiers)
      capacity_.push_back(tier.capacity);
    for (std::size_t at = 0; at < limited_.size(); ++at)
      limited_[at].capacity = static_cast<double>(capacity_[at / pieces_]);
    for (std::size_t site = 0; site < where.size(); ++site) {
      const SiteDemand& demand = workload.sites[site];
      const std::size_t tier = std::min(where[site], tiers_ - 1);
      times_.add(
          {demand.demand, demand.by_loop, first_touch_times(demand, tiers, workload.threads)},
          tier);
      choice_[site] = tier;
      part_[site * tiers_ + tier] = 1;
      if (demand.is_free()) free_.push_back(site);
      if (demand.kept && where[site] == *demand.kept) occupy(site, tier);
    }
    has_loops_ = std::ranges::any_of(workload.sites,
                                     [](const SiteDemand& site) { return !site.by_loop.empty(); });
  }

  Relaxed run(std::span<const std::size_t> where) {
    const double reached = times_.time(); // by the placement to start from
    double stride = 1;                    // of the way to where bound and placement would meet
    int since_best = 0;
    use_what_is_placed();
    set_slopes();
    double before = 0;
    for (int step = 1; step <= k_steps; ++step) {
      const double bound = choose();
      if (bound > best_) {
        since_best = 0;
        best_ = bound;
        for (Limit& limit : limited_)
          limit.best_price = limit.price;
        if (reached - best_ < k_close * reached) break;
      } else if (++since_best == k_patience) {
        stride *= k_shorter;
        since_best = 0;
      }
      if (step % k_period == 0) {
        if (stride < k_short && best_ - before < k_progress * reached) break;
        before = best_;
      }
      average();
      raise_prices(stride * (reached - best_));
      if (has_loops_) set_slopes();
    }
    return {best_, round(where)};
  }

private:
  // Of a tier in a piece of time.
  struct Limit {
    double capacity = 0, price = 0, best_price = 0; // capacity: beside what is kept there
    double used = 0, average = 0; // bytes by the newest choices, and by their average
    double sum = 0;               // of the prices of the pieces before
  };

  void occupy(std::size_t site, std::size_t tier) {
    if (tier + 1 == tiers_) return;
    for (const Stay& stay : needs_.of(site).stays)
      for (std::size_t piece = stay.begin; piece < stay.end; ++piece)
        limited_[tier * pieces_ + piece].capacity -= static_cast<double>(stay.bytes);
  }

  void set_slopes() {
    for (std::size_t site = 0; site < choice_.size(); ++site)
      for (std::size_t tier = 0; tier < tiers_; ++tier)
        slope_[site * tiers_ + tier] = times_.slope(site, tier);
  }

  double slope(std::size_t site, std::size_t tier) const { return slope_[site * tiers_ + tier]; }
  double rent(std::size_t site, std::size_t tier) const {
    if (tier + 1 == tiers_) return 0;
    const Limit* const limits = limited_.data() + tier * pieces_;
    double sum = 0;
    for (const Stay& stay : needs_.of(site).stays)
      if (stay.begin < stay.end) {
        const Limit& last = limits[stay.end - 1];
        sum += static_cast<double>(stay.bytes) * (last.sum + last.price - limits[stay.begin].sum);
      }
    return sum;
  }

  void add_use(std::size_t site, std::size_t tier, double part) {
    if (tier + 1 == tiers_) return;
    Limit* const limits = limited_.data() + tier * pieces_;
    for (const Stay& stay : needs_.of(site).stays) {
      if (stay.begin >= stay.end) continue;
      limits[stay.begin].used += part * static_cast<double>(stay.bytes);
      if (stay.end < pieces_) limits[stay.end].used -= part * static_cast<double>(stay.bytes);
    }
  }
  void clear_use() {
    for (Limit& limit : limited_)
      limit.used = 0;
  }
  void sum_use() { // from changes to sums
    for (std::size_t at = 0; at < limited_.size(); ++at)
      if (at % pieces_ != 0) limited_[at].used += limited_[at - 1].used;
  }
  void use_what_is_placed() {
    clear_use();
    for (const std::size_t site : free_)
      add_use(site, choice_[site], 1);
    sum_use();
    for (Limit& limit : limited_)
      limit.average = limit.used;
  }

  // Each site into the tier where slope and rent are least; the bound.
  double choose() {
    for (std::size_t at = 0; at < limited_.size(); ++at)
      limited_[at].sum = at % pieces_ == 0 ? 0 : limited_[at - 1].sum + limited_[at - 1].price;
    clear_use();
    double bound = times_.slope_of_work();
    for (const Limit& limit : limited_)
      bound -= limit.price * limit.capacity;
    std::size_t next_free = 0;
    for (std::size_t site = 0; site < choice_.size(); ++site) {
      if (next_free == free_.size() || free_[next_free] != site) {
        bound += slope(site, choice_[site]);
        continue;
      }
      ++next_free;
      std::size_t best = tiers_ - 1;
      double least = slope(site, best);
      for (std::size_t tier = best; tier-- > 0;)
        if (const double cost = slope(site, tier) + rent(site, tier); cost < least) {
          least = cost;
          best = tier;
        }
      choice_[site] = best;
      bound += least;
      add_use(site, best, 1);
    }
    sum_use();
    return bound;
  }

  void average() {
    for (const std::size_t site : free_) {
      const std::size_t to = choice_[site];
      double* const parts = part_.data() + site * tiers_;
      for (std::size_t tier = 0; tier < tiers_; ++tier) {
        const double part = tier == to ? 0 : parts[tier] * k_newest;
        if (part <= 0) continue;
        if (has_loops_) times_.shift(site, tier, to, part);
        parts[tier] -= part;
        parts[to] += part;
      }
    }
    for (Limit& limit : limited_)
      limit.average += k_newest * (limit.used - limit.average);
  }

  // From the best prices, so far that the bound would rise by `rise` if it were linear.
  void raise_prices(double rise) {
    double norm = 0;
    for (std::size_t at = 0; at < limited_.size(); ++at)
      if (limited_[at].average > limited_[at].capacity || limited_[at].best_price > 0) {
        const double over = excess(at);
        norm += over * over;
      }
    if (norm <= 0) return;
    for (std::size_t at = 0; at < limited_.size(); ++at) {
      const double change = rise / norm * excess(at) / scale(at);
      limited_[at].price = std::max(0.0, limited_[at].best_price + change);
    }
  }
  // One after the other, each where slope and rent are least of what has room: first who saves most
  // for the rent. Then into room that nobody wanted at its price.
  std::vector<std::size_t> round(std::span<const std::size_t> where) {
    for (Limit& limit : limited_)
      limit.price = limit.best_price;
    set_slopes();
    choose();
    std::vector<std::size_t> order = free_;
    std::vector<double> worth(where.size());
    for (const std::size_t site : free_) {
      const double slowest = slope(site, tiers_ - 1), paid = rent(site, choice_[site]);
      if (slowest > 0)
        worth[site] = (slowest - slope(site, choice_[site])) / std::max(paid, 1e-9 * slowest);
    }
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t site) { return worth[site]; });
    Room room;
    make_room_beside_kept(room, where);
    std::vector<std::size_t> rounded(where.begin(), where.end());
    for (const std::size_t site : order)
      rounded[site] = Placement::k_nowhere;
    for (const bool pays : {true, false})
      for (const std::size_t site : order)
        settle(room, site, rounded[site], pays);
    return rounded;
  }

  // Into the tier with room that costs least, with rent or without.
  void settle(Room& room, std::size_t site, std::size_t& tier, bool pays) {
    const Need need = needs_.of(site);
    const std::size_t from = tier;
    double least = from == Placement::k_nowhere ? INFINITY : slope(site, from);
    for (std::size_t to = tiers_; to-- > 0;)
      if (const double cost = slope(site, to) + (pays ? rent(site, to) : 0);
          to != from && cost < least && room.fits(need, to)) {
        least = cost;
        tier = to;
      }
    if (tier == from) return;
    if (from != Placement::k_nowhere) room.give_back(need, from);
    room.take(need, tier);
  }

  void make_room_beside_kept(Room& room, std::span<const std::size_t> where) const {
    if (!room.make(capacity_, pieces_)) throw std::bad_alloc();
    for (std::size_t site = 0; site < where.size(); ++site)
      if (workload_.sites[site].kept && where[site] == *workload_.sites[site].kept)
        room.take(needs_.of(site), where[site]);
  }

  // The tier's whole capacity, also where kept sites leave next to nothing of it.
  double scale(std::size_t at) const {
    return std::max(static_cast<double>(capacity_[at / pieces_]), 1.0);
  }
  double excess(std::size_t at) const {
    return (limited_[at].average - limited_[at].capacity) / scale(at);
  }

  const Workload& workload_;
  std::vector<std::uint64_t> capacity_; // by tier
  std::size_t tiers_;
  Needs needs_;
  std::size_t pieces_;
  std::vector<Figures> figures_;
  LoopTimes times_;
  std::vector<double> slope_, part_; // by site, then tier
  std::vector<std::size_t> choice_;  // by site
  std::vector<Limit> limited_;       // by tier but the slowest, which holds everything; then piece
  std::vector<std::size_t> free_;
  bool has_loops_ = false;
  double best_ = 0;
};

} // namespace

Relaxed relax(const Workload& workload, const std::vector<TierChoice>& tiers,
              std::span<const std::size_t> tier_of_site) {
  if (tiers.empty() || workload.sites.empty()) return {};
  Relaxed relaxed = Relaxation(workload, tiers, tier_of_site).run(tier_of_site);
  if (workload.sites.size() <= k_few_sites)
    relaxed.bound = std::max(relaxed.bound, least_by_tier_prices(workload, tiers, tier_of_site));
  return relaxed;
}

} // namespace omptier
