// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/ranks_text.hpp"

#include "analysis/ranks.hpp"
#include "base/text.hpp"
#include "cli/report_text.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

constexpr std::size_t k_most_ranks = 16; // rows

std::string cell(const std::string& text, std::size_t width) {
  return fitted(text, width, true) + "  ";
}

std::string times_mean(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", factor);
  return factor > 0 ? text : "-";
}

std::string with_rank(const Imbalance& most) {
  const bool even = most.factor < 1.005; // or no weight at all
  return times_mean(most.factor) + (even ? "" : " rank " + std::to_string(most.rank));
}

} // namespace

std::string ranks_text(const ProfileSummary& summary, const ProfileNames& names,
                       std::size_t most_sites) {
  if (summary.ranks.empty()) return "";
  double sum = 0;
  for (const RankSummary& rank : summary.ranks)
    sum += rank.all.weight;
  std::vector<const RankSummary*> shown;
  for (const RankSummary& rank : summary.ranks)
    shown.push_back(&rank);
  std::ranges::stable_sort(shown, [](const RankSummary* a, const RankSummary* b) {
    return a->all.weight > b->all.weight;
  });
  shown.resize(std::min(shown.size(), k_most_ranks));
  std::ranges::sort(shown, {}, &RankSummary::rank);
  const std::string measure = title_of(summary.measure);
  std::string text = "\n" + cell("rank", 6) + cell(measure + "/mean", 13) + cell("most bytes", 10) +
                     cell("run", 9) + "host\n";
  for (const RankSummary* rank : shown)
    text +=
        cell(std::to_string(rank->rank), 6) +
        cell(times_mean(sum > 0 ? rank->all.weight * static_cast<double>(summary.ranks.size()) / sum
                                : 0),
             13) +
        cell(format_size(rank->all.bytes_peak), 10) +
        cell(format_duration(double(rank->nanoseconds)), 9) + rank->host + "\n";
  if (shown.size() < summary.ranks.size())
    text += "  … " + std::to_string(summary.ranks.size() - shown.size()) + " more ranks\n";
  text += "\n" + cell("most " + measure + "/mean", 19) + cell("most bytes/mean", 15) + "object\n";
  for (std::size_t i = 0; i < std::min(most_sites, summary.sites.size()); ++i) {
    const std::vector<RankPart>& parts = summary.sites[i].by_rank;
    text += cell(with_rank(imbalance(summary, parts, false)), 19) +
            cell(with_rank(imbalance(summary, parts, true)), 15) + names.sites[i] + "\n";
  }
  return text;
}

nlohmann::json ranks_json(const ProfileSummary& summary, bool with_sites) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < summary.ranks.size(); ++i) {
    const RankSummary& rank = summary.ranks[i];
    nlohmann::json one = {{"rank", rank.rank},
                          {"host", rank.host},
                          {"profiles", rank.profiles},
                          {"samples", rank.samples},
                          {"nanoseconds", rank.nanoseconds},
                          {"weight", rank.all.weight},
                          {"bytes_peak", rank.all.bytes_peak}};
    if (with_sites) one["sites"] = nlohmann::json::array();
    for (const SiteSummary& site : summary.sites)
      if (with_sites)
        one["sites"].push_back(
            {{"weight", site.by_rank[i].weight}, {"bytes_peak", site.by_rank[i].bytes_peak}});
    list.push_back(std::move(one));
  }
  return list;
}

} // namespace omptier
