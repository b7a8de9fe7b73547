// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See object_columns.hpp. A figure that is not known well enough is "-", never a guess.
#include "cli/object_columns.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace omptier {
namespace {

using Figure = std::optional<double>;

std::string whole_percent(double part) { return std::to_string(std::lround(100 * part)) + " %"; }

std::string bytes_text(const ObjectRow& row, const ReportContext&) {
  return row.bytes ? format_size(*row.bytes) : "-";
}
Figure bytes_figure(const ObjectRow& row, const ReportContext&) {
  return row.bytes ? Figure(static_cast<double>(*row.bytes)) : Figure();
}

std::string blocks_text(const ObjectRow& row, const ReportContext&) {
  return row.blocks ? with_separators(*row.blocks) : "-";
}
Figure blocks_figure(const ObjectRow& row, const ReportContext&) {
  return row.blocks ? Figure(static_cast<double>(*row.blocks)) : Figure();
}

// Stores as a fraction of loads and stores, if most accesses are of known kind. Samples of time
// fall on what waits; the loops around the samples say more.
Figure stores_figure(const ObjectRow& row, const ReportContext& context) {
  const AccessWeights& accesses = row.sampled.accesses;
  const double known = accesses.loads() + accesses.stores();
  if (known <= 0.5 * accesses.total()) return {};
  const bool by_loops = context.summary.measure == Measure::time;
  if (by_loops && (row.site == nullptr || !row.site->knows_writes())) return {};
  return by_loops ? row.site->write_share.value : accesses.written_part();
}
// "98/2": percent of loads and stores.
std::string stores_text(const ObjectRow& row, const ReportContext& context) {
  const Figure stores = stores_figure(row, context);
  if (!stores) return "-";
  const auto loads = static_cast<int>(std::lround(100 * (1 - *stores)));
  return std::to_string(loads) + "/" + std::to_string(100 - loads);
}

Figure accessed_figure(const ObjectRow& row, const ReportContext& context) {
  if (context.summary.patterns == 0 || row.accessed == nullptr) return {};
  return row.accessed->value;
}
// "54.5 %"; "40-70 %" if it may be off by more than ten points; "-" if that says nothing.
std::string accessed_text(const ObjectRow& row, const ReportContext& context) {
  if (!accessed_figure(row, context)) return "-";
  const Share& share = *row.accessed;
  if (share.high - share.low > 0.6) return "-";
  if (std::max(share.high - share.value, share.value - share.low) <= 0.1)
    return format_percent(share.value);
  return std::to_string(std::lround(100 * share.low)) + (context.options.utf8 ? "–" : "-") +
         whole_percent(share.high);
}

// "indirect (through keys)": named after the object that held the indices, without its source line.
std::string kind_text(const SiteSummary& site, PatternKind kind, const ReportContext& context) {
  const ObjectPattern& pattern = site.pattern;
  if (kind == PatternKind::strided && pattern.several) return "several strides";
  if (kind == PatternKind::strided)
    return "stride " + format_size(static_cast<std::uint64_t>(pattern.stride));
  // If there is a second pattern, all indirect accesses may be in its smaller part.
  const double indirect = pattern.also == PatternKind::unknown ? 0.5 : 0.1;
  if (kind != PatternKind::random || pattern.indirect < indirect ||
      site.through == SiteSummary::k_nothing)
    return name_of(kind);
  const std::string& name = context.names.sites[site.through];
  return "indirect (through " + name.substr(0, name.find(" (")) + ")";
}

std::string pattern_text(const ObjectRow& row, const ReportContext& context) {
  if (context.summary.patterns == 0 || row.site == nullptr) return "-";
  const ObjectPattern& pattern = row.site->pattern;
  if (pattern.kind == PatternKind::unknown) return "-";
  if (pattern.mixed && row.site->objects > 1) return "mixed";
  std::string text = kind_text(*row.site, pattern.kind, context);
  if (pattern.also == PatternKind::unknown) return text;
  return text + ", " + kind_text(*row.site, pattern.also, context);
}
Figure pattern_figure(const ObjectRow& row, const ReportContext& context) {
  if (context.summary.patterns == 0 || row.site == nullptr) return {};
  return static_cast<double>(row.site->pattern.kind);
}

Figure hot_figure(const ObjectRow& row, const ReportContext&) {
  if (row.site == nullptr || !has_bytes(row.site->kind)) return {};
  return row.site->hot_part;
}
std::string hot_text(const ObjectRow& row, const ReportContext& context) {
  const Figure hot = hot_figure(row, context);
  return hot ? whole_percent(*hot) : "-";
}

// The part of the accesses that a cache served; unknown if it is known of too few.
Figure cache_figure(const ObjectRow& row, const ReportContext& context) {
  if (row.site == nullptr || context.summary.measure == Measure::misses) return {};
  return row.site->level_share < 0.1 ? Figure() : Figure(row.site->cache.value);
}
std::string cache_text(const ObjectRow& row, const ReportContext& context) {
  const Figure cache = cache_figure(row, context);
  return cache ? whole_percent(*cache) : "-";
}

// None if the pace of most loops is unknown.
Figure rate_figure(const ObjectRow& row, const ReportContext&) {
  constexpr double k_most = 0.5, k_least = 1000;
  if (row.site == nullptr) return {};
  const AccessRate& rate = row.site->access_rate;
  return rate.known < k_most || rate.value < k_least ? Figure() : Figure(rate.value);
}
// "1.24 G"; "> 1.24 G" if a loop's pace is (nearly) unknown, or a filling may be missing.
std::string rate_text(const ObjectRow& row, const ReportContext& context) {
  constexpr double k_all = 0.95, k_sure = 0.8, k_more = 1.3;
  if (!rate_figure(row, context)) return "-";
  const AccessRate& rate = row.site->access_rate;
  const bool sure = rate.low >= k_sure * rate.value;
  const bool whole = sure && rate.known >= k_all && rate.high <= k_more * rate.value;
  double value = (sure ? rate.value : rate.low) / 1000;
  const char* unit = "kMGT";
  for (; value >= 999.5 && unit[1] != 0; ++unit)
    value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%s%.*f %c", whole ? "" : "> ",
                value < 9.995   ? 2
                : value < 99.95 ? 1
                                : 0,
                value, *unit);
  return text;
}

