// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See over_time_json.hpp.
#include "cli/over_time_json.hpp"

#include "analysis/densest.hpp"
#include "analysis/over_time.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

// Seven digits behind the point are enough for a picture, and a third of the file.
template <typename Shares> nlohmann::json rounded(const Shares& shares) {
  constexpr double k_digits = 1e7;
  nlohmann::json list = nlohmann::json::array();
  for (const double share : shares)
    list.push_back(std::round(share * k_digits) / k_digits);
  return list;
}

nlohmann::json live_json(const LiveOverTime& live) {
  nlohmann::json sites = nlohmann::json::array();
  for (const LiveOverTime::OfSite& of : live.sites)
    sites.push_back({{"site", of.site}, {"bytes", of.bytes}});
  return {{"bytes", live.all},
          {"sites", std::move(sites)},
          {"most", {{"at", live.most.time}, {"bytes", live.most.bytes}}}};
}

nlohmann::json ran_json(const std::vector<RanOverTime>& list, const char* of) {
  nlohmann::json json = nlohmann::json::array();
  for (const RanOverTime& ran : list)
    json.push_back({{of, ran.of}, {"parts", rounded(ran.parts)}});
  return json;
}

// Of a step without accesses there is an empty list.
nlohmann::json ranges_json(const AccessesOverTime::OfSite& of) {
  nlohmann::json steps = nlohmann::json::array();
  for (const auto& ranges : of.ranges) {
    bool any = false;
    for (const double share : ranges)
      any = any || share > 0;
    steps.push_back(any ? rounded(ranges) : nlohmann::json::array());
  }
  return steps;
}

nlohmann::json accesses_json(const AccessesOverTime& accesses) {
  nlohmann::json sites = nlohmann::json::array();
  for (const AccessesOverTime::OfSite& of : accesses.sites)
    sites.push_back(
        {{"site", of.site}, {"shares", rounded(of.shares)}, {"ranges", ranges_json(of)}});
  return {{"nanoseconds", accesses.nanoseconds}, {"sites", std::move(sites)}};
}

} // namespace

nlohmann::json over_time_json(const ProfileSummary& summary) {
  return {{"steps", k_time_steps},
          {"profile", summary.drawn},
          {"nanoseconds", drawn_nanoseconds(summary)},
          {"live", live_json(live_over_time(summary))},
          {"regions", ran_json(regions_over_time(summary), "region")},
          {"phases", ran_json(phases_over_time(summary), "phase")},
          {"accesses", accesses_json(summary.accesses_over_time)}};
}

nlohmann::json densest_json(const ProfileSummary& summary) {
  nlohmann::json list = nlohmann::json::array();
  for (const DensestStep& step : densest_first(summary))
    list.push_back({{"site", step.site},
                    {"sites", step.sites},
                    {"bytes", step.bytes},
                    {"samples", step.samples},
                    {"share", step.share.value},
                    {"low", step.share.low},
                    {"high", step.share.high}});
  return list;
}

} // namespace omptier
