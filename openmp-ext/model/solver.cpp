// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See solver.hpp.
#include "model/solver.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr int k_exchange_rounds = 8;
constexpr std::size_t k_most_looks = 5'000'000; // at candidates that might leave; a move counts
constexpr std::size_t k_looks_of_a_move = 50;
constexpr double k_least_gain = 1e-9;            // relative to what is at stake: less is rounding
constexpr std::size_t k_most_steps = 20'000'000; // of the search through pieces of time

double gain_of(const Candidate& candidate, std::uint8_t tier) {
  return tier == k_nowhere ? -candidate.loss : candidate.gain[tier];
}
bool may_lie_in(const Candidate& candidate, unsigned tier) {
  return (candidate.allowed >> tier & 1) != 0;
}
double best_gain(const Candidate& candidate) {
  const std::uint8_t tier = best_tier(candidate);
  return tier == k_nowhere ? 0 : candidate.gain[tier];
}
// The others have their best choice already or come later: they take no room.
bool competes(const Candidate& candidate) {
  return candidate.bytes != 0 && candidate.allowed != 0 && !candidate.late;
}
double density_of(const Candidate& candidate) {
  return best_gain(candidate) / static_cast<double>(std::max<std::uint64_t>(candidate.bytes, 1));
}

// Allowed tiers, best first, then nowhere; returns how many. Of equal gains the later (slower) tier
// comes first, so that fast memory stays free.
using Options = std::array<std::uint8_t, k_most_choices + 1>;
unsigned options_of(const Candidate& candidate, Options& out) {
  unsigned count = 0;
  for (unsigned tier = k_most_choices; tier-- > 0;)
    if (may_lie_in(candidate, tier)) out[count++] = static_cast<std::uint8_t>(tier);
  // Not stable_sort, which calls malloc.
  std::sort(out.begin(), out.begin() + count, [&](std::uint8_t a, std::uint8_t b) {
    const double first = candidate.gain[a], second = candidate.gain[b];
    return first != second ? first > second : a > b;
  });
  out[count++] = k_nowhere;
  return count;
}

// Ties are decided by index, so that every run has the same result.
struct Rank {
  double worth;
  std::uint32_t candidate;
  bool first; // before all others, whatever they are worth
};
bool comes_before(const Rank& a, const Rank& b) {
  if (a.first != b.first) return a.first;
  return a.worth != b.worth ? a.worth > b.worth : a.candidate < b.candidate;
}

class Assignment {
public:
  Assignment(std::span<const Candidate> candidates, std::span<std::uint8_t> chosen)
      : candidates_(candidates), chosen_(chosen) {}

  bool make(const Problem& problem) {
    tiers_ = problem.capacity.size();
    if (!room_.make(problem.capacity, problem.pieces) || !order_.resize(chosen_.size(), {}) ||
        !gone_.resize(chosen_.size(), 0))
      return false;
    for (std::uint32_t i = 0; i < order_.size(); ++i)
      order_[i].candidate = i;
    return true;
  }

  // Highest worth first; mandatory ones before or after all others.
  template <typename Worth> void sort_by(bool mandatory_first, Worth worth_of) {
    for (Rank& rank : order_) {
      const Candidate& candidate = candidates_[rank.candidate];
      rank.worth = worth_of(candidate);
      rank.first = candidate.mandatory == mandatory_first;
    }
    std::ranges::sort(order_.all(), comes_before);
  }

  // In order, each of the late (or of the other) candidates into its best tier with room.
  void fill(bool late) {
    for (const Rank& rank : order_)
      if (candidates_[rank.candidate].late == late) put_in_best(rank.candidate);
  }

  // Moves a candidate into a better tier if those that must leave lose less. Mandatory ones leave
  // last: without room elsewhere, nothing outweighs their loss.
  void exchange() {
    sort_by(false, [](const Candidate& candidate) { return -density_of(candidate); });
    looks_left_ = k_most_looks;
    bool changed = true;
    for (int round = 0; changed && round < k_exchange_rounds; ++round) {
      changed = false;
      for (std::uint32_t i = 0; i < chosen_.size() && looks_left_ > 0; ++i)
        for (std::uint8_t tier = 0; tier < tiers_ && !candidates_[i].late; ++tier)
          changed = try_to_enter(i, tier) || changed;
    }
  }

