// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_time.hpp.
#include "model/loop_time.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

// Of each access's transfer, it waits for at least this part: streams into two memories disturb
// each other a little (2 % if they take equally long), and the time has no edges.
constexpr double k_least_wait = 0.25;
constexpr int k_newton_steps = 30; // of Newton's, of which few are needed
constexpr double k_exact = 1e-13;

double power3(double value) {
  return value * value * value;
}

// The time of waiting for a memory, and its derivatives, if the others' time is `spare` longer than
// the memory's transfer less that time: the root of λ - (λ^3 - wait^3)^(1/3) = spare.
struct Waiting {
  double time = 0, by_wait = 1, by_spare = 0;
};
Waiting waiting(double wait, double spare) {
  if (spare >= wait) return {wait};
  const double root = std::sqrt(12 * spare * power3(wait) - 3 * power3(spare) * spare);
  return {spare / 2 + root / (6 * spare), 3 * wait * wait / root,
          0.5 + (power3(wait) - power3(spare)) / (spare * root) - root / (6 * spare * spare)};
}

double with_work(double work, double memories) {
  const double longest = std::max(work, memories);
  return longest > 0 ? longest * std::cbrt(power3(work / longest) + power3(memories / longest)) : 0;
}

// Newton's steps from below towards the time at which the memories' times of waiting add up to it.
template <typename Loads> double memories_time(const Loads& loads) {
  double time = 0, waits = 0;
  for (const auto& load : loads) {
    time = std::max(time, with_work(load.wait, load.transfer));
    waits += load.wait;
  }
  time = std::max(time, waits);
  for (int step = 0; step < k_newton_steps && time > 0; ++step) {
    double sum = 0, slope = 1;
    for (const auto& load : loads) {
      const Waiting one = waiting(load.wait, time - load.transfer);
      sum += one.time;
      slope -= one.by_spare;
    }
    const double rise = (sum - time) / slope;
    if (rise <= k_exact * time) break;
    time += rise;
  }
  return time;
}

} // namespace

double work_beside(double memory, double all) {
  return memory < all ? all * std::cbrt(1 - power3(memory / all)) : 0;
}

LoopTimes::LoopTimes(std::span<const Figures> memories, Threads threads,
                     std::span<const double> work)
    : memories_(memories), threads_(threads), loops_(work.size()) {
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
  Load& load = sums.loads[memory];
  load.wait = std::max(0.0, load.wait + part * item.prices[memory].wait);
  load.transfer = std::max(0.0, load.transfer + part * item.prices[memory].transfer);
  load.wait = std::max(load.wait, k_least_wait * load.transfer); // whatever rounding left
}

double LoopTimes::time_of(const Sums& sums) const {
  return with_work(sums.work, memories_time(std::span(sums.loads).first(memories_.size())));
}

void LoopTimes::set_times(Sums& sums) const {
  const std::size_t memories = memories_.size();
  sums.memories = memories_time(std::span(sums.loads).first(memories));
  sums.whole = with_work(sums.work, sums.memories);
  double sum = 1;
  for (std::size_t at = 0; at < memories; ++at) {
    const Load& load = sums.loads[at];
    const Waiting one = waiting(load.wait, sums.memories - load.transfer);
    sums.slopes[at] = {one.by_wait, -one.by_spare};
    sum -= one.by_spare;
  }
  for (Load& slope : std::span(sums.slopes).first(memories)) {
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

void LoopTimes::shift(std::size_t number, std::size_t from, std::size_t to, double part) {
  const Item& item = items_[number];
  alone_ += part * (item.prices[to].alone - item.prices[from].alone);
  for (const LoopPart& in : item.parts) {
    Sums& sums = loops_[in.loop];
    put(sums, item, -part * in.part, from);
    put(sums, item, part * in.part, to);
    set_times(sums);
  }
}

void LoopTimes::move(std::size_t number, std::size_t memory) {
  shift(number, items_[number].memory, memory, 1);
  items_[number].memory = memory;
}

double LoopTimes::slope(std::size_t number, std::size_t memory) const {
  const Item& item = items_[number];
  const Price& price = item.prices[memory];
  double slope = price.alone;
  for (const LoopPart& part : item.parts) {
    const Sums& sums = loops_[part.loop];
    const Load& by = sums.slopes[memory];
    const double part_of_whole = sums.whole > 0 ? sums.memories / sums.whole : 1;
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
