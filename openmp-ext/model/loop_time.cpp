// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_time.hpp.
#include "model/loop_time.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

double power7(double value) {
  const double square = value * value;
  return square * square * square * value;
}
double power8(double value) {
  return power7(value) * value;
}
double root8(double value) {
  return std::sqrt(std::sqrt(std::sqrt(value)));
}
double power3(double value) {
  return value * value * value;
}

} // namespace

double work_beside(double memory, double all) {
  return memory < all ? all * std::cbrt(1 - power3(memory / all)) : 0;
}

LoopTimes::LoopTimes(std::span<const Figures> memories, Threads threads,
                     std::span<const double> work)
    : memories_(memories), threads_(threads), loops_(work.size()) {
  for (std::size_t loop = 0; loop < loops_.size(); ++loop)
    loops_[loop].work = loops_[loop].times.whole = work[loop];
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
    price.alone = std::max(0.0, 1 - in_loops) * demand_time(given.demand, memories_[at], threads_);
    if (at < given.beside.size()) price.alone += given.beside[at];
  }
  alone_ += item.prices[memory].alone;
  for (const LoopPart& part : item.parts) {
    Sums& sums = loops_[part.loop];
    put(sums, item, part.part, memory);
    sums.times = times_of(sums);
  }
}

void LoopTimes::put(Sums& sums, const Item& item, double part, std::size_t memory) const {
  sums.wait = std::max(0.0, sums.wait + part * item.prices[memory].wait);
  sums.transfer[memory] =
      std::max(0.0, sums.transfer[memory] + part * item.prices[memory].transfer);
}

// Scaled by the longest: eighth powers of nanoseconds leave the range of a double.
LoopTimes::Times LoopTimes::times_of(const Sums& sums) const {
  Times times;
  const auto transfers = std::span(sums.transfer).first(memories_.size());
  if (const double longest = std::ranges::max(transfers); longest > 0) {
    double sum = 0;
    for (const double transfer : transfers)
      sum += power8(transfer / longest);
    times.transfer = longest * root8(sum);
  }
  if (const double longest = std::max({sums.work, sums.wait, times.transfer}); longest > 0)
    times.whole = longest * std::cbrt(power3(sums.work / longest) + power3(sums.wait / longest) +
                                      power3(times.transfer / longest));
  return times;
}

double LoopTimes::time() const {
  double sum = alone_;
  for (const Sums& loop : loops_)
    sum += loop.times.whole;
  return sum;
}

double LoopTimes::change(std::size_t number, std::size_t memory) const {
  const Item& item = items_[number];
  double change = item.prices[memory].alone - item.prices[item.memory].alone;
  for (const LoopPart& part : item.parts) {
    Sums sums = loops_[part.loop];
    put(sums, item, -part.part, item.memory);
    put(sums, item, part.part, memory);
    change += times_of(sums).whole - sums.times.whole;
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
    sums.times = times_of(sums);
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
    const Times& times = sums.times;
    if (times.whole <= 0) {
      slope += part.part * price.wait; // one of many: time has an edge here
      continue;
    }
    const auto square = [&](double time) { return time / times.whole * (time / times.whole); };
    slope += part.part * square(sums.wait) * price.wait;
    if (times.transfer > 0)
      slope += part.part * square(times.transfer) * power7(sums.transfer[memory] / times.transfer) *
               price.transfer;
  }
  return slope;
}

double LoopTimes::slope_of_work() const {
  double slope = 0;
  for (const Sums& loop : loops_)
    if (loop.times.whole > 0) slope += power3(loop.work / loop.times.whole) * loop.times.whole;
  return slope;
}

} // namespace omptier
