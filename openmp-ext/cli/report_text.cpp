// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report_text.hpp.
#include "cli/report_text.hpp"

#include "base/text.hpp"
#include "cli/blocks_text.hpp"
#include "cli/loops_text.hpp"
#include "cli/moves_text.hpp"
#include "cli/phases_text.hpp"
#include "cli/ranks_text.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace omptier {
namespace {

// "98/2": percent of loads and stores; "-" where most are not distinguished. Samples of time fall on
// what waits: there the loops around them tell (site, or null).
std::string load_store(const AccessWeights& accesses, const SiteSummary* site, Measure measure) {
  const double known = accesses.loads() + accesses.stores();
  if (known <= 0.5 * accesses.total()) return "-";
  if (measure == Measure::time && (site == nullptr || !site->knows_writes())) return "-";
  const auto loads = static_cast<int>(std::lround(100 * accesses.loads() / known));
  return std::to_string(loads) + "/" + std::to_string(100 - loads);
}

// "54.5 %"; "40-70 %" if it may be off by more than ten points; "-" if that says nothing.
std::string accessed_text(const Share& share, bool utf8) {
  if (share.high - share.low > 0.6) return "-";
  if (std::max(share.high - share.value, share.value - share.low) <= 0.1)
    return format_percent(share.value);
  return std::to_string(std::lround(100 * share.low)) + (utf8 ? "–" : "-") +
         std::to_string(std::lround(100 * share.high)) + " %";
}

// "-" also for none: not every source can detect streams.
std::string streamed(const AccessWeights& accesses) {
  if (accesses.streamed() <= 0) return "-";
  return std::to_string(std::lround(100 * accesses.streamed() / accesses.total())) + " %";
}

// The part of the site's memory that nine tenths of its samples need.
std::string hot_part(const SiteSummary& site) {
  return site.hot_part ? std::to_string(std::lround(100 * *site.hot_part)) + " %" : "-";
}

// The part of the accesses that a cache served; "-" if of too few it is known.
std::string from_cache(const SiteSummary& site) {
  if (site.level_share < 0.1) return "-";
  return std::to_string(std::lround(100 * site.cache.value)) + " %";
}

std::string when(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64] = "";
  if (localtime_r(&time, &parts) != nullptr)
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

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
            format_percent(summary.waiting_share) +
            " of all) fell on threads waiting in the OpenMP runtime, or recording, and count for "
            "no object\n";
  if (summary.samples > 0 && summary.worst_error > 0)
    text += std::string("  intervals are 95 % of the sampling error") +
            (summary.measure == Measure::time ? " and of the source's usual one" : "") +
            "; the source itself may be off by up to " + format_percent(summary.worst_error) + "\n";
  if (summary.patterns > 0 && summary.measure == Measure::time)
    text += "  accessed: by bytes; the pace was measured of loops that take " +
            format_percent(summary.paced) +
            " of the time, that of others is what their accesses let expect\n";
  text += loops_text(summary.loops);
  return text;
}

// "1.24 G"; "> 1.24 G" if the pace of some loops is unknown or hardly known, or a filling may be
// missing; "-" if the pace of most is unknown.
std::string rate_text(const AccessRate& rate) {
  constexpr double k_all = 0.95, k_most = 0.5, k_least = 1000, k_sure = 0.8, k_more = 1.3;
  if (rate.known < k_most || rate.value < k_least) return "-";
  const bool sure = rate.low >= k_sure * rate.value;
  double value = (sure ? rate.value : rate.low) / 1000;
  const char* unit = "kMGT";
  for (; value >= 999.5 && unit[1] != 0; ++unit)
    value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%s%.*f %c", rate.known < k_all || !sure || rate.high > k_more * rate.value ? "> " : "",
                value < 9.995   ? 2
                : value < 99.95 ? 1
                                : 0,
                value, *unit);
  return text;
}

// "indirect (through keys)": by the object that held the indices, without its place in the source.
std::string pattern_text(const SiteSummary& site, const ProfileNames& names) {
  const ObjectPattern& pattern = site.pattern;
  if (pattern.kind == PatternKind::strided)
    return "stride " + format_size(static_cast<std::uint64_t>(pattern.stride));
  if (pattern.kind != PatternKind::random || pattern.indirect < 0.5 ||
      site.through == SiteSummary::k_nothing)
    return name_of(pattern.kind);
  const std::string& name = names.sites[site.through];
  return "indirect (through " + name.substr(0, name.find(" (")) + ")";
}

// At least one sample in a thousand, or a hundredth of the memory; or what is not the program's.
bool is_worth_a_row(const SiteSummary& site, const ProfileSummary& summary) {
  if (site.kind == SiteKind::runtime || summary.samples == 0 || site.share.value >= 0.001) return true;
  std::uint64_t bytes = 0;
  for (const SiteSummary& other : summary.sites)
    bytes += other.bytes_peak;
  return site.bytes_peak >= bytes / 100;
}

