// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests ask of summaries.
#pragma once

#include "analysis/aggregate.hpp"

#include <gtest/gtest.h>
#include <span>
#include <stdexcept>
#include <string>

inline omptier::ProfileSummary summary_of(std::span<const omptier::Profile> profiles) {
  const omptier::Parsed<omptier::ProfileSummary> summary = omptier::summarize(profiles);
  EXPECT_TRUE(summary) << (summary ? "" : summary.error());
  std::string why_not;
  EXPECT_TRUE(is_consistent(*summary, why_not)) << why_not;
  return *summary;
}

inline omptier::ProfileSummary summary_of(const omptier::Profile& profile) {
  return summary_of({&profile, 1});
}

// By the offset of its innermost frame.
inline const omptier::SiteSummary& site_at(const omptier::ProfileSummary& summary,
                                           std::uint64_t offset) {
  for (const omptier::SiteSummary& site : summary.sites)
    if (site.frames[0].offset == offset) return site;
  throw std::runtime_error("no such site");
}
