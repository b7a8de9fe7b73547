// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See profile_text.hpp. Columns are aligned by characters, not bytes.
#include "cli/profile_text.hpp"

#include "base/text.hpp"
#include "cli/moves_text.hpp"
#include "cli/ranks_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

std::string with_separators(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string interval(const Share& share, bool utf8) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f%s%.1f", 100 * share.low, utf8 ? "–" : "-",
                100 * share.high);
  return text;
}

// "98/2": loads and stores of a hundred; "-" when the source does not say.
std::string load_store(const AccessWeights& accesses) {
  const double known = accesses.loads() + accesses.stores();
  if (known <= 0) return "-";
  const auto loads = static_cast<int>(std::lround(100 * accesses.loads() / known));
  return std::to_string(loads) + "/" + std::to_string(100 - loads);
}

// "-" for none, too: not every source can say it.
std::string streamed(const AccessWeights& accesses) {
  if (accesses.streamed() <= 0) return "-";
  return std::to_string(std::lround(100 * accesses.streamed() / accesses.total())) + " %";
}

// Of the object's bytes, those that 9 of 10 accesses go to.
std::string hot_part(const OffsetHistogram& offsets) {
  return offsets.empty()
             ? "-"
             : std::to_string(std::lround(100 * fraction_of(offsets.hot_ranges()))) + " %";
}

// Of the samples whose level is known, those that a cache served; "-" where too few are known.
std::string from_cache(const SiteSummary& site) {
  if (site.level_share < 0.1) return "-";
  return std::to_string(std::lround(100 * site.cache_share)) + " %";
}

std::string when(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64] = "";
  if (localtime_r(&time, &parts) != nullptr)
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

using Row = std::vector<std::pair<std::string, int>>;

// One table row: cells with their widths; negative = aligned to the right.
std::string row(const Row& cells) {
  std::string text;
  for (const auto& [cell, width] : cells) {
    if (!text.empty()) text += "  ";
    text += width == 0 ? cell : fitted(cell, static_cast<std::size_t>(std::abs(width)), width < 0);
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text + "\n";
}

// The rows, headed by the first, without the columns that say nothing in any of them.
std::string table(std::vector<Row> rows) {
  for (std::size_t column = rows.front().size(); column-- > 0;)
    if (std::all_of(rows.begin() + 1, rows.end(),
                    [&](const Row& cells) { return cells[column].first == "-"; }))
      for (Row& cells : rows)
        cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(column));
  std::string text;
  for (const Row& cells : rows)
    text += row(cells);
  return text;
}

constexpr unsigned k_bar = 20;

std::string head(const ProfileSummary& summary) {
  const RunRecord& run = summary.runs.front();
  std::string text = run.command_line.empty() ? run.program : run.command_line;
  text += "\n  " + when(run.wall_clock_start) + " on " + run.host + ", process " +
          std::to_string(run.process) + ", " + format_duration(double(summary.nanoseconds)) +
          ", up to " + std::to_string(summary.threads) +
          (summary.threads == 1 ? " thread" : " threads");
  if (summary.runs.size() > 1)
    text += "; " + std::to_string(summary.runs.size()) + " profiles joined, figures of one process";
  text += "\n  " + with_separators(summary.samples) + " samples of " + title_of(summary.measure) +
          ", " + with_separators(summary.samples_lost) + " lost; source " + run.source;
  if (!run.source_description.empty()) text += ": " + run.source_description;
  text += "\n";
  if (summary.samples_waiting > 0)
    text += "  " + with_separators(summary.samples_waiting) + " more (" +
            percent(summary.waiting_share) +
            " of all) fell on threads waiting in the OpenMP runtime and count for no object\n";
  if (summary.samples > 0 && summary.worst_error > 0)
    text += "  intervals are 95 % of the sampling error; the source itself may be off by up to " +
            percent(summary.worst_error) + "\n";
  return text;
}

std::string pattern_text(const ObjectPattern& pattern) {
  if (pattern.kind == PatternKind::strided)
    return "stride " + format_size(static_cast<std::uint64_t>(pattern.stride));
  return name_of(pattern.kind);
}

