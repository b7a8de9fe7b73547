// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The single blocks of a site in a report: rows beneath the site's own, and their JSON.
#pragma once

#include "analysis/aggregate.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace omptier {

struct BlocksRow {
  Sampled sampled; // only the share is known
  std::uint64_t bytes = 0, blocks = 0;
  std::string name;
};

// One row for the hot blocks of a site if they are few; with `each` also the hottest blocks one by
// one. None if blocks cannot be told apart.
std::vector<BlocksRow> block_rows(const ProfileSummary& summary, const SiteSummary& site,
                                  bool each);

// How much of a site's peak it needed only for a moment, while it grew; or "".
std::string growth_text(const SiteSummary& site);

// "blocks", "blocks_recorded", "hot_blocks" of a site.
nlohmann::json blocks_json(const ProfileSummary& summary, const SiteSummary& site);

} // namespace omptier
