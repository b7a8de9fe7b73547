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
constexpr unsigned k_most_between = 1 << 20; // rounds
constexpr unsigned k_many_rounds = 4;        // of a sequence that is no part of a longer one

} // namespace

bool Rounds::begin(std::uint32_t region, std::uint64_t now) {
  if (!verdict_.pays) return false; // and is not tried again
  if (period_ != 0 && ago(period_) != region) lose_period();
  if (period_ != 0 && step_ == 0) {
    if (rounds_ > 0) end_round(now);
    begin_round(now);
  }
  last_[begun_++ % last_.size()] = region;
  if (period_ != 0)
    step_ = (step_ + 1) % period_;
  else
    find_period();
  return moves_ && verdict_.pays;
}

// The shortest sequence that has just run twice.
void Rounds::find_period() {
  for (std::size_t period = least_period_; period <= std::min(begun_ / 2, k_most_regions);
       ++period) {
    std::size_t same = 1;
    while (same <= period && ago(same) == ago(same + period))
      ++same;
    if (same <= period) continue;
    period_ = period;
    step_ = 0;
    until_look_ = between_;
    return;
  }
}

// It was part of a longer one; or, after many rounds, something else comes in between.
void Rounds::lose_period() {
  least_period_ = rounds_ > k_many_rounds ? 1 : period_ + 1;
  period_ = step_ = 0;
  rounds_ = 0;
  with_ = without_ = {};
  moves_ = true;
}

void Rounds::begin_round(std::uint64_t now) {
  if (until_look_ == 0 && with_.count == 0) until_look_ = between_; // nothing to compare with
  moves_ = until_look_ > 0;
  if (moves_) --until_look_;
  ++rounds_;
  moved_ = false;
  round_began_ = now;
  moving_ = 0;
}

void Rounds::end_round(std::uint64_t now) {
  const auto time = static_cast<double>(now - round_began_);
  if (moves_) {
    if (moved_ && until_look_ < std::min(between_, k_compared)) with_.add(time);
    return;
  }
  without_.add(time - std::min(time, static_cast<double>(moving_))); // the way home is not its own
  decide();
  // The first finds memory at home and does not count. Not always as many: other work may come each
  // so many rounds.
  until_look_ = between_ + 1 + without_.count;
}

void Rounds::decide() {
  const double with = with_.mean(), without = without_.mean();
  // The rounds at home are too few to tell their own noise.
  const double variance = std::max(0.0, with_.squares / with_.count - with * with);
  const double noise = std::max(std::sqrt(variance * (1.0 / with_.count + 1.0 / without_.count)),
                                k_least_noise * with);
  const bool sure = std::abs(with - without) > k_sure * noise;
  if (!sure && without_.count < k_most_looks) return;
  verdict_ = {true, !sure || with < without, with, without};
  between_ = std::min(between_ * k_again, k_most_between);
  with_ = without_ = {};
}

} // namespace omptier
