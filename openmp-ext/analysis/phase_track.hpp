// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases of one level below regions, and phases that the program names. By time, a sample lies in
// at most one stretch (in its region up to a barrier, or between two regions) and in at most one
// named phase. Stretches divide regions, named phases divide the run, independently of each other.
// All profiles' phases get common numbers here.
#pragma once

#include "analysis/attribution.hpp"

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace omptier {

class PhaseTable {
public:
  explicit PhaseTable(ProfileSummary& summary) : summary_(summary) {}

  // attributions: where the profile's samples fell, in their order.
  void add(const Profile& profile, Names& names, const std::vector<Attribution>& attributions);
  // Shares of phases, and of sites in them. To be called after all profiles.
  void add_shares();

private:
  struct Sample {
    std::uint32_t stretch, named; // numbers of phases, k_none
    std::uint32_t site;           // as in Attribution
    float weight;
  };
  using Groups = std::vector<std::vector<WeightedSample>>; // one per profile
  // Kind, name, regions, module and offset of each frame.
  using Definition = std::tuple<PhaseSummary::Kind, std::string, std::uint32_t, std::uint32_t,
                                std::vector<std::pair<std::uint32_t, std::uint64_t>>>;
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};

  std::uint32_t number_of(const PhaseSummary& phase);
  std::vector<std::uint32_t> number_stretches(const Profile& profile, Names& names);
  std::vector<std::uint32_t> number_named(const Profile& profile);
  void keep_visits(const Profile& profile, const std::vector<std::uint32_t>& stretches,
                   const std::vector<std::uint32_t>& named);
  void note(std::uint32_t phase, const AccessSample& sample, const Attribution& at);
  void add_shares(std::uint32_t Sample::* level);
  void add_shares_of_sites(std::uint32_t phase, Groups& groups);

  ProfileSummary& summary_;
  std::map<Definition, std::uint32_t> numbers_; // of phases
  std::vector<std::vector<Sample>> runs_;
  std::unordered_map<std::uint64_t, std::uint32_t> parts_; // site and phase: index into by_phase
};

} // namespace omptier