std::string site_table(const ProfileSummary& summary, const ProfileNames& names,
                       const ProfileTextOptions& options) {
  const bool utf8 = options.utf8;
  std::vector<Row> rows = {{{std::string("share of ") + title_of(summary.measure), k_bar},
                            {"", -7},
                            {"95 %", -11},
                            {"most bytes", -10},
                            {"objects", -9},
                            {"load/store", -10},
                            {"streamed", -8},
                            {"hot part", -8},
                            {"from cache", -10},
                            {"latency", -8},
                            {"accessed", -8},
                            {"pattern", 13},
                            {"object", 0}}};
  const auto line = [&](const Share& share, const std::string& bytes, const std::string& objects,
                        const AccessWeights& accesses, const OffsetHistogram& offsets,
                        const SiteSummary* site, const std::string& name,
                        const Share* accessed = nullptr) {
    const double latency = site != nullptr ? site->mean_latency : 0;
    const bool known = summary.patterns > 0;
    if (site != nullptr) accessed = &site->access_share;
    rows.push_back({{bar(share.value, k_bar, utf8), k_bar},
                    {percent(share.value), -7},
                    {summary.samples > 0 ? interval(share, utf8) : "-", -11},
                    {bytes, -10},
                    {objects, -9},
                    {load_store(accesses), -10},
                    {streamed(accesses), -8},
                    {hot_part(offsets), -8},
                    {site != nullptr ? from_cache(*site) : "-", -10},
                    {latency > 0 ? format_duration(latency) : "-", -8},
                    {known && accessed != nullptr ? percent(accessed->value) : "-", -8},
                    {known && site != nullptr ? pattern_text(site->pattern) : "-", 13},
                    {name, 0}});
  };
  const std::size_t shown = std::min(options.most_sites, summary.sites.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SiteSummary& site = summary.sites[i];
    line(site.share, format_size(site.bytes_peak), with_separators(site.objects), site.accesses,
         site.offsets, &site, names.sites[i]);
  }
  if (shown < summary.sites.size()) {
    Share share;
    AccessWeights accesses;
    std::uint64_t bytes = 0, objects = 0;
    for (std::size_t i = shown; i < summary.sites.size(); ++i) {
      const SiteSummary& site = summary.sites[i];
      share.value += site.share.value;
      share.low += site.share.low;
      share.high += site.share.high;
      accesses += site.accesses;
      bytes += site.bytes_peak;
      objects += site.objects;
    }
    share.high = std::min(share.high, 1.0);
    line(share, format_size(bytes), with_separators(objects), accesses, {}, nullptr,
         std::to_string(summary.sites.size() - shown) + " other sites");
  }
  if (summary.small_objects.objects > 0)
    line(summary.small_share, "-", with_separators(summary.small_objects.objects), summary.small,
         {}, nullptr,
         "small objects (under 4 KiB, " + with_separators(summary.small_sites) +
             " sites; one in 64 is looked at)");
  if (summary.samples > 0)
    line(summary.other_share, "-", "-", summary.other, {}, nullptr,
         "everything else (" + with_separators(summary.outside_objects) +
             " samples in no recorded object, " + with_separators(summary.unknown_address) +
             " without address)",
         &summary.other_access_share);
  return rows.size() > 1 ? table(std::move(rows)) : "";
}

