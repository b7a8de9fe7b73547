// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether moving pays, by the program's own clock. Programs run their regions in rounds: the same
// sequence again and again. Once a sequence is recognised, a round now and then is run with all
// memory at home, and compared with the rounds before, in which it was moved:
//
//   moving pays  <=>  mean time of a round with its moves < mean time of a round without
//
// A difference below twice the noise of the rounds' times is looked at again, at most
// k_most_looks times; then the means decide. What does not pay ends, and is not tried again. What
// pays is looked at again after k_again times as many rounds. Programs without rounds are moved as
// the plan says. Fixed tables, no clock of its own, nothing to allocate; not for several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

class Rounds {
public:
  static constexpr std::size_t k_most_regions = 32; // of a round: visits of regions
  static constexpr unsigned k_before_look = 2;      // rounds with moves
  static constexpr unsigned k_most_looks = 3;
  static constexpr unsigned k_again = 8;

  // A region that the plan names begins after another one, at `now` in nanoseconds. False: all
  // memory is to be at home while it runs.
  bool begin(std::uint32_t region, std::uint64_t now);
  // Time that moves for this region took, within the round.
  void moved_for(std::uint64_t nanoseconds) { moving_ += nanoseconds; }

  struct Verdict {
    bool known = false, pays = true;
    double with = 0, without = 0; // nanoseconds of a round
  };
  const Verdict& verdict() const { return verdict_; }

private:
  struct Times {
    double sum = 0, squares = 0;
    unsigned count = 0;
    void add(double time) {
      sum += time;
      squares += time * time;
      ++count;
    }
    double mean() const { return count > 0 ? sum / count : 0; }
  };

  bool continues(std::uint32_t region) const;
  void find_period();
  void end_round(std::uint64_t now);
  void choose();
  void decide();
  void lose_period();

  std::array<std::uint32_t, 2 * k_most_regions> last_{}; // a ring of the regions that began
  std::size_t begun_ = 0;
  std::size_t period_ = 0, least_period_ = 1; // regions of a round; 0: none is known
  std::size_t step_ = 0;                      // of the round
  std::uint64_t round_began_ = 0, moving_ = 0;
  bool in_round_ = false, moves_ = true, counts_ = false; // counts: not the first after a look
  unsigned until_look_ = 0, between_ = k_before_look;     // rounds
  Times with_, without_;
  Verdict verdict_;
};

} // namespace omptier