class SiteTable {
public:
  SiteTable(const ProfileSummary& summary, const ProfileNames& names,
            const ProfileTextOptions& options)
      : summary_(summary), names_(names), options_(options) {}

  // The table; "" without rows.
  std::string text() {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < summary_.sites.size(); ++i)
      if (i - others.size() >= options_.most_sites || !is_worth_a_row(summary_.sites[i], summary_))
        others.push_back(i);
      else
        add_site(i);
    if (!others.empty()) add_sum(others);
    add_rest();
    if (rows_.empty()) return "";
    std::vector<TableColumn> all = columns();
    int& width = all[k_pattern].width;
    for (const TableRow& cells : rows_)
      width = std::max(width, static_cast<int>(columns_of(cells[k_pattern])));
    return table(all, rows_);
  }

private:
  static constexpr std::size_t k_pattern = 12; // the column whose width is its text's
  std::vector<TableColumn> columns() const {
    return {{std::string("share of ") + title_of(summary_.measure), k_bar},
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
            {"accesses/s", -11},
            {"pattern", 13},
            {"object"}};
  }

  // site: null for a row of several sites.
  void add(const Sampled& row, const std::string& bytes, const std::string& objects,
           const std::string& name, const Share* accessed = nullptr,
           const SiteSummary* site = nullptr) {
    const bool known = summary_.patterns > 0, sized = site != nullptr && has_bytes(site->kind);
    const bool cached = site != nullptr && summary_.measure != Measure::misses;
    const double latency = site != nullptr ? site->mean_latency : 0;
    rows_.push_back({bar(row.share.value, k_bar, options_.utf8), format_percent(row.share.value),
                     summary_.samples > 0 ? interval(row.share, options_.utf8) : "-", bytes,
                     objects, load_store(row.accesses, site, summary_.measure),
                     summary_.measure == Measure::time ? "-" : streamed(row.accesses),
                     sized ? hot_part(*site) : "-", cached ? from_cache(*site) : "-",
                     latency > 0 ? format_duration(latency) : "-",
                     known && accessed != nullptr ? accessed_text(*accessed, options_.utf8) : "-",
                     site != nullptr ? rate_text(site->access_rate) : "-",
                     known && site != nullptr ? pattern_text(*site, names_) : "-", name});
  }

  void add_site(std::size_t number) {
    const SiteSummary& site = summary_.sites[number];
    const bool sized = has_bytes(site.kind), counted = sized || site.kind == SiteKind::stacks;
    add(site, sized ? format_size(site.bytes_peak) : "-",
        counted ? with_separators(site.objects) : "-", names_.sites[number] + growth_text(site),
        &site.access_share, &site);
    for (const BlocksRow& row : block_rows(summary_, site, options_.blocks))
      add(row.sampled, format_size(row.bytes), with_separators(row.blocks), "  " + row.name);
  }

  void add_sum(const std::vector<std::size_t>& sites) {
    SiteSummary sum;
    for (const std::size_t number : sites) {
      const SiteSummary& site = summary_.sites[number];
      sum.share += site.share;
      sum.accesses += site.accesses;
      sum.bytes_peak += site.bytes_peak;
      sum.objects += site.objects;
    }
    add(sum, format_size(sum.bytes_peak), with_separators(sum.objects),
        std::to_string(sites.size()) + (sites.size() == 1 ? " other site" : " other sites"));
  }

  void add_rest() {
    if (summary_.small_objects.objects > 0)
      add(summary_.small, "-", with_separators(summary_.small_objects.objects),
          "small objects (under 4 KiB, " + with_separators(summary_.small_sites) +
              " sites; one in 64 is looked at)");
    if (summary_.samples > 0)
      add(summary_.other, "-", "-",
          "everything else (" + with_separators(summary_.outside_objects) +
              " samples in no recorded object, " + with_separators(summary_.unknown_address) +
              " without address)",
          &summary_.other_access_share);
  }

  const ProfileSummary& summary_;
  const ProfileNames& names_;
  const ProfileTextOptions& options_;
  std::vector<TableRow> rows_;
};

} // namespace

const char* title_of(Measure measure) {
  return measure == Measure::misses ? "misses" : measure == Measure::accesses ? "accesses" : "time";
}

std::string profile_text(const ProfileSummary& summary, const ProfileNames& names,
                         const ProfileTextOptions& options) {
  std::string text = head(summary) + "\n";
  if (summary.sites.empty())
    text += "no objects were recorded: the program allocated nothing of 4 KiB or more\n";
  text += SiteTable(summary, names, options).text();
  text += phases_text(summary, names, options);
  text += ranks_text(summary, names, options.most_sites);
  return text + moves_text(summary, names);
}

} // namespace omptier
