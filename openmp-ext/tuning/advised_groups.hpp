// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The groups that are tuned: the sites of an advice that a plan places, those with the largest
// predicted effect; and what a trial of the search means for them: its room, its time under the
// model, its plan. All parts of a site are one group, and so are sites that the runtime cannot tell
// apart.
#pragma once

#include "advisor/advice.hpp"
#include "tuning/search.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace omptier {

// What the runtime recognises a site by: a static's symbol, and modules with offsets.
using SiteIdentity = std::pair<std::string, std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

class AdvisedGroups {
public:
  // most: groups; the others stay as advised. Both stay valid as long as this.
  AdvisedGroups(const Advice& advice, const ProfileSummary& summary, std::size_t most);

  // Refers to this.
  TuningProblem problem() const;
  const Advice& advice() const { return advice_; }
  std::size_t left_out() const { return left_out_; } // groups beyond the most
  std::vector<std::size_t> tiers_of(const Trial& trial) const; // by the workload's sites

  // As plan_from(); what is moved per region stays so in groups that lie as advised.
  // reason: of a group's entries, by its number; "" = the advice's own.
  Plan plan(const Trial& trial, const std::function<PortableFrame(const Frame&)>& portable,
            const std::function<std::string(std::size_t group)>& reason = {}) const;

private:
  struct Group {
    TuningGroup shown;
    SiteIdentity identity;
    std::vector<std::size_t> demands; // of the workload's sites
    double effect = 0;                // largest change of the predicted time
  };

  bool has_room(const Trial& trial) const;
  double predicted(const Trial& trial) const;
  std::size_t group_of(const SiteIdentity& identity) const; // or their number
  void find_groups();
  void keep_the_largest(std::size_t most);

  const Advice& advice_;
  const ProfileSummary& summary_;
  std::vector<Group> groups_;
  std::size_t left_out_ = 0;
};

} // namespace omptier
