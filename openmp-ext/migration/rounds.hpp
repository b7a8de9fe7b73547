// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether moves per region pay, measured while the program runs. Programs run their regions in
// rounds: the same sequence again and again. Once a sequence is recognised, a round now and then is
// a look: all memory is at home, where the plan has it outside of these regions. It is compared
// with the rounds before, in which memory moved:
//
//   moves pay  <=>  mean time of a round with its moves < mean time of a round without
//
// While the difference is below twice the noise, there are further looks, at most k_most_looks in a
// row. What surely does not pay ends, and is not tried again; everything else goes on and is looked
// at again after k_again times as many rounds. Without rounds, memory moves as the plan says. Fixed
// tables, no malloc; the caller gives the time; not for several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

class Rounds {
public:
  static constexpr std::size_t k_most_regions = 32; // of a round: visits of regions
  static constexpr unsigned k_before_look = 2;      // rounds with moves before the first look
  static constexpr unsigned k_most_looks = 3;
  static constexpr unsigned k_again = 8;

  // A region that the plan names begins after another one, at `now` in nanoseconds. False: all
  // memory is to be at home while it runs.
  bool begin(std::uint32_t region, std::uint64_t now);
  // Memory was moved for this region, within the round. Rounds without any are not compared.
  void moved_for(std::uint64_t nanoseconds) {
    moving_ += nanoseconds;
    moved_ = true;
  }

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
    double mean() const { return sum / count; }
  };

  std::uint32_t ago(std::size_t visits) const { return last_[(begun_ - visits) % last_.size()]; }
  void find_period();
  void lose_period();
  void begin_round(std::uint64_t now);
  void end_round(std::uint64_t now);
  void decide();

  std::array<std::uint32_t, 2 * k_most_regions> last_{}; // a ring of the regions that began
  std::size_t begun_ = 0;
  std::size_t period_ = 0, least_period_ = 1; // regions of a round; 0: none is known
  std::size_t step_ = 0;                      // of the round
  std::uint64_t round_began_ = 0, moving_ = 0;
  unsigned rounds_ = 0; // of this period that have begun
  bool moves_ = true, moved_ = false;
  unsigned until_look_ = 0, between_ = k_before_look;     // rounds
  Times with_, without_;
  Verdict verdict_;
};

} // namespace omptier
