// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report_html.hpp. Of a profile with very many objects the page has those with the largest
// shares and the largest ones, so that it opens quickly. The numbers of objects stay: one that is
// left out is null.
#include "cli/report_html.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace omptier {
namespace {

constexpr std::size_t k_most_sites = 400, k_least_sites = 25;
constexpr std::size_t k_most_bytes = 3u << 20; // of the numbers; the library has one more
constexpr std::size_t k_most_parts = 16;       // of each list of an object
constexpr std::size_t k_most_moves = 400, k_most_functions = 60;

void shorten(nlohmann::json& of, const char* list, std::size_t most) {
  const auto found = of.find(list);
  if (found == of.end() || found->size() <= most) return;
  found->erase(found->begin() + static_cast<std::ptrdiff_t>(most), found->end());
}

// Half of them by share (the order of the list), half by size, and those that are drawn over time.
std::set<std::size_t> shown_sites(const nlohmann::json& profile, std::size_t most) {
  const nlohmann::json& sites = profile["sites"];
  std::vector<std::pair<std::uint64_t, std::size_t>> by_bytes;
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (!sites[i].is_null()) by_bytes.emplace_back(~sites[i]["bytes_peak"].get<std::uint64_t>(), i);
  std::set<std::size_t> shown;
  for (std::size_t i = 0; i < std::min(most / 2, sites.size()); ++i)
    shown.insert(i);
  std::ranges::sort(by_bytes);
  for (const auto& [bytes, site] : by_bytes)
    if (shown.size() < most) shown.insert(site);
  for (const char* picture : {"live", "accesses"})
    for (const nlohmann::json& of : profile["over_time"][picture]["sites"])
      shown.insert(of["site"].get<std::size_t>());
  return shown;
}

void keep_sites(nlohmann::json& profile, std::size_t most) {
  const std::set<std::size_t> shown = shown_sites(profile, most);
  for (std::size_t i = 0; i < profile["sites"].size(); ++i)
    if (!shown.contains(i)) profile["sites"][i] = nullptr;
}

// Lists that no picture shows, or only the begin of.
void shorten_lists(nlohmann::json& profile) {
  shorten(profile, "functions", k_most_functions);
  for (nlohmann::json& rank : profile["ranks"])
    rank.erase("sites");
  for (const char* parts : {"regions", "phases"})
    for (nlohmann::json& part : profile[parts])
      part.erase("frames");
  for (nlohmann::json& site : profile["sites"]) {
    for (const char* list : {"blocks", "hot_blocks"})
      site.erase(list);
    for (const char* list : {"frames", "lines", "regions", "phases"})
      shorten(site, list, k_most_parts);
    for (const char* parts : {"regions", "phases"})
      if (site.contains(parts))
        for (nlohmann::json& part : site[parts])
          part.erase("hot_ranges");
  }
}

void keep_largest_moves(nlohmann::json& moves) {
  if (moves.size() <= k_most_moves) return;
  std::vector<std::uint64_t> bytes;
  for (const nlohmann::json& move : moves)
    bytes.push_back(move["bytes"].get<std::uint64_t>());
  std::ranges::sort(bytes, std::greater{});
  nlohmann::json kept = nlohmann::json::array();
  for (nlohmann::json& move : moves)
    if (move["bytes"] >= bytes[k_most_moves] && kept.size() < k_most_moves)
      kept.push_back(std::move(move));
  moves = std::move(kept);
}

// As a script's text: "<" could end the script.
std::string script_text(const nlohmann::json& profile) {
  const std::string text = profile.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  for (const char c : text)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

std::string shown_numbers(nlohmann::json profile) {
  keep_largest_moves(profile["moves"]);
  shorten_lists(profile);
  for (std::size_t most = k_most_sites;; most /= 2) {
    keep_sites(profile, most);
    std::string text = script_text(profile);
    if (text.size() <= k_most_bytes || most <= k_least_sites) return text;
  }
}

bool read(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  return bool(file);
}

} // namespace

Parsed<std::string> report_page(nlohmann::json profile, const std::string& folder) {
  using Result = Parsed<std::string>;
  std::string page, part;
  if (!read(folder + "/page.html", page))
    return Result::failure(folder + "/page.html: cannot be read; reinstall OMPTier");
  // "@@name@@": a file of the folder, or the profile.
  std::string text;
  for (std::size_t at = 0;;) {
    const std::size_t begin = page.find("@@", at);
    text.append(page, at, begin - at);
    if (begin == page.npos) return text;
    const std::size_t end = page.find("@@", begin + 2);
    const std::string name = page.substr(begin + 2, end - begin - 2);
    if (name == "profile")
      text += shown_numbers(std::move(profile));
    else if (read(folder + "/" + name, part))
      text += part;
    else if (name == "vega.js")
      return Result::failure("--html: this build has no library that draws: build again where "
                             "the network is reachable and python3-venv is installed");
    else
      return Result::failure(folder + "/" + name + ": cannot be read; reinstall OMPTier");
    at = end + 2;
  }
}

} // namespace omptier
