// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether moves per region pay, and when they are best made, measured while the program runs.
// Programs run their regions in rounds: the same sequence again and again. Barriers at which memory
// moves are part of the sequence, and count as regions here. Once a sequence is recognised, a round
// now and then is a look at another way to run it, which is compared with the usual rounds before:
//
//   home        nothing moves: all memory is where the plan has it outside of these regions
//   at_begins   memory moves when a region begins, before its team starts (the first usual way)
//   between     a thread of ours moves it from the end of the region before on
//
// While the difference is below twice the noise, there are further looks, at most k_most_looks in a
// row. A way that is surely faster becomes the usual one. If that is home, and the other ways to
// move are not surely faster than it, moving ends and is not tried again; everything else is looked
// at again after k_again times as many rounds. Without rounds, memory moves at begins.
//
// A sequence of barriers that a region runs through again and again is interrupted where the region
// ends. What was measured then waits until the same sequence comes again, and goes on. Rounds in
// which a region ended behind a barrier, so that the work between regions came in, are not compared
// with those in which none did.
//
// Fixed tables, no malloc; the caller gives the time; not for several threads.
#pragma once

#include "migration/times.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

class Rounds {
public:
  enum class Way : std::uint8_t { home, at_begins, between };

  static constexpr std::size_t k_most_regions = 32; // of a round: visits of regions
  static constexpr unsigned k_before_look = 2;      // usual rounds before the first look
  static constexpr unsigned k_most_looks = 3;
  static constexpr unsigned k_again = 8;

  // A region that the plan names begins after another one, at `now` in nanoseconds. place: in the
  // code, only handed back by next(). at_barrier: it is one. Returns how memory is to move for it.
  Way begin(std::uint32_t region, std::uint64_t now, const void* place = nullptr,
            bool at_barrier = false);
  // The same region begins once more.
  void again() { ++runs_; }
  // An outermost region of the program ends, named or not.
  void region_ended();
  // Memory was moved for this region, within the round; nanoseconds for which the program waited.
  // Usual rounds without any are not compared.
  void moved_for(std::uint64_t nanoseconds) {
    moving_ += nanoseconds;
    moved_ = true;
  }
  struct Next {
    bool known = false;
    std::uint32_t region = 0;
    const void* place = nullptr;
    bool at_barrier = false;
  };
  // What begins once this region has ended, if the sequence goes on. Not known: there is none, or
  // this region may begin again before, which it did as often in the last two rounds.
  Next next() const;
  // Whether a sequence is recognised, so that its rounds tell if moves pay.
  bool are_known() const { return period_ != 0; }

  struct Verdict {
    bool known = false, pays = true;
    double with = 0, without = 0; // nanoseconds of a round; with: the best way to move
    Way way = Way::at_begins;     // that way
  };
  const Verdict& verdict() const { return verdict_; }

private:
  static constexpr std::size_t k_ways = 3;

  struct Visit {
    std::uint32_t region = 0;
    std::uint32_t runs = 0; // one after the other
    const void* place = nullptr;
    bool at_barrier = false;
  };
  struct Sequence { // of regions
    std::array<std::uint32_t, k_most_regions> regions{};
    std::size_t length = 0;
  };

  const Visit& ago(std::size_t visits) const { return last_[(begun_ - visits) % last_.size()]; }
  void find_period();
  void lose_period();
  bool is_that_of(const Sequence& sequence) const;
  void forget_rounds();
  void begin_round(std::uint64_t now);
  void end_round(std::uint64_t now);
  bool compares_with_others();
  void decide();
  void say();
  void choose_next();
  void compare_anew();
  double& time_of(Way way) { return times_[static_cast<std::size_t>(way)]; }

  std::array<Visit, 4 * k_most_regions> last_{}; // a ring of the regions that began
  std::uint32_t runs_ = 0;                       // of the present one
  std::size_t begun_ = 0;
  std::size_t period_ = 0, least_period_ = 1; // regions of a round; 0: none is known
  std::size_t step_ = 0;                      // of the round
  std::uint64_t round_began_ = 0, moving_ = 0;
  unsigned rounds_ = 0;                     // of this period that have begun
  bool in_round_ = false, resumed_ = false; // the round is the first since the sequence came again
  bool moved_ = false;
  Sequence interrupted_; // what was measured is of it, until another one is found
  // Of regions, behind a barrier: in this round, and in those that are compared, which most are.
  unsigned ends_ = 0, usual_ends_ = 0;
  unsigned votes_ = 0; // rounds with so many, less those with other numbers
  Way usual_ = Way::at_begins, tried_ = Way::home, now_ = Way::at_begins;
  std::array<double, k_ways> times_{}; // of a round, when last compared; 0: never
  std::array<bool, k_ways> compared_{false, true, false}; // since the ways were last compared
  unsigned of_look_ = 0;                                  // rounds of the present look that began
  unsigned until_look_ = 0, between_ = k_before_look;     // rounds
  Times usually_, tried_times_;
  Verdict verdict_;
};

} // namespace omptier
