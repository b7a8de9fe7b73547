// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_time.hpp.
#include "model/loop_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace omptier {
namespace {

// Least wait for an array, as a part of its transfer. It gives the time no edges: two streams into
// two memories that take equally long take 4 % longer than one. Usual figures say more for loads.
constexpr double k_least_wait = 0.25;
constexpr int k_newton_steps = 30; // few are needed
constexpr double k_exact = 1e-13;

double power3(double value) {
  return value * value * value;
}

// Halley's steps from a guess by the exponent, 5 % off at most: std::cbrt would be a quarter of an
// advice.
double root3(double value) {
  constexpr std::uint64_t k_third_of_exponent = std::uint64_t{715094163} << 32;
  if (!(value > 0)) return 0;
  double root =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) / 3 + k_third_of_exponent);
  for (int step = 0; step < 3; ++step) {
    const double cube = power3(root);
    root *= (cube + 2 * value) / (2 * cube + value);
  }
  return root;
}

// Of the convex time: the time λ in which cores wait for one memory, and its derivatives: the root
// of λ - (λ^3 - wait^3)^(1/3) = spare. spare: the time Λ of all memories, less this one's transfer.
// With enough of it, λ is the wait on the idle memory.
struct Waiting {
  double time = 0, by_wait = 1, by_spare = 0;
};
Waiting waiting(double wait, double spare) {
  if (spare >= wait) return {wait};
  const double root = std::sqrt(12 * power3(wait) / spare - 3 * spare * spare);
  return {spare / 2 + root / 6, 3 * wait * wait / (spare * root),
          0.5 - (power3(wait) / (spare * spare) + spare / 2) / root};
}

// Of what goes on at the same time: the longer, and a little of the shorter.
double both_at_once(double one, double other) {
  const double longest = std::max(one, other);
  return longest > 0 ? longest * root3(1 + power3(std::min(one, other) / longest)) : 0;
}

// How much later a memory answers, by how busy it is.
double delay_of(double busy) {
  return 1 / root3(1 - power3(busy));
}

// Below either Λ: each memory by itself, and all waits on idle ones.
double least_waiting(std::span<const AccessPrice> loads) {
  double time = 0, waits = 0;
  for (const AccessPrice& load : loads) {
    time = std::max(time, both_at_once(load.wait, load.transfer));
    waits += load.wait;
  }
  return std::max(time, waits);
}

// What is missing of Λ in this time, and how fast that falls with it.
struct Missing {
  double time = 0, fall = 1;
};
Missing missing_usually(std::span<const AccessPrice> loads, double time) {
  Missing missing{-time};
  for (const AccessPrice& load : loads) {
    const double busy = load.transfer / time;
    if (!(busy < 1)) continue; // the start, by rounding
    const double delay = delay_of(busy);
    missing.time += load.wait * delay;
    missing.fall += load.wait / time * power3(busy) * delay * power3(delay);
  }
  return missing;
}
Missing missing_at_least(std::span<const AccessPrice> loads, double time) {
  Missing missing{-time};
  for (const AccessPrice& load : loads) {
    const Waiting one = waiting(load.wait, time - load.transfer);
    missing.time += one.time;
    missing.fall -= one.by_spare;
  }
  return missing;
}

// Newton's steps from below, which do not overshoot since what is missing is convex.
double waiting_time(std::span<const AccessPrice> loads, LoopTimes::Which which) {
  double time = least_waiting(loads);
  for (int step = 0; step < k_newton_steps && time > 0; ++step) {
    const Missing missing = which == LoopTimes::Which::convex ? missing_at_least(loads, time)
                                                              : missing_usually(loads, time);
    const double rise = missing.time / missing.fall;
    if (!(rise > k_exact * time)) break;
    time += rise;
  }
  return time;
}

// Λ's derivatives by one memory's load, but for a divisor that all have: one and the sum of what
// these return.
double set_usual_slope(const AccessPrice& load, double time, AccessPrice& slope) {
  const double busy = time > 0 ? load.transfer / time : 0;
  if (!(busy < 1)) return slope = {}, 0; // there is nothing else, and no wait
  const double delay = delay_of(busy), steep = delay * power3(delay) * busy * busy;
  slope.wait = delay;
  slope.transfer = time > 0 ? load.wait / time * steep : 0;
  return slope.transfer * busy;
}
double set_convex_slope(const AccessPrice& load, double time, AccessPrice& slope) {
  const Waiting one = waiting(load.wait, time - load.transfer);
  slope.wait = one.by_wait;
  slope.transfer = -one.by_spare;
  return -one.by_spare;
}

} // namespace

double work_beside(double memory, double all) {
  return memory < all ? all * std::cbrt(1 - power3(memory / all)) : 0;
}

double time_with(double work, double waiting) {
  return both_at_once(work, waiting);
}

