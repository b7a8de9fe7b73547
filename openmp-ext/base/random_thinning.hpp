// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of each group of a given size, one event is drawn at random and counts for all: sums stay
// unbiased even where the events have a rhythm of their own.
#pragma once

#include <cstdint>

namespace omptier {

class RandomThinning {
public:
  void start(std::uint64_t seed) {
    wanted_ = group_ = 1;
    at_ = chosen_ = 0;
    random_ = seed | 1;
  }
  // The group's size; changes with the next group.
  std::uint64_t kept_of() const { return wanted_; }
  void keep_one_of(std::uint64_t many) { wanted_ = many; }

  // What the next event stands for; 0: it is dropped.
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
  std::uint64_t wanted_ = 1, group_ = 1; // group_: of the present one
  std::uint64_t at_ = 0, chosen_ = 0;    // place in it, and which is kept
  std::uint64_t random_ = 1;
};

} // namespace omptier
