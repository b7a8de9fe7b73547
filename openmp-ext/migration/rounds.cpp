// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See rounds.hpp.
#include "migration/rounds.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr double k_least_noise = 0.005; // of a round
constexpr double k_sure = 2;            // times the noise
constexpr unsigned k_compared = 4;      // rounds before a look: earlier ones may be of other work

} // namespace

bool Rounds::begin(std::uint32_t region, std::uint64_t now) {
  if (period_ != 0 && !continues(region)) lose_period();
  if (period_ != 0 && step_ == 0) {
    end_round(now);
    choose();
    in_round_ = true;
    round_began_ = now;
    moving_ = 0;
  }
  last_[begun_++ % last_.size()] = region;
  if (period_ != 0)
    step_ = (step_ + 1) % period_;
  else
    find_period();
  return moves_;
}

bool Rounds::continues(std::uint32_t region) const {
  return last_[(begun_ - period_) % last_.size()] == region;
}

// The shortest sequence that has just run twice.
void Rounds::find_period() {
  for (std::size_t period = least_period_; period <= std::min(begun_ / 2, k_most_regions);
       ++period) {
    const auto back = [&](std::size_t n) { return last_[(begun_ - n) % last_.size()]; };
    std::size_t same = 1;
    while (same <= period && back(same) == back(same + period))
      ++same;
    if (same <= period) continue;
    period_ = period;
    step_ = 0;
    counts_ = true;
    until_look_ = between_;
    return;
  }
}

// It was part of a longer one, or the program goes on to something else.
void Rounds::lose_period() {
  least_period_ = period_ + 1;
  period_ = step_ = 0;
  in_round_ = false;
  with_ = without_ = {};
  moves_ = verdict_.pays;
}

void Rounds::end_round(std::uint64_t now) {
  if (!in_round_) return;
  const auto time = static_cast<double>(now - round_began_);
  if (moves_ && counts_ && until_look_ < k_compared) with_.add(time);
  if (moves_) {
    counts_ = true;
    return;
  }
  if (!verdict_.pays) return;
  without_.add(time - std::min(time, static_cast<double>(moving_))); // the way home is not its own
  decide();
  until_look_ = between_ + 1;
}

void Rounds::choose() {
  moves_ = verdict_.pays && until_look_ > 0;
  if (moves_) {
    --until_look_;
    return;
  }
  counts_ = false; // the round after it finds memory at home
}

void Rounds::decide() {
  const double with = with_.mean(), without = without_.mean();
  const double variance =
      with_.count > 1 ? std::max(0.0, with_.squares / with_.count - with * with) : 0;
  const double noise = std::max(std::sqrt(variance * (1.0 / with_.count + 1.0 / without_.count)),
                                k_least_noise * with);
  const bool sure = std::abs(with - without) > k_sure * noise;
  if (!sure && without_.count < k_most_looks) return;
  verdict_ = {true, with < without, with, without};
  between_ *= k_again;
  with_ = without_ = {};
}

} // namespace omptier
