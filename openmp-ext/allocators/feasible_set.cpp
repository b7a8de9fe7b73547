// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy, branch and bound, exchanges: see feasible_set.hpp.
#include "allocators/feasible_set.hpp"

#include <algorithm>
#include <limits>

namespace omptier {
namespace {

constexpr double k_least_improvement = 1e-9;

double gain_of(const Candidate& candidate, std::uint8_t tier) {
  return tier == k_nowhere ? -candidate.loss : candidate.gain[tier];
}

// Tiers a candidate may lie in, best first, then nowhere. Returns how many. Equal gains: the later
// tier first, which is the slower one, so that fast memory stays free.
unsigned options_of(const Candidate& candidate, std::array<std::uint8_t, k_most_choices + 1>& out) {
  unsigned count = 0;
  for (unsigned tier = k_most_choices; tier-- > 0;)
    if (candidate.allowed >> tier & 1) out[count++] = static_cast<std::uint8_t>(tier);
  // Not stable_sort, which takes memory from malloc.
  std::sort(out.begin(), out.begin() + count, [&](std::uint8_t a, std::uint8_t b) {
    const double first = candidate.gain[a], second = candidate.gain[b];
    return first != second ? first > second : a > b;
  });
  out[count++] = k_nowhere;
  return count;
}

// What a byte of the candidate is worth at best, over its being nowhere or in its worst tier.
double best_gain(const Candidate& candidate) {
  const std::uint8_t tier = best_tier(candidate);
  return tier == k_nowhere ? 0 : candidate.gain[tier];
}
double density_of(const Candidate& candidate) {
  return best_gain(candidate) / static_cast<double>(std::max<std::uint64_t>(candidate.bytes, 1));
}

struct Rooms {
  std::array<std::uint64_t, k_most_choices> left{};
  explicit Rooms(std::span<const std::uint64_t> room) {
    std::copy_n(room.begin(), std::min(room.size(), left.size()), left.begin());
  }
  bool take(const Candidate& candidate, std::uint8_t tier) {
    if (tier == k_nowhere) return true;
    if (left[tier] < candidate.bytes) return false;
    left[tier] -= candidate.bytes;
    return true;
  }
  void put_back(const Candidate& candidate, std::uint8_t tier) {
    if (tier != k_nowhere) left[tier] += candidate.bytes;
  }
};

double take_in_order(std::span<const Candidate> candidates, std::span<const std::uint32_t> order,
                     Rooms& rooms, std::span<std::uint8_t> chosen) {
  double total = 0;
  std::array<std::uint8_t, k_most_choices + 1> options;
  for (const std::uint32_t i : order) {
    const unsigned count = options_of(candidates[i], options);
    for (unsigned o = 0; o < count; ++o)
      if (rooms.take(candidates[i], options[o])) {
        chosen[i] = options[o];
        total += gain_of(candidates[i], options[o]);
        break;
      }
  }
  return total;
}

// Depth-first search over a few candidates, with the best assignment found so far.
class Search {
public:
  Search(std::span<const Candidate> candidates, std::span<const std::uint32_t> order,
         std::span<const std::uint64_t> room, std::span<std::uint8_t> best, double best_total)
      : candidates_(candidates), order_(order), rooms_(room), best_(best), best_total_(best_total) {
  }

  double run() {
    descend(0, 0);
    return best_total_;
  }

private:
  // No assignment of the candidates from depth on gains more than this: the free room of all tiers
  // as one, filled by density with parts of candidates, each at its best gain; what no room is left
  // for gains what it does in its worst case, at most 0.
  double bound(std::size_t depth) const {
    double room = 0, sum = 0;
    for (const std::uint64_t left : rooms_.left)
      room += static_cast<double>(left);
    for (std::size_t d = depth; d < order_.size(); ++d) {
      const Candidate& candidate = candidates_[order_[d]];
      const double bytes = static_cast<double>(std::max<std::uint64_t>(candidate.bytes, 1));
      const double part = std::min(1.0, room / bytes);
      if (part <= 0) break;
      sum += std::max(0.0, best_gain(candidate)) * part;
      room -= part * bytes;
    }
    return sum;
  }

  void descend(std::size_t depth, double total) {
    if (depth == order_.size()) {
      if (total > best_total_ + k_least_improvement) {
        best_total_ = total;
        std::copy_n(current_.begin(), candidates_.size(), best_.begin());
      }
      return;
    }
    if (++nodes_ > k_most_nodes || total + bound(depth) <= best_total_ + k_least_improvement)
      return;
    const std::uint32_t i = order_[depth];
    std::array<std::uint8_t, k_most_choices + 1> options;
    const unsigned count = options_of(candidates_[i], options);
    for (unsigned o = 0; o < count; ++o) {
      if (!rooms_.take(candidates_[i], options[o])) continue;
      current_[i] = options[o];
      descend(depth + 1, total + gain_of(candidates_[i], options[o]));
      rooms_.put_back(candidates_[i], options[o]);
    }
  }

