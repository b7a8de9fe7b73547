// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many samples of which one is kept, so that a log never passes its largest size however long
// the run: all while the first quarter fills, then half as many for each further sixteenth (what
// would be 512 times the largest size fits), and in the last one each time half of what was left is
// used. Of each group of so many, one is drawn at random and counts for all, so shares stay
// unbiased.
#pragma once

#include <cstdint>

namespace omptier {

class LogBudget {
public:
  static constexpr std::uint64_t k_least = std::uint64_t{1} << 20; // bytes; smaller limits are this

  void start(std::uint64_t limit, std::uint64_t seed) {
    limit_ = limit < k_least ? k_least : limit;
    wanted_ = group_ = 1;
    at_ = chosen_ = 0;
    next_ = limit_ / 4;
    random_ = seed | 1;
  }
  std::uint64_t limit() const { return limit_; }
  // One of so many, from now on.
  std::uint64_t kept_of() const { return wanted_; }

  // True when fewer are kept from now on.
  bool update(std::uint64_t written) {
    const std::uint64_t before = wanted_, part = limit_ / 16;
    while (written >= next_ && wanted_ < k_most) {
      wanted_ *= 2;
      next_ += limit_ - next_ > part ? part : (limit_ - next_) / 2 + 1;
    }
    return wanted_ != before;
  }

  // What the next sample stands for: 0, it is not kept.
  std::uint64_t weight_of_next() {
    if (at_ == group_) {
      at_ = 0;
      group_ = wanted_;
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      chosen_ = random_ % group_;
    }
    return at_++ == chosen_ ? group_ : 0;
  }

private:
  static constexpr std::uint64_t k_most = std::uint64_t{1} << 30;
  std::uint64_t limit_ = ~std::uint64_t{0}, next_ = ~std::uint64_t{0}; // bytes; when fewer are kept
  std::uint64_t wanted_ = 1, group_ = 1;                               // of this group
  std::uint64_t at_ = 0, chosen_ = 0, random_ = 1; // place in the group, and which is kept
};

} // namespace omptier
