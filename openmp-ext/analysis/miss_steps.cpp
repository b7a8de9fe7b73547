// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See miss_steps.hpp.
#include "analysis/miss_steps.hpp"

namespace omptier {

void MissSteps::add(std::uint32_t site, std::uint32_t thread, bool store, std::uint64_t address) {
  const std::uint64_t line = address / 64;
  const auto [before, fresh] = last_.try_emplace({site, thread, store}, line);
  const std::uint64_t distance =
      line > before->second ? line - before->second : before->second - line;
  before->second = line;
  if (fresh || distance == 0) return;
  if (site >= distances_.size()) distances_.resize(site + 1);
  Distances& of_site = distances_[site][store ? 1 : 0];
  ++of_site.all;
  for (unsigned step = 2; step <= k_most; ++step)
    of_site.multiples[step] += distance % step == 0 ? 1 : 0;
}

unsigned MissSteps::step_of(const Distances& distances) {
  constexpr std::uint32_t k_enough = 32; // by chance, half of them are multiples of 2
  constexpr double k_nearly_all = 0.8;   // threads may share a stream whose passes differ
  if (distances.all < k_enough) return 1;
  unsigned step = k_most;
  while (step > 1 && distances.multiples[step] < k_nearly_all * distances.all)
    --step;
  return step;
}

StepsOfSite MissSteps::of(std::uint32_t site) const {
  if (site >= distances_.size()) return {};
  return {step_of(distances_[site][0]), step_of(distances_[site][1])};
}

} // namespace omptier
