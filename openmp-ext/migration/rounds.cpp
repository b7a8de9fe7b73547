// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See rounds.hpp.
#include "migration/rounds.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr unsigned k_compared = 4;      // rounds before a look: earlier ones may be of other work
constexpr unsigned k_most_between = 1 << 20; // rounds
constexpr unsigned k_many_rounds = 4;        // of a sequence that is no part of a longer one
constexpr unsigned k_most_votes = 8;         // rounds

} // namespace

Rounds::Way Rounds::begin(std::uint32_t region, std::uint64_t now, const void* place,
                          bool at_barrier) {
  if (!verdict_.pays) return Way::home; // and is not tried again
  if (begun_ > 0) last_[(begun_ - 1) % last_.size()].runs = runs_;
  runs_ = 1;
  if (period_ != 0 && ago(period_).region != region) lose_period();
  if (period_ != 0 && step_ == 0) {
    if (in_round_) end_round(now);
    begin_round(now);
  }
  last_[begun_++ % last_.size()] = {region, 0, place, at_barrier};
  if (period_ != 0)
    step_ = (step_ + 1) % period_;
  else
    find_period();
  return verdict_.pays ? now_ : Way::home;
}

// Behind the begin of a region this is the usual course of a round.
void Rounds::region_ended() {
  if (begun_ > 0 && ago(1).at_barrier) ++ends_;
}

// ago(period_) is the next region's visit in the round before, ago(period_ + 1) the present one's.
Rounds::Next Rounds::next() const {
  if (period_ == 0 || begun_ <= 2 * period_) return {};
  if (runs_ != ago(period_ + 1).runs || runs_ != ago(2 * period_ + 1).runs) return {};
  const Visit& next = ago(period_);
  return {true, next.region, next.place, next.at_barrier};
}

// The shortest sequence that has just run twice.
void Rounds::find_period() {
  for (std::size_t period = least_period_; period <= std::min(begun_ / 2, k_most_regions);
       ++period) {
    std::size_t same = 1;
    while (same <= period && ago(same).region == ago(same + period).region)
      ++same;
    if (same <= period) continue;
    period_ = period;
    step_ = 0;
    resumed_ = is_that_of(interrupted_);
    if (resumed_) {
      until_look_ = std::max(until_look_, 1u);
    } else {
      forget_rounds();
      until_look_ = between_;
    }
    return;
  }
}

// Whether the present sequence is this one, begun anywhere.
bool Rounds::is_that_of(const Sequence& sequence) const {
  if (sequence.length != period_) return false;
  for (std::size_t shift = 0; shift < period_; ++shift) {
    std::size_t same = 0;
    while (same < period_ &&
           ago(period_ - same).region == sequence.regions[(same + shift) % period_])
      ++same;
    if (same == period_) return true;
  }
  return false;
}

// It was part of a longer one; or, after many rounds, something else comes in between, and it may
// come again.
void Rounds::lose_period() {
  const bool is_whole = rounds_ > k_many_rounds;
  least_period_ = is_whole ? 1 : period_ + 1;
  interrupted_.length = is_whole ? period_ : 0;
  for (std::size_t i = 0; i < interrupted_.length; ++i)
    interrupted_.regions[i] = ago(period_ - i).region;
  period_ = step_ = of_look_ = 0;
  in_round_ = false;
  if (!is_whole) forget_rounds();
  now_ = usual_ == Way::home ? Way::at_begins : usual_;
}

void Rounds::forget_rounds() {
  rounds_ = 0;
  usually_ = tried_times_ = {};
  votes_ = 0;
  if (usual_ == Way::home) { // but what could be better has not been tried yet
    usual_ = Way::at_begins;
    compare_anew();
  }
}

void Rounds::begin_round(std::uint64_t now) {
  if (until_look_ == 0 && usually_.count == 0) until_look_ = between_; // nothing to compare with
  if (until_look_ > 0) {
    now_ = usual_;
    of_look_ = 0;
    --until_look_;
  } else {
    now_ = tried_;
    ++of_look_;
  }
  ++rounds_;
  in_round_ = true;
  ends_ = 0;
  moved_ = false;
  round_began_ = now;
  moving_ = 0;
}

void Rounds::end_round(std::uint64_t now) {
  const auto time = static_cast<double>(now - round_began_);
  const bool first = resumed_;
  resumed_ = false;
  if (!compares_with_others()) {
    if (of_look_ == 0) ++until_look_; // else the look goes on
    return;
  }
  if (of_look_ == 0) {
    const bool is_like_others = !first && (moved_ || usual_ == Way::home);
    if (is_like_others && until_look_ < std::min(between_, k_compared)) usually_.add(time);
    return;
  }
  // The way home is not its own. Where memory moves, the round before left it as none of these do.
  if (tried_ == Way::home)
    tried_times_.add(time - std::min(time, static_cast<double>(moving_)));
  else if (of_look_ == 1)
    return;
  else
    tried_times_.add(time);
  of_look_ = 0;
  const unsigned looks = tried_times_.count;
  decide();
  // The first finds memory elsewhere and does not count. Not always as many: other work may come
  // each so many rounds.
  until_look_ = between_ + 1 + looks;
}

// Whether as many regions ended in this round as in most.
bool Rounds::compares_with_others() {
  if (ends_ == usual_ends_) {
    votes_ = std::min(votes_ + 1, k_most_votes);
    return true;
  }
  if (votes_ > 0) {
    --votes_;
  } else { // what was measured is of few
    usual_ends_ = ends_;
    votes_ = 1;
    usually_ = tried_times_ = {};
  }
  return false;
}

void Rounds::decide() {
  const double usually = usually_.mean(), tried = tried_times_.mean();
  // The rounds of a look are too few to tell their own noise.
  const double noise =
      std::max(std::sqrt(usually_.variance() * (1.0 / usually_.count + 1.0 / tried_times_.count)),
               k_least_noise * usually);
  const bool sure = std::abs(usually - tried) > k_sure * noise;
  if (!sure && tried_times_.count < k_most_looks) return;
  time_of(usual_) = usually;
  time_of(tried_) = tried;
  compared_[static_cast<std::size_t>(tried_)] = true;
  if (sure && tried < usually) usual_ = tried_;
  usually_ = tried_times_ = {};
  say();
  choose_next();
}

// Home is compared first, with at_begins. If it is the usual way, the best other one is said.
void Rounds::say() {
  verdict_.known = true;
  verdict_.way = usual_;
  if (usual_ == Way::home) {
    const double between = time_of(Way::between);
    const bool is_best = between > 0 && between < time_of(Way::at_begins);
    verdict_.way = is_best ? Way::between : Way::at_begins;
  }
  verdict_.with = time_of(verdict_.way);
  verdict_.without = time_of(Way::home);
}

void Rounds::choose_next() {
  for (const Way way : {Way::home, Way::between, Way::at_begins})
    if (!compared_[static_cast<std::size_t>(way)]) {
      tried_ = way;
      return;
    }
  verdict_.pays = usual_ != Way::home;
  compare_anew();
  between_ = std::min(between_ * k_again, k_most_between);
}

void Rounds::compare_anew() {
  compared_ = {};
  compared_[static_cast<std::size_t>(usual_)] = true;
  tried_ = usual_ == Way::home ? Way::at_begins : Way::home;
}

} // namespace omptier
