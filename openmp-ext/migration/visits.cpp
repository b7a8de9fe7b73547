// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See visits.hpp.
#include "migration/visits.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace omptier {
namespace {

constexpr unsigned k_least_times = 2;
constexpr unsigned k_most_moved = 32, k_most_at_home = 8; // times that are kept: the last
constexpr double k_ahead = 4;                             // moves that may be paid before

} // namespace

bool Visits::may_move(std::uint32_t region, std::uint64_t now) {
  if (run_began_ == 0) run_began_ = now;
  bool pays = unproved_ <= k_part * static_cast<double>(now - run_began_), is_look = false;
  if (region < k_most_regions) {
    Region& of = regions_[region];
    ++of.visits;
    pays = pays || of.visits <= k_trials || of.spent <= of.saved;
    is_look = of.visits % k_look == 0;
  }
  without_moves_ += pays ? 0 : 1;
  return pays && !is_look;
}

void Visits::begin(std::uint32_t region, std::uint64_t now, Memory memory) {
  region_ = region;
  began_ = now;
  runs_ = 1;
  memory_ = memory;
}

void Visits::end(std::uint64_t now) {
  const std::uint32_t runs = std::exchange(runs_, 0);
  if (runs == 0 || region_ >= k_most_regions || memory_ == Memory::otherwise) return;
  Region& region = regions_[region_];
  if (!std::exchange(region.was_visited, true)) return;
  const bool moved = memory_ == Memory::moved;
  Times& times = moved ? region.moved : region.at_home;
  times.add(static_cast<double>(now - std::min(began_, now)) / runs);
  if (times.count >= (moved ? k_most_moved : k_most_at_home)) {
    times.age();
    if (moved) region.runs = 0;
  }
  if (moved) region.runs += runs;
  const double saved = region.runs * saved_in_a_run(region);
  if (!(saved > 0)) return;
  region.runs = 0;
  unproved_ -= region.unproved();
  credit(region, saved);
  unproved_ += region.unproved();
  saved_ += saved;
}

void Visits::credit(Region& region, double saved) {
  const double ahead = region.moves > 0 ? k_ahead * region.spent / region.moves : 0;
  region.saved = std::min(region.saved + saved, region.spent + ahead);
}

void Visits::spent(std::uint32_t region, std::uint64_t nanoseconds) {
  const auto time = static_cast<double>(nanoseconds);
  if (region >= k_most_regions) {
    unproved_ += time;
    return;
  }
  Region& of = regions_[region];
  unproved_ -= of.unproved();
  of.spent += time;
  ++of.moves;
  unproved_ += of.unproved();
}

double Visits::saved_in_a_run(const Region& region) {
  const Times &moved = region.moved, &home = region.at_home;
  if (moved.count < k_least_times || home.count < k_least_times) return 0;
  // Few times may agree by chance.
  const double variance = std::max(moved.variance(), home.variance());
  const double noise = std::max(std::sqrt(variance * (1.0 / moved.count + 1.0 / home.count)),
                                k_least_noise * home.mean());
  return std::max(0.0, home.mean() - moved.mean() - k_sure * noise);
}

} // namespace omptier
