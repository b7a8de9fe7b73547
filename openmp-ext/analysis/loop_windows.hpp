// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the emulated windows of a profile's loops have in common. Windows of one region that show
// the same instructions are of one nest: a loop in a loop, functions that it calls. A window is
// often shorter than an iteration of its nest, so all of a nest's windows together say what the
// nest accesses for each access of a stream.
#pragma once

#include "log/reader.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace omptier {

// Of a sample: the region, and when its run began; or the time between two.
struct RegionRun {
  std::uint64_t begin = 0;
  std::uint32_t region = 0;
};

// What loads and what stores, of an instruction that does both, are two streams.
struct LoopStream {
  double step = 0;           // bytes, the mean of an instruction's accesses
  double beside = 0;         // bytes that its windows show for each of its accesses
  double bytes = 0;          // that the nest accesses for each of its accesses
  double relative_error = 0; // of step and bytes: half of the 95 % interval
  double seen = 0;           // part of the nest's windows
};

class LoopWindows {
public:
  // runs: of each sample.
  LoopWindows(const Profile& profile, std::span<const RegionRun> runs);

  // Of each sample: 0 = in no loop, or in none that was emulated.
  const std::vector<std::uint32_t>& nests() const { return nests_; }
  // Nothing if the instruction is no stream, or no regular one.
  std::optional<LoopStream> stream(std::uint32_t nest, const LoggedPattern& pattern) const;

private:
  struct Sums {                                    // over windows
    double windows = 0, accesses = 0, squares = 0; // squares: of accesses
    double products = 0;                           // of accesses and the window's bytes
    // Of those with a regular step: of accesses, bytes, (accesses, their squares) times steps.
    double regular = 0, regular_accesses = 0, regular_squares = 0, beside = 0;
    double steps = 0, square_steps = 0, squared_steps = 0;
  };
  struct NestSums {
    double windows = 0, bytes = 0, squares = 0;
  };
  struct Instruction {
    std::uint32_t nest = 0;
    std::uint64_t pc = 0;
    bool stores = false;
    auto operator<=>(const Instruction&) const = default;
  };
  void number_nests(const Profile& profile, std::span<const RegionRun> runs);
  void add(std::uint32_t nest, std::span<const LoggedPattern> window);
  static double error_of(const Sums& sums, const NestSums& nest);

  std::vector<std::uint32_t> nests_;
  std::map<Instruction, Sums> streams_;
  std::map<std::uint32_t, NestSums> of_nest_;
};

// The patterns of a sample.
inline std::span<const LoggedPattern> window_of(const Profile& profile,
                                                const LoggedSample& sample) {
  return std::span(profile.patterns).subspan(sample.first_pattern, sample.patterns);
}

} // namespace omptier