std::string region_table(const ProfileSummary& summary, const ProfileNames& names,
                         const ProfileTextOptions& options) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < summary.regions.size(); ++i)
    if (summary.regions[i].samples > 0 || summary.regions[i].entries > 0) order.push_back(i);
  if (order.size() < 2) return "";
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const RegionSummary &one = summary.regions[a], &other = summary.regions[b];
    return one.share.value != other.share.value ? one.share.value > other.share.value
                                                : one.nanoseconds > other.nanoseconds;
  });
  std::string text = "\n" + row({{"share of " + std::string(title_of(summary.measure)), k_bar},
                                 {"", -7},
                                 {"95 %", -11},
                                 {"time", -10},
                                 {"entries", -9},
                                 {"region: most accessed objects", 0}});
  for (std::size_t i = 0; i < std::min(order.size(), options.most_regions); ++i) {
    const RegionSummary& region = summary.regions[order[i]];
    std::vector<std::pair<double, std::size_t>> hottest;
    for (std::size_t site = 0; site < summary.sites.size(); ++site)
      for (const SiteInRegion& part : summary.sites[site].by_region)
        if (part.region == order[i]) hottest.emplace_back(part.share.value, site);
    std::sort(hottest.rbegin(), hottest.rend());
    std::string name = names.regions[order[i]];
    for (std::size_t k = 0; k < std::min<std::size_t>(3, hottest.size()); ++k)
      name +=
          (k == 0 ? ": " : ", ") + names.sites[hottest[k].second] + " " + percent(hottest[k].first);
    text += row({{bar(region.share.value, k_bar, options.utf8), k_bar},
                 {percent(region.share.value), -7},
                 {summary.samples > 0 ? interval(region.share, options.utf8) : "-", -11},
                 {order[i] == 0 ? "-" : format_duration(double(region.nanoseconds)), -10},
                 {order[i] == 0 ? "-" : with_separators(region.entries), -9},
                 {name, 0}});
  }
  if (order.size() > options.most_regions)
    text += "  … " + std::to_string(order.size() - options.most_regions) + " more regions\n";
  return text;
}

nlohmann::json json_of(const Share& share) {
  return {{"share", share.value}, {"low", share.low}, {"high", share.high}};
}

nlohmann::json json_of(const AccessWeights& accesses) {
  return {{"scattered_load", accesses.scattered_load},
          {"streamed_load", accesses.streamed_load},
          {"scattered_store", accesses.scattered_store},
          {"streamed_store", accesses.streamed_store},
          {"unknown", accesses.unknown}};
}

// The ranges that 9 of 10 accesses go to, hottest first, as fractions of the object.
nlohmann::json json_of(const OffsetHistogram& offsets) {
  nlohmann::json list = nlohmann::json::array();
  for (const HotRange& range : offsets.hot_ranges())
    list.push_back({{"begin", range.begin}, {"end", range.end}, {"share", range.share}});
  return list;
}

nlohmann::json json_of(const std::vector<Frame>& frames, const ProfileSummary& summary,
                       Symbols& symbols) {
  nlohmann::json list = nlohmann::json::array();
  for (const Frame& frame : frames) {
    const ModuleInfo& module = summary.modules[frame.module];
    const ResolvedFrame resolved = symbols.resolve(module, frame.offset);
    nlohmann::json json = {{"module", module.name}, {"offset", frame.offset}};
    if (resolved.known) {
      json["function"] = resolved.portable.function;
      if (!resolved.portable.callee.empty()) json["callee"] = resolved.portable.callee;
      json["ordinal"] = resolved.portable.ordinal;
      if (resolved.portable.calls != 0) json["of"] = resolved.portable.calls;
      if (!resolved.portable.variable.empty()) json["variable"] = resolved.portable.variable;
    }
    if (resolved.portable.line > 0) {
      json["file"] = resolved.portable.file;
      json["line"] = resolved.portable.line;
    }
    for (std::size_t i = 0; i + 1 < resolved.places.size(); ++i)
      json["inlined"].push_back(resolved.places[i].function);
    list.push_back(std::move(json));
  }
  return list;
}

} // namespace

const char* title_of(Measure measure) {
  return measure == Measure::misses ? "misses" : measure == Measure::accesses ? "accesses" : "time";
}

std::string bar(double fraction, unsigned width, bool utf8) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  if (!utf8) return std::string(static_cast<std::size_t>(std::lround(fraction * width)), '#');
  static constexpr const char* k_eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<unsigned>(std::lround(fraction * width * 8));
  std::string text;
  for (unsigned i = 0; i < eighths / 8; ++i)
    text += "█";
  return text + k_eighths[eighths % 8];
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string fitted(const std::string& text, std::size_t columns, bool right_aligned) {
  const std::size_t used = columns_of(text);
  if (used >= columns) return text;
  const std::string blanks(columns - used, ' ');
  return right_aligned ? blanks + text : text + blanks;
}