  std::span<const Candidate> candidates_;
  std::span<const std::uint32_t> order_;
  Rooms rooms_;
  std::span<std::uint8_t> best_;
  double best_total_;
  unsigned nodes_ = 0;
  std::array<std::uint8_t, k_exact_candidates> current_{};
};

// One pass: each candidate that is not where it gains most, in exchange for one that is there and
// moves to where the first was (or to any tier with room).
bool exchange_once(std::span<const Candidate> candidates, std::span<const std::uint32_t> order,
                   Rooms& rooms, std::span<std::uint8_t> chosen, double& total) {
  bool improved = false;
  std::array<std::uint8_t, k_most_choices + 1> options;
  for (const std::uint32_t i : order) {
    const Candidate& in = candidates[i];
    const std::uint8_t wish = best_tier(in), from = chosen[i];
    if (wish == k_nowhere || wish == from || in.gain[wish] <= gain_of(in, from)) continue;
    for (std::size_t j = candidates.size(); j-- > 0;) {
      const Candidate& out = candidates[order[j]];
      std::uint8_t& place = chosen[order[j]];
      if (place != wish || order[j] == i || rooms.left[wish] + out.bytes < in.bytes) continue;
      rooms.put_back(in, from);
      rooms.put_back(out, wish);
      rooms.take(in, wish);
      const unsigned count = options_of(out, options);
      unsigned o = 0;
      while (o < count && (options[o] == wish || !rooms.take(out, options[o])))
        ++o; // nowhere always takes it
      const double gained =
          in.gain[wish] - gain_of(in, from) + gain_of(out, options[o]) - gain_of(out, wish);
      if (gained > k_least_improvement) {
        place = options[o];
        chosen[i] = wish;
        total += gained;
        improved = true;
        break;
      }
      rooms.put_back(out, options[o]);
      rooms.put_back(in, wish);
      rooms.take(out, wish);
      rooms.take(in, from);
    }
  }
  return improved;
}

} // namespace

std::uint8_t best_tier(const Candidate& candidate) {
  std::uint8_t best = k_nowhere;
  for (unsigned tier = 0; tier < k_most_choices; ++tier)
    if ((candidate.allowed >> tier & 1) &&
        (best == k_nowhere || candidate.gain[tier] >= candidate.gain[best]))
      best = static_cast<std::uint8_t>(tier);
  return best;
}

double choose_set(std::span<const Candidate> candidates, std::span<const std::uint64_t> room,
                  DecisionOrder order, std::span<std::uint8_t> chosen,
                  std::span<std::uint32_t> scratch) {
  const std::span<std::uint32_t> by = scratch.first(candidates.size());
  for (std::size_t i = 0; i < by.size(); ++i)
    by[i] = static_cast<std::uint32_t>(i);
  // The number decides between equals, so that the result is the same every time.
  const auto sort = [&](auto&& value) {
    std::sort(by.begin(), by.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (candidates[a].mandatory != candidates[b].mandatory) return candidates[a].mandatory;
      const double first = value(candidates[a]), second = value(candidates[b]);
      return first != second ? first > second : a < b;
    });
  };
  if (order == DecisionOrder::importance) sort([](const Candidate& c) { return c.weight; });
  if (order == DecisionOrder::density) sort(density_of);

  Rooms rooms(room);
  double total = take_in_order(candidates, by, rooms, chosen);
  if (order != DecisionOrder::density) return total;
  if (candidates.size() <= k_exact_candidates) {
    std::sort(by.begin(), by.end(), [&](std::uint32_t a, std::uint32_t b) {
      return density_of(candidates[a]) > density_of(candidates[b]);
    }); // the bound wants it by density alone
    return Search(candidates, by, room, chosen, total).run();
  }
  constexpr int k_most_passes = 8;
  for (int pass = 0; pass < k_most_passes && exchange_once(candidates, by, rooms, chosen, total);
       ++pass) {
  }
  return total;
}

bool is_feasible(std::span<const Candidate> candidates, std::span<const std::uint64_t> room,
                 std::span<const std::uint8_t> chosen, double& gain) {
  Rooms rooms(room);
  gain = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i] != k_nowhere && !(candidates[i].allowed >> chosen[i] & 1)) return false;
    if (!rooms.take(candidates[i], chosen[i])) return false;
    gain += gain_of(candidates[i], chosen[i]);
  }
  return true;
}

} // namespace omptier
