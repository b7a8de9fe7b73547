// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of `omptier advise`: for people (text) and programs (JSON).
#pragma once

#include "advisor/advice.hpp"
#include "tuning/learned.hpp"

#include <span>
#include <string>

namespace omptier {

// "DRAM 1.00 GiB, HBM 512 MiB (speed estimated)".
std::string kinds_in_words(const std::vector<TierChoice>& tiers);
std::string format_threads(const Threads& threads); // "1 thread", "56 threads"

// "everything in NVM", and whether that is possible.
std::string everything_in_slowest(const Advice& advice);
// "the program is 1.20 times as fast as with everything in NVM". times: "1.20 times".
std::string faster_than_slowest(const Advice& advice, const std::string& times);

// Which site in which memory, and why. alternatives: a further line for each site, or none at all
// (advisor/alternatives.hpp).
std::string placement_text(const Advice& advice, std::span<const std::string> alternatives = {});
std::string region_moves_text(const Advice& advice); // "" if nothing is moved

// A table: predicted time of each strategy over the advice's. "" if none is given.
std::string strategies_text(const Advice& advice, std::span<const StrategyTime> times);

// What the advice rests on, beside itself.
struct AdviceOrigin {
  bool threads_as_recorded = true;
  const Learned* learned = nullptr;    // null: --tuned was not given
  std::span<const std::string> labels; // of the profile's sites
};

// docs/plan-format.md describes it. Bytes, nanoseconds, fractions of 1.
std::string advice_json(const Advice& advice, std::span<const StrategyTime> times,
                        const AdviceOrigin& origin, std::span<const std::string> alternatives = {});

} // namespace omptier