  // Frees all room while search(room) chooses anew, so that the search needs no memory of its own.
  template <typename Search> void lend_room(Search search) {
    for (std::uint32_t i = 0; i < chosen_.size(); ++i)
      if (chosen_[i] != k_nowhere) room_.give_back(candidates_[i], chosen_[i]);
    search(room_);
    for (std::uint32_t i = 0; i < chosen_.size(); ++i)
      if (chosen_[i] != k_nowhere) room_.take(candidates_[i], chosen_[i]);
  }

private:
  void put(std::uint32_t i, std::uint8_t tier) {
    if (chosen_[i] != k_nowhere) room_.give_back(candidates_[i], chosen_[i]);
    chosen_[i] = tier;
    if (tier != k_nowhere) room_.take(candidates_[i], tier);
  }
  void put_in_best(std::uint32_t i) {
    Options options;
    const unsigned count = options_of(candidates_[i], options);
    unsigned o = 0;
    while (o + 1 < count && !room_.fits(candidates_[i], options[o]))
      ++o; // the last is nowhere, where all fit
    put(i, options[o]);
  }

  bool try_to_enter(std::uint32_t i, std::uint8_t tier) {
    const Candidate& in = candidates_[i];
    const std::uint8_t from = chosen_[i];
    if (!may_lie_in(in, tier) || in.gain[tier] <= gain_of(in, from)) return false;
    put(i, k_nowhere);
    std::size_t count = 0; // in gone_: those that left, the cheapest first
    bool fits = room_.fits(in, tier);
    for (std::size_t at = 0; !fits && at < order_.size(); ++at) {
      look(1);
      const std::uint32_t other = order_[at].candidate;
      if (chosen_[other] != tier || !are_together(in, candidates_[other])) continue;
      look(k_looks_of_a_move);
      put(gone_[count++] = other, k_nowhere);
      fits = room_.fits(in, tier);
    }
    double gain = in.gain[tier] - gain_of(in, from);
    if (fits) {
      put(i, tier);
      for (std::size_t at = count; at-- > 0;) {
        const Candidate& out = candidates_[gone_[at]];
        put_in_best(gone_[at]);
        gain += gain_of(out, chosen_[gone_[at]]) - out.gain[tier];
      }
      if (gain > k_least_gain * best_gain(in)) return true;
    }
    put(i, k_nowhere);
    for (std::size_t at = 0; at < count; ++at)
      put(gone_[at], k_nowhere);
    for (std::size_t at = 0; at < count; ++at)
      put(gone_[at], tier);
    put(i, from);
    return false;
  }

  void look(std::size_t times) { looks_left_ -= std::min(looks_left_, times); }

  std::span<const Candidate> candidates_;
  std::span<std::uint8_t> chosen_;
  std::size_t tiers_ = 0, looks_left_ = 0;
  Room room_;
  PageArray<Rank> order_;
  PageArray<std::uint32_t> gone_;
};

// Depth first, from the best assignment so far.
class Search {
public:
  Search(const Problem& problem, Room& room, std::span<std::uint8_t> best)
      : problem_(problem), room_(room), best_(best) {}

  void run() {
    most_nodes_ = std::min<std::size_t>(k_most_nodes, k_most_steps / problem_.pieces);
    for (std::uint32_t i = 0; i < problem_.candidates.size(); ++i)
      if (competes(problem_.candidates[i])) items_[count_++] = item_of(i);
    std::ranges::sort(std::span(items_).first(count_), comes_before, &Item::rank);
    const auto pieces = static_cast<double>(problem_.pieces);
    for (std::size_t tier = 0; tier < problem_.capacity.size(); ++tier)
      if (wanted_[tier]) left_ += static_cast<double>(problem_.capacity[tier]) * pieces;
    descend(0, 0);
  }

private:
  struct Item {
    Rank rank{}; // what is mandatory, then by density
    unsigned options = 0;
    Options tiers{};
    double worth = 0;  // gain at best, at least 0
    double volume = 0; // bytes over all pieces of time
  };

