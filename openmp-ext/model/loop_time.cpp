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
static_assert(k_sharpness == 8);

} // namespace

LoopTimes::LoopTimes(std::span<const Figures> memories, Threads threads, std::size_t loops)
    : memories_(memories), threads_(threads), loops_(loops) {}

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
      AccessPrice one = access_price(manner, memories_[at], threads_.of(manner));
      if (manner == Manner::scattered_load) one.wait /= given.demand.at_once_on(threads_.gathers);
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
    sums.time = time_of(sums);
  }
}

void LoopTimes::put(Sums& sums, const Item& item, double part, std::size_t memory) const {
  sums.wait = std::max(0.0, sums.wait + part * item.prices[memory].wait);
  sums.transfer[memory] =
      std::max(0.0, sums.transfer[memory] + part * item.prices[memory].transfer);
}

// Scaled by the longest: eighth powers of nanoseconds leave the range of a double.
double LoopTimes::time_of(const Sums& sums) const {
  double longest = sums.wait;
  for (std::size_t at = 0; at < memories_.size(); ++at)
    longest = std::max(longest, sums.transfer[at]);
  if (longest <= 0) return 0;
  double sum = power8(sums.wait / longest);
  for (std::size_t at = 0; at < memories_.size(); ++at)
    sum += power8(sums.transfer[at] / longest);
  return longest * std::sqrt(std::sqrt(std::sqrt(sum)));
}

double LoopTimes::time() const {
  double sum = alone_;
  for (const Sums& loop : loops_)
    sum += loop.time;
  return sum;
}

double LoopTimes::change(std::size_t number, std::size_t memory) const {
  const Item& item = items_[number];
  double change = item.prices[memory].alone - item.prices[item.memory].alone;
  for (const LoopPart& part : item.parts) {
    Sums sums = loops_[part.loop];
    put(sums, item, -part.part, item.memory);
    put(sums, item, part.part, memory);
    change += time_of(sums) - sums.time;
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
    sums.time = time_of(sums);
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
    if (sums.time <= 0) {
      slope += part.part * std::max(price.wait, price.transfer);
      continue;
    }
    const auto weight = [&](double value) { return power7(value / sums.time); };
    slope += part.part *
             (weight(sums.wait) * price.wait + weight(sums.transfer[memory]) * price.transfer);
  }
  return slope;
}

} // namespace omptier
