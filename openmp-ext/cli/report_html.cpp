// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report_html.hpp. Of a profile with very many objects the page has those with the largest
// shares and the largest ones, so that it opens quickly. The numbers of objects, regions and phases
// stay: one that is left out is null.
#include "cli/report_html.hpp"

#include "cli/html_page.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace omptier {
namespace {

constexpr std::size_t k_most_sites = 400, k_least_sites = 25;
constexpr std::size_t k_most_bytes = 3u << 20; // of the numbers; the library has one more
constexpr std::size_t k_most_items = 16;       // of each list of an object
constexpr std::size_t k_most_parts = 200;      // regions, and phases
constexpr std::size_t k_pictured_parts = 8;    // of them, against objects
constexpr std::size_t k_most_moves = 400, k_most_functions = 60, k_most_notes = 40;
constexpr std::size_t k_most_letters = 200; // of a text, where the page is too large

using ReportJson = nlohmann::json;

void shorten(ReportJson& of, const char* list, std::size_t most) {
  const auto found = of.find(list);
  if (found == of.end() || found->size() <= most) return;
  found->erase(found->begin() + static_cast<std::ptrdiff_t>(most), found->end());
}

// The numbers of a list by a member, the largest first; of equal ones the first.
std::vector<std::size_t> largest_first(const ReportJson& list, const char* of) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!list[i].is_null()) order.push_back(i);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return list[i][of].get<double>(); });
  return order;
}

std::set<std::size_t> largest(const ReportJson& list, const char* of, std::size_t most) {
  std::vector<std::size_t> order = largest_first(list, of);
  order.resize(std::min(order.size(), most));
  return {order.begin(), order.end()};
}

void keep(ReportJson& list, const std::set<std::size_t>& shown) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!shown.contains(i)) list[i] = nullptr;
}

void add_drawn(std::set<std::size_t>& shown, const ReportJson& drawn, const char* index) {
  for (const ReportJson& of : drawn)
    shown.insert(of[index].get<std::size_t>());
}

// Half of them by share (the order of the list), half by size, and those that are drawn over time.
std::set<std::size_t> shown_sites(const ReportJson& profile, std::size_t most) {
  std::set<std::size_t> shown;
  for (std::size_t i = 0; i < std::min(most / 2, profile["sites"].size()); ++i)
    shown.insert(i);
  for (const std::size_t site : largest_first(profile["sites"], "bytes_peak"))
    if (shown.size() < most) shown.insert(site);
  for (const char* picture : {"live", "accesses"})
    add_drawn(shown, profile["over_time"][picture]["sites"], "site");
  return shown;
}

// The first parts of an object, and those that a picture shows it against.
void shorten_parts(ReportJson& site, const char* list, const char* index,
                   const std::set<std::size_t>& pictured) {
  const auto parts = site.find(list);
  if (parts == site.end()) return;
  ReportJson kept = ReportJson::array();
  for (std::size_t i = 0; i < parts->size(); ++i) {
    ReportJson& part = (*parts)[i];
    part.erase("hot_ranges");
    if (i < k_most_items || pictured.contains(part[index].get<std::size_t>()))
      kept.push_back(std::move(part));
  }
  if (kept.size() < parts->size()) site[std::string("all_") + list] = parts->size();
  *parts = std::move(kept);
}

void shorten_sites(ReportJson& profile) {
  const std::set<std::size_t> regions = largest(profile["regions"], "share", k_pictured_parts);
  const std::set<std::size_t> phases = largest(profile["phases"], "share", k_pictured_parts);
  for (ReportJson& site : profile["sites"]) {
    shorten(site, "frames", k_most_items);
    if (site["lines"].size() > k_most_items) site["all_lines"] = site["lines"].size();
    shorten(site, "lines", k_most_items);
    shorten_parts(site, "regions", "region", regions);
    shorten_parts(site, "phases", "phase", phases);
  }
}

// Most are of runs of many processes, or of code with very many regions.
void shorten_parts_of_run(ReportJson& profile) {
  for (const auto& [parts, index] : {std::pair{"regions", "region"}, {"phases", "phase"}}) {
    ReportJson& list = profile[parts];
    std::set<std::size_t> shown = largest(list, "share", k_most_parts);
    add_drawn(shown, profile["over_time"][parts], index);
    for (const ReportJson& site : profile["sites"])
      if (site.contains(parts)) add_drawn(shown, site[parts], index);
    keep(list, shown);
    for (ReportJson& part : list)
      if (!part.is_null()) part.erase("frames");
  }
}

void keep_largest_moves(ReportJson& moves) { // in their order, which is that of time
  ReportJson kept = ReportJson::array();
  for (const std::size_t i : largest(moves, "bytes", k_most_moves))
    kept.push_back(std::move(moves[i]));
  moves = std::move(kept);
}

void shorten_lists(ReportJson& profile) {
  shorten(profile, "functions", k_most_functions);
  profile["profiles"] = profile["runs"].size();
  profile["drawn_run"] = profile["runs"][profile["over_time"]["profile"].get<std::size_t>()];
  shorten(profile, "runs", 1);
  const std::size_t notes = profile["notes"].size();
  shorten(profile, "notes", k_most_notes);
  if (notes > k_most_notes)
    profile["notes"].push_back("and " + std::to_string(notes - k_most_notes) +
                               " more notes: omptier report prints them");
  shorten_sites(profile);
  keep_largest_moves(profile["moves"]);
}

// In the middle, between letters of UTF-8.
void shorten_texts(ReportJson& of) {
  if (of.is_structured()) {
    for (ReportJson& inside : of)
      shorten_texts(inside);
    return;
  }
  if (!of.is_string() || of.get_ref<const std::string&>().size() <= k_most_letters) return;
  std::string& text = of.get_ref<std::string&>();
  const auto inside = [&](std::size_t at) { return (text[at] & 0xc0) == 0x80; };
  std::size_t begin = k_most_letters / 2, end = text.size() - k_most_letters / 2;
  while (begin > 0 && inside(begin))
    --begin;
  while (end < text.size() && inside(end))
    ++end;
  text = text.substr(0, begin) + "…" + text.substr(end);
}

std::string shown_numbers(ReportJson profile) {
  shorten_lists(profile);
  for (std::size_t most = k_most_sites;; most /= 2) {
    keep(profile["sites"], shown_sites(profile, most));
    shorten_parts_of_run(profile);
    std::string text =
        in_script(profile.dump(-1, ' ', false, ReportJson::error_handler_t::replace));
    if (text.size() <= k_most_bytes || most <= k_least_sites) return text;
    if (most == k_most_sites) shorten_texts(profile);
  }
}

} // namespace

Parsed<std::string> report_page(ReportJson profile, const std::string& folder) {
  static constexpr std::array k_scripts{"figures.js",  "tables.js",   "drawing.js",
                                        "pictures.js", "treemap.js",  "time.js",
                                        "parts.js",    "sections.js", "page.js"};
  return filled_page("report", k_scripts, shown_numbers(std::move(profile)), folder);
}

} // namespace omptier
