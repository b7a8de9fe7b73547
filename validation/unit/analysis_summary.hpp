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

// Arrays of 64 MiB, one a site, at address_of_array(site): samples of time are to be added.
inline std::uint64_t address_of_array(std::uint32_t site) {
  return (site + std::uint64_t{1}) << 27;
}
inline omptier::Profile profile_of_arrays(std::uint32_t arrays) {
  omptier::Profile profile;
  profile.file = "made";
  profile.run.measure = omptier::Measure::time;
  profile.run.rate = 100;
  omptier::ModuleInfo module;
  module.name = module.identity = "app";
  profile.modules.push_back(module);
  for (std::uint32_t site = 0; site < arrays; ++site) {
    profile.sites.push_back({site, {{0, site}}});
    omptier::ObjectRecord object;
    object.object = object.site = site;
    object.address = address_of_array(site);
    object.bytes = std::uint64_t{64} << 20;
    profile.objects.push_back(object);
  }
  return profile;
}

// By the offset of its innermost frame.
inline const omptier::SiteSummary& site_at(const omptier::ProfileSummary& summary,
                                           std::uint64_t offset) {
  for (const omptier::SiteSummary& site : summary.sites)
    if (site.frames[0].offset == offset) return site;
  throw std::runtime_error("no such site");
}
