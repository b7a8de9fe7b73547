// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether moves for single visits of regions pay, for programs whose regions come in no rounds that
// could tell (rounds.hpp). Moves for a region go on if
//
//   the time they took <= the time they have proved to save, or
//   what all regions' moves took beyond that <= 2 % of the run
//
// The first k_trials visits of a region always move, since nothing can be proved without. Other
// visits, and one in k_look in any case, find memory at home, as far as there is room, and show
// what the region takes then: a run of it with its moves is compared with the last of those. Only
// what is beyond the noise counts as saved, and what was saved before pays for a few moves only:
// the program may change. A region's first visit is left out, since it may touch new pages and
// files.
//
// A visit lasts until another region begins, so that what the program does between regions comes
// in, with moves and without.
//
// Fixed tables, no malloc; the caller gives the time; not for several threads.
#pragma once

#include "migration/times.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptier {

class Visits {
public:
  static constexpr std::uint32_t k_most_regions = 64; // others have no trials, and prove nothing
  static constexpr unsigned k_trials = 4;             // visits
  static constexpr unsigned k_look = 32;              // visits
  static constexpr std::uint32_t k_long = 64;         // runs
  static constexpr double k_part = 0.02;              // of the run

  // Whether memory may move for a region that begins at `now`, in nanoseconds.
  bool may_move(std::uint32_t region, std::uint64_t now);
  enum class Memory : std::uint8_t { moved, at_home, otherwise };
  // A visit begins, behind its moves.
  void begin(std::uint32_t region, std::uint64_t now, Memory memory);
  // The same region runs once more.
  void again() { runs_ += runs_ > 0 ? 1 : 0; }
  // So many runs that it is worth asking again whether memory may move for it.
  bool is_long() const { return runs_ >= k_long; }
  void end(std::uint64_t now);
  // Nanoseconds that the program waited for moves to or from where a region wants memory.
  void spent(std::uint32_t region, std::uint64_t nanoseconds);

  double saved() const { return saved_; } // nanoseconds
  // Visits for which nothing moved because moves had not proved to pay.
  std::uint64_t without_moves() const { return without_moves_; }

private:
  struct Region {
    unsigned visits = 0; // that asked for moves
    bool was_visited = false;
    Times moved, at_home; // of one run
    double runs = 0;      // with moves, not counted as saving yet
    double saved = 0, spent = 0;
    unsigned moves = 0; // that were spent on

    double unproved() const { return spent > saved ? spent - saved : 0; }
  };
  static double saved_in_a_run(const Region& region);
  static void credit(Region& region, double saved);

  std::array<Region, k_most_regions> regions_{};
  std::uint64_t run_began_ = 0, began_ = 0; // the present visit
  std::uint32_t region_ = k_most_regions;
  std::uint32_t runs_ = 0; // of the present visit; 0: there is none
  Memory memory_ = Memory::otherwise;
  double saved_ = 0, unproved_ = 0;
  std::uint64_t without_moves_ = 0;
};

} // namespace omptier