Figure latency_figure(const ObjectRow& row, const ReportContext&) {
  if (row.site == nullptr || !(row.site->mean_latency > 0)) return {};
  return row.site->mean_latency;
}
std::string latency_text(const ObjectRow& row, const ReportContext& context) {
  const Figure latency = latency_figure(row, context);
  return latency ? format_duration(*latency) : "-";
}

// None also if there are no streamed accesses: not every source can detect streams.
Figure streamed_figure(const ObjectRow& row, const ReportContext& context) {
  const AccessWeights& accesses = row.sampled.accesses;
  if (context.summary.measure == Measure::time || accesses.streamed() <= 0) return {};
  return accesses.streamed() / accesses.total();
}
std::string streamed_text(const ObjectRow& row, const ReportContext& context) {
  const Figure streamed = streamed_figure(row, context);
  return streamed ? whole_percent(*streamed) : "-";
}

// The part of the accesses by which the kernel made the object's pages.
Figure first_touch_figure(const ObjectRow& row, const ReportContext&) {
  const double all = row.sampled.accesses.total(), first = row.sampled.first_touch.total();
  return first > 0 && all > 0 ? Figure(first / all) : Figure();
}
std::string first_touch_text(const ObjectRow& row, const ReportContext& context) {
  const Figure first = first_touch_figure(row, context);
  return first ? whole_percent(*first) : "-";
}

constexpr auto k_left = TableColumn::Align::left, k_right = TableColumn::Align::right;
constexpr auto k_whole = TableColumn::Cut::never;
// Reasons for a column with "-" only.
constexpr const char *k_no_block = "nothing was allocated",
                     *k_few_loops = "too few loops around the samples could be followed",
                     *k_few_samples = "too few samples: record longer, or with --rate 1000";
constexpr ObjectColumn k_columns[] = {
    {"bytes", "most bytes", k_right, 1, k_whole, bytes_text, bytes_figure, k_no_block},
    {"blocks", "blocks", k_right, 9, k_whole, blocks_text, blocks_figure, k_no_block},
    {"stores", "load/store", k_right, 3, k_whole, stores_text, stores_figure, k_few_loops},
    {"accessed", "accessed", k_right, 5, k_whole, accessed_text, accessed_figure, k_few_loops},
    {"pattern", "pattern", k_left, 2, TableColumn::Cut::end, pattern_text, pattern_figure,
     k_few_loops},
    {"hot-part", "hot part", k_right, 6, k_whole, hot_text, hot_figure, k_few_samples},
    {"from-cache", "from cache", k_right, 7, k_whole, cache_text, cache_figure,
     "only misses were counted, or too few addresses watched: record longer, or with --rate 1000"},
    {"rate", "accesses/s", k_right, 8, k_whole, rate_text, rate_figure,
     "too few samples for the pace of most loops: record longer, or with --rate 1000"},
    {"latency", "latency", k_right, 7, k_whole, latency_text, latency_figure,
     "the source of the samples measures none"},
    {"streamed", "streamed", k_right, 6, k_whole, streamed_text, streamed_figure,
     "the source of the samples does not show it"},
    {"first-touch", "first touch", k_right, 7, k_whole, first_touch_text, first_touch_figure,
     "the source of the samples does not show the kernel's accesses"},
};

bool is_column(std::string_view name) {
  return std::ranges::find(k_columns, name, &ObjectColumn::name) != std::end(k_columns);
}

std::string all_names() {
  std::string names;
  for (const ObjectColumn& column : k_columns)
    names += (names.empty() ? "" : ", ") + std::string(column.name);
  return names;
}

} // namespace

std::span<const ObjectColumn> object_columns() { return k_columns; }

std::vector<const ObjectColumn*> chosen_columns(const ProfileTextOptions& options) {
  std::vector<const ObjectColumn*> chosen;
  if (options.columns.empty())
    for (const ObjectColumn& column : k_columns)
      chosen.push_back(&column);
  for (const std::string& name : options.columns)
    chosen.push_back(std::ranges::find(k_columns, name, &ObjectColumn::name));
  return chosen;
}

std::string problem_with_columns(const ProfileTextOptions& options) {
  for (const std::string& name : options.columns)
    if (!is_column(name))
      return "--columns: there is no column " + name + "; there are: " + all_names();
  if (options.sort.empty() || options.sort == "share" || options.sort == "object" ||
      is_column(options.sort))
    return "";
  return "--sort: there is no column " + options.sort + "; there are: share, object, " +
         all_names();
}

} // namespace omptier
