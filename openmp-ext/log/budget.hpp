// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of how many samples one is kept, so that a log of any run stays below its largest size: all while
// the first quarter fills, then half as many for each further sixteenth (512 times the largest size
// would fit), and in the last sixteenth in steps of half the rest (base/random_thinning.hpp).
#pragma once

#include "base/random_thinning.hpp"

#include <cstdint>

namespace omptier {

class LogBudget {
public:
  static constexpr std::uint64_t k_least = std::uint64_t{1} << 20; // bytes; smaller limits are this

  void start(std::uint64_t limit, std::uint64_t seed) {
    limit_ = limit < k_least ? k_least : limit;
    next_ = limit_ / 4;
    samples_.start(seed);
  }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t kept_of() const { return samples_.kept_of(); }

  // True when fewer are kept from now on.
  bool update(std::uint64_t written) {
    const std::uint64_t before = kept_of(), part = limit_ / 16;
    while (written >= next_ && kept_of() < k_most) {
      samples_.keep_one_of(2 * kept_of());
      next_ += limit_ - next_ > part ? part : (limit_ - next_) / 2 + 1;
    }
    return kept_of() != before;
  }

  // What the next sample stands for; 0: it is dropped.
  std::uint64_t weight_of_next() { return samples_.weight_of_next(); }

private:
  static constexpr std::uint64_t k_most = std::uint64_t{1} << 30;
  std::uint64_t limit_ = ~std::uint64_t{0}, next_ = ~std::uint64_t{0}; // bytes; when fewer are kept
  RandomThinning samples_;
};

} // namespace omptier