std::string profile_text(const ProfileSummary& summary, const ProfileNames& names,
                         const ProfileTextOptions& options) {
  std::string text = head(summary) + "\n";
  if (summary.sites.empty())
    text += "no objects were recorded: the program allocated nothing of 4 KiB or more\n";
  text += site_table(summary, names, options);
  text += region_table(summary, names, options);
  text += ranks_text(summary, names, options.most_sites);
  return text + moves_text(summary, names);
}

nlohmann::json profile_json(const ProfileSummary& summary, const ProfileNames& names,
                            Symbols& symbols) {
  nlohmann::json json = {{"version", 1},
                         {"measure", title_of(summary.measure)},
                         {"samples", summary.samples},
                         {"samples_lost", summary.samples_lost},
                         {"samples_waiting", summary.samples_waiting},
                         {"waiting_share", summary.waiting_share},
                         {"samples_without_address", summary.unknown_address},
                         {"samples_without_operand", summary.no_operand},
                         {"samples_outside_objects", summary.outside_objects},
                         {"worst_error", summary.worst_error},
                         {"nanoseconds", summary.nanoseconds},
                         {"threads", summary.threads},
                         {"notes", summary.notes},
                         {"small_objects", json_of(summary.small_share)},
                         {"other", json_of(summary.other_share)},
                         {"other_accesses", json_of(summary.other_access_share)}};
  json["small_objects"]["objects"] = summary.small_objects.objects;
  json["small_objects"]["bytes_total"] = summary.small_objects.bytes;
  json["small_objects"]["sites"] = summary.small_sites;
  json["small_objects"]["samples"] = summary.small_samples;
  for (const RunRecord& run : summary.runs)
    json["runs"].push_back({{"host", run.host},
                            {"program", run.program},
                            {"command_line", run.command_line},
                            {"process", run.process},
                            {"rank", run.rank},
                            {"job", run.job},
                            {"source", run.source},
                            {"source_description", run.source_description},
                            {"wall_clock_start", run.wall_clock_start}});
  json["sites"] = nlohmann::json::array();
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    const SiteSummary& site = summary.sites[i];
    nlohmann::json one = json_of(site.share);
    one["label"] = names.sites[i];
    one["frames"] = json_of(site.frames, summary, symbols);
    one["objects"] = site.objects;
    one["bytes_total"] = site.bytes_total;
    one["bytes_peak"] = site.bytes_peak;
    one["bytes_largest"] = site.bytes_largest;
    one["samples"] = site.samples;
    one["accesses"] = json_of(site.accesses);
    if (summary.patterns > 0) {
      one["access_share"] = json_of(site.access_share);
      one["write_share"] = site.write_share;
      one["pattern"] = name_of(site.pattern.kind);
      one["stride"] = site.pattern.stride;
      one["indirect"] = site.pattern.indirect;
      if (site.through != SiteSummary::k_nothing) one["through"] = names.sites[site.through];
    }
    one["mean_latency"] = site.mean_latency;
    one["cache_share"] = site.cache_share;
    one["level_share"] = site.level_share;
    one["hot_ranges"] = json_of(site.offsets);
    for (const SiteInRegion& part : site.by_region) {
      nlohmann::json region = json_of(part.share);
      region["region"] = part.region;
      region["samples"] = part.samples;
      region["hot_ranges"] = json_of(part.offsets);
      one["regions"].push_back(std::move(region));
    }
    json["sites"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < summary.regions.size(); ++i) {
    const RegionSummary& region = summary.regions[i];
    nlohmann::json one = json_of(region.share);
    one["label"] = names.regions[i];
    one["frames"] = json_of(region.frames, summary, symbols);
    one["entries"] = region.entries;
    one["entered_anew"] = region.entered_anew;
    one["nanoseconds"] = region.nanoseconds;
    one["threads"] = region.threads;
    one["samples"] = region.samples;
    json["regions"].push_back(std::move(one));
  }
  json["ranks"] = ranks_json(summary);
  json["moves"] = moves_json(summary);
  return json;
}

} // namespace omptier