LoopTimes::LoopTimes(std::span<const Figures> memories, Threads threads,
                     std::span<const double> work, Which which)
    : memories_(memories), threads_(threads), which_(which), loops_(work.size()) {
  for (std::size_t loop = 0; loop < loops_.size(); ++loop)
    loops_[loop].work = loops_[loop].whole = work[loop];
}

void LoopTimes::add(const LoopItem& given, std::size_t memory) {
  Item& item = items_.emplace_back();
  item.parts.assign(given.parts.begin(), given.parts.end());
  item.memory = memory;
  double in_loops = 0;
  for (const LoopPart& part : item.parts)
    in_loops += part.part;
  for (std::size_t at = 0; at < memories_.size(); ++at) {
    Price& price = item.prices[at];
    for (std::size_t i = 0; i < k_manners; ++i) {
      const auto manner = static_cast<Manner>(i);
      const AccessPrice one = price_of(given.demand, manner, memories_[at], threads_);
      price.wait += given.demand.accesses[i] * one.wait;
      price.transfer += given.demand.accesses[i] * one.transfer;
    }
    price.wait = std::max(price.wait, k_least_wait * price.transfer);
    price.alone = std::max(0.0, 1 - in_loops) * demand_time(given.demand, memories_[at], threads_);
    if (at < given.beside.size()) price.alone += given.beside[at];
  }
  alone_ += item.prices[memory].alone;
  for (const LoopPart& part : item.parts) {
    Sums& sums = loops_[part.loop];
    put(sums, item, part.part, memory);
    set_times(sums);
  }
}

void LoopTimes::put(Sums& sums, const Item& item, double part, std::size_t memory) const {
  AccessPrice& load = sums.loads[memory];
  load.wait = std::max(0.0, load.wait + part * item.prices[memory].wait);
  load.transfer = std::max(0.0, load.transfer + part * item.prices[memory].transfer);
  // Rounding must not leave a transfer without a wait: waiting() divides.
  load.wait = std::max(load.wait, k_least_wait * load.transfer);
}

double LoopTimes::time_of(const Sums& sums) const {
  return both_at_once(sums.work,
                      waiting_time(std::span(sums.loads).first(memories_.size()), which_));
}

void LoopTimes::set_times(Sums& sums) const {
  const auto loads = std::span(sums.loads).first(memories_.size());
  const auto slopes = std::span(sums.slopes).first(memories_.size());
  sums.waiting = waiting_time(loads, which_);
  sums.whole = both_at_once(sums.work, sums.waiting);
  double sum = 1;
  for (std::size_t at = 0; at < loads.size(); ++at)
    sum += which_ == Which::convex ? set_convex_slope(loads[at], sums.waiting, slopes[at])
                                   : set_usual_slope(loads[at], sums.waiting, slopes[at]);
  for (AccessPrice& slope : slopes) {
    slope.wait /= sum;
    slope.transfer /= sum;
  }
}

double LoopTimes::time() const {
  double sum = alone_;
  for (const Sums& loop : loops_)
    sum += loop.whole;
  return sum;
}

double LoopTimes::change(std::size_t number, std::size_t memory) const {
  const Item& item = items_[number];
  double change = item.prices[memory].alone - item.prices[item.memory].alone;
  for (const LoopPart& part : item.parts) {
    Sums sums = loops_[part.loop];
    put(sums, item, -part.part, item.memory);
    put(sums, item, part.part, memory);
    change += time_of(sums) - sums.whole;
  }
  return change;
}

double LoopTimes::shift(std::size_t number, std::size_t from, std::size_t to, double part) {
  if (from == to) return 0;
  const Item& item = items_[number];
  double change = part * (item.prices[to].alone - item.prices[from].alone);
  alone_ += change;
  for (const LoopPart& in : item.parts) {
    Sums& sums = loops_[in.loop];
    const double before = sums.whole;
    put(sums, item, -part * in.part, from);
    put(sums, item, part * in.part, to);
    set_times(sums);
    change += sums.whole - before;
  }
  return change;
}

double LoopTimes::move(std::size_t number, std::size_t memory) {
  const double change = shift(number, items_[number].memory, memory, 1);
  items_[number].memory = memory;
  return change;
}

double LoopTimes::slope(std::size_t number, std::size_t memory) const {
  const Item& item = items_[number];
  const Price& price = item.prices[memory];
  double slope = price.alone;
  for (const LoopPart& part : item.parts) {
    const Sums& sums = loops_[part.loop];
    const AccessPrice& by = sums.slopes[memory];
    const double part_of_whole = sums.whole > 0 ? sums.waiting / sums.whole : 1; // an edge at 0
    slope += part.part * part_of_whole * part_of_whole *
             (by.wait * price.wait + by.transfer * price.transfer);
  }
  return slope;
}

double LoopTimes::slope_of_work() const {
  double slope = 0;
  for (const Sums& loop : loops_)
    if (loop.whole > 0) slope += power3(loop.work / loop.whole) * loop.whole;
  return slope;
}

} // namespace omptier
