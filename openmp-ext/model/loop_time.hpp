// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of loops that access several arrays at once, each array in its own memory:
//
//   loop        (work^3 + waiting^3)^(1/3)
//   work        computing and waits for caches: the same wherever the arrays lie
//   waiting     Λ = λ_1 + … + λ_n, of which cores wait for memory k for λ_k:
//               λ_k = wait_k / (1 - busy_k^3)^(1/3), busy_k = transfer_k / Λ
//   wait_k      sum of the accesses' waits on memory k while it is idle, of each array at least a
//               quarter of its transfer
//   transfer_k  sum of the lines' shares of memory k's bandwidth
//
// Lines move in all memories at the same time, and while cores wait or compute: the longest of
// these counts (the roofline of Williams et al., CACM 2009, with a roof for each memory). But lines
// delay the waits for their own memory: one that is 0.6, 0.8, 0.9 busy answers 1.08, 1.27, 1.55
// times as late, as measured on Xeons (1.1, 1.35, 1.7; machine/curves.hpp). With one memory,
// waiting = (wait^3 + transfer^3)^(1/3). Streams thus slow gathers in the same memory and not those
// in another. What belongs to no known loop counts alone, as in cost.hpp.
//
// For bounds there is a time that is never longer: the least Λ in which each memory's lines can
// move, as if they waited for the times in which cores wait for other memories:
//
//   transfer_k <= (λ_k^3 - wait_k^3)^(1/3) + Λ - λ_k
//
// (With the λ_k above this holds: it becomes Λ (1 - busy_k) >= λ_k (1 - busy_k).) It is convex in
// the parts of the arrays in each memory. Either time is of first degree in these and the work: it
// is the sum of its gradient times them (slope, slope_of_work).
#pragma once

#include "model/cost.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

inline constexpr std::size_t k_most_memories = 16;

struct LoopPart {
  std::uint32_t loop = 0;
  double part = 0; // of the array's accesses
};

// An array, or a part of one. Parts add up to at most 1; the rest is in no known loop.
struct LoopItem {
  Demand demand;
  std::span<const LoopPart> parts;
  std::span<const double> beside = {}; // nanoseconds by memory, besides the demand: in no loop
};

// With which a loop takes `all` whose accesses alone take `memory`, in nanoseconds; 0 if they take
// longer.
double work_beside(double memory, double all);
double time_with(double work, double waiting); // the loop's

class LoopTimes {
public:
  enum class Which : std::uint8_t { usual, convex };
  // work: of each loop, in nanoseconds of thread time.
  LoopTimes(std::span<const Figures> memories, Threads threads, std::span<const double> work,
            Which which = Which::usual);

  // Items are numbered from 0 in the order of add(), and lie in `memory` until move().
  void add(const LoopItem& item, std::size_t memory);
  double move(std::size_t item, std::size_t memory); // returns the change of time()
  // Brings a part of the item from one memory to another; change() and move() do not know. For
  // bounds. Returns the change of time().
  double shift(std::size_t item, std::size_t from, std::size_t to, double part);

  double time() const;                                       // nanoseconds of thread time
  double change(std::size_t item, std::size_t memory) const; // what move() would return
  // Derivative of time() by the part of the item that lies in the memory.
  double slope(std::size_t item, std::size_t memory) const;
  double slope_of_work() const; // times the work: what time() has beyond all slopes times parts

private:
  struct Price : AccessPrice {
    double alone = 0; // of what is in no loop
  };
  struct Item {
    std::vector<LoopPart> parts;
    std::array<Price, k_most_memories> prices{};
    std::size_t memory = 0;
  };
  struct Sums {
    double work = 0;
    std::array<AccessPrice, k_most_memories> loads{};
    double waiting = 0, whole = 0;
    std::array<AccessPrice, k_most_memories> slopes{}; // of waiting, by each load
  };
  void put(Sums& sums, const Item& item, double part, std::size_t memory) const;
  double time_of(const Sums& sums) const;
  void set_times(Sums& sums) const;

  std::span<const Figures> memories_;
  Threads threads_;
  Which which_;
  std::vector<Sums> loops_;
  std::vector<Item> items_;
  double alone_ = 0;
};

} // namespace omptier