  Item item_of(std::uint32_t i) {
    const Candidate& candidate = problem_.candidates[i];
    Item item;
    item.options = options_of(candidate, item.tiers);
    item.worth = std::max(0.0, best_gain(candidate));
    if (candidate.stays.empty())
      item.volume = static_cast<double>(candidate.bytes) * static_cast<double>(problem_.pieces);
    for (const Stay& stay : candidate.stays)
      item.volume += static_cast<double>(stay.bytes) * (stay.end - stay.begin);
    item.rank = {item.worth / std::max(item.volume, 1e-9), i, candidate.mandatory};
    best_total_ += gain_of(candidate, best_[i]);
    least_ += k_least_gain * item.worth;
    for (unsigned tier = 0; tier < wanted_.size(); ++tier)
      wanted_[tier] |= may_lie_in(candidate, tier) && candidate.gain[tier] > 0;
    return item;
  }

  // Upper bound of the gain of the items from depth on: the free room of all wanted tiers and times
  // is taken as one and filled by density with parts of items at their best gain. Mandatory ones,
  // which come first, gain their best without room.
  double bound(std::size_t depth) const {
    double room = std::max(0.0, left_), sum = 0;
    for (std::size_t d = depth; d < count_; ++d) {
      const Item& item = items_[d];
      if (item.rank.first) {
        sum += item.worth;
        continue;
      }
      if (item.volume > room) return sum + item.worth * room / item.volume;
      sum += item.worth;
      room -= item.volume;
    }
    return sum;
  }

  void descend(std::size_t depth, double total) {
    if (depth == count_) {
      if (total <= best_total_ + least_) return;
      best_total_ = total;
      for (std::size_t d = 0; d < count_; ++d)
        best_[items_[d].rank.candidate] = current_[d];
      return;
    }
    if (++nodes_ > most_nodes_ || total + bound(depth) <= best_total_ + least_) return;
    const Item& item = items_[depth];
    const Candidate& candidate = problem_.candidates[item.rank.candidate];
    for (unsigned o = 0; o + 1 < item.options; ++o) {
      const std::uint8_t tier = item.tiers[o];
      if (!room_.fits(candidate, tier)) continue;
      const double volume = wanted_[tier] ? item.volume : 0;
      current_[depth] = tier;
      room_.take(candidate, tier);
      left_ -= volume;
      descend(depth + 1, total + candidate.gain[tier]);
      left_ += volume;
      room_.give_back(candidate, tier);
    }
    current_[depth] = k_nowhere;
    descend(depth + 1, total - candidate.loss);
  }

  const Problem& problem_;
  Room& room_; // all of it, also after the search
  std::span<std::uint8_t> best_;
  std::size_t count_ = 0;
  std::array<Item, k_exact_candidates> items_{}; // by rank
  std::array<std::uint8_t, k_exact_candidates> current_{}; // tier of each item
  std::array<bool, k_most_choices> wanted_{}; // tiers in which an item gains
  double left_ = 0;                           // volume of the wanted tiers that is free
  double best_total_ = 0, least_ = 0;         // so far; the least that counts as better
  std::size_t nodes_ = 0, most_nodes_ = 0;
};

} // namespace

std::uint8_t best_tier(const Candidate& candidate) {
  std::uint8_t best = k_nowhere;
  for (std::uint8_t tier = 0; tier < k_most_choices; ++tier)
    if (may_lie_in(candidate, tier) &&
        (best == k_nowhere || candidate.gain[tier] >= candidate.gain[best]))
      best = tier;
  return best;
}

bool choose_set(const Problem& problem, DecisionOrder order, std::span<std::uint8_t> chosen) {
  std::ranges::fill(chosen, k_nowhere);
  Assignment assignment(problem.candidates, chosen);
  if (!assignment.make(problem)) return false;
  if (order == DecisionOrder::importance)
    assignment.sort_by(true, [](const Candidate& candidate) { return candidate.weight; });
  if (order == DecisionOrder::density) assignment.sort_by(true, density_of);
  assignment.fill(false);
  if (order == DecisionOrder::density) {
    assignment.exchange();
    const auto competing = std::ranges::count_if(problem.candidates, competes);
    if (static_cast<std::size_t>(competing) <= k_exact_candidates)
      assignment.lend_room([&](Room& room) { Search(problem, room, chosen).run(); });
    assignment.sort_by(true, density_of);
  }
  assignment.fill(true);
  return true;
}

} // namespace omptier
