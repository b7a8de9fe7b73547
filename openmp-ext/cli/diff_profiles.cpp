// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See diff_profiles.hpp. analysis/compare.hpp decides what is a change; here it is printed. What is
// within the noise is called so: its figures stand in the JSON only.
#include "cli/diff_profiles.hpp"

#include "cli/command.hpp"
#include "cli/held_names.hpp"
#include "cli/html_page.hpp"
#include "cli/profile_pairs.hpp"
#include "cli/report_head.hpp"
#include "cli/report_options.hpp"
#include "log/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

constexpr std::size_t k_most_on_page = 400; // of objects, and of regions
constexpr std::size_t k_most_changed = 20, k_most_regions = 10, k_most_unchanged = 3;
constexpr double k_least_region_change = 0.01; // of the longer run, where noise is not known

struct Side {
  std::string path;
  ProfileSummary summary;
  ProfileNames names;
};

struct Compared {
  Side a, b;
  ProfileChanges changes;

  const std::string& name_of(const ObjectChange& object) const {
    return object.b ? b.names.sites[*object.b] : a.names.sites[*object.a];
  }
  const std::string& name_of(const RegionChange& region) const {
    return region.b ? b.names.regions[*region.b] : a.names.regions[*region.a];
  }
  Measure measure() const { return a.summary.measure; }
  double longer_run() const {
    return static_cast<double>(std::max(a.summary.nanoseconds, b.summary.nanoseconds));
  }
};

Parsed<Side> side_of(const std::string& path, bool resolve, Symbols& symbols) {
  auto summary = summarize_with_names(symbols, {path}, Programs::one, resolve);
  if (!summary) return Parsed<Side>::failure(summary.error());
  ProfileNames names = names_of(*summary, symbols);
  return Side{path, std::move(*summary), std::move(names)};
}

// Why they say nothing about each other, in one line; "" if they do.
std::string problem_with(const Side& a, const Side& b, bool force) {
  const std::string &one = a.summary.runs.front().program, &other = b.summary.runs.front().program;
  if (one != other && !force)
    return b.path + " is a profile of " + other + ", " + a.path + " one of " + one +
           ": give profiles of one program, or --force";
  if (a.summary.measure != b.summary.measure)
    return a.path + " measures " + title_of(a.summary.measure) + ", " + b.path + " " +
           title_of(b.summary.measure) + ": record both with the same --events";
  return {};
}

// What a weight of the samples is, as a figure and in words. Exact counts are of bytes.
std::string amount(double value, Measure measure) {
  if (measure == Measure::time) return format_duration(value);
  const auto whole = static_cast<std::uint64_t>(std::llround(value));
  return measure == Measure::accesses ? format_size(whole) : with_separators(whole);
}

const char* what_counts(Measure measure) {
  return measure == Measure::time       ? "thread time"
         : measure == Measure::accesses ? "bytes accessed"
                                        : "misses";
}

std::string signed_amount(double value, Measure measure) {
  return (value < 0 ? "- " : "+ ") + amount(std::abs(value), measure);
}

// "-" of counts, which have no noise.
std::string interval_text(const Estimate& difference, Measure measure) {
  if (difference.low == difference.high) return "-";
  return signed_amount(difference.low, measure) + " to " + signed_amount(difference.high, measure);
}

// "1.24 G".
std::string count_text(double count) {
  const char* unit = " kMGTP";
  for (; count >= 999.5 && unit[1] != 0; ++unit)
    count /= 1000;
  char text[40];
  std::snprintf(text, sizeof text, "%.3g%s%.1s", count, *unit == ' ' ? "" : " ",
                *unit == ' ' ? "" : unit);
  return text;
}

constexpr const char* k_noise = "within noise";

std::string accesses_text(const ObjectChange& object) {
  if (!object.accesses) return "-";
  return object.accesses->is_sure
             ? count_text(object.accesses->a.value) + " > " + count_text(object.accesses->b.value)
             : k_noise;
}

std::string share_text(const FigureChange& share) {
  return share.is_sure ? format_percent(share.a.value) + " > " + format_percent(share.b.value)
                       : k_noise;
}

std::string bytes_text(const ObjectChange& object) {
  if (object.bytes_a == 0 && object.bytes_b == 0) return "-";
  if (object.is_new || object.is_gone || !object.changes_size())
    return format_size(object.is_gone ? object.bytes_a : object.bytes_b);
  return format_size(object.bytes_a) + " > " + format_size(object.bytes_b);
}

double latency_of(const Side& side, const std::optional<std::uint32_t>& site) {
  return site ? side.summary.sites[*site].mean_latency : 0;
}

// Sources say no interval of it: figures, not a change.
std::string latency_text(const Compared& of, const ObjectChange& object) {
  const double a = latency_of(of.a, object.a), b = latency_of(of.b, object.b);
  if (a <= 0 || b <= 0) return "-";
  return format_duration(a) + ", " + format_duration(b);
}

std::vector<std::string> change_cells(const FigureChange& change, Measure measure) {
  if (!change.is_sure) return {k_noise, "-"};
  return {signed_amount(change.difference.value, measure),
          interval_text(change.difference, measure)};
}

TableRow row_of(const Compared& of, const std::string& name, const ObjectChange& object) {
  const Measure measure = of.measure();
  TableRow row{name, object.is_new ? "new" : amount(object.cost.a.value, measure),
               object.is_gone ? "gone" : amount(object.cost.b.value, measure)};
  for (const std::string& cell : change_cells(object.cost, measure))
    row.push_back(cell);
  row.insert(row.end(), {share_text(object.share), accesses_text(object), latency_text(of, object),
                         bytes_text(object)});
  return row;
}

// "3 objects did not change beyond the noise: grid, mesh, keys".
std::string unchanged_text(const Compared& of) {
  std::string named;
  std::size_t count = 0;
  for (const ObjectChange& object : of.changes.objects) {
    if (object.is_sure()) continue;
    if (++count <= k_most_unchanged) named += (count == 1 ? "" : ", ") + of.name_of(object);
  }
  if (count == 0) return "";
  return with_separators(count) + (count == 1 ? " object" : " objects") +
         " did not change beyond the noise: " + named + (count > k_most_unchanged ? ", …" : "") +
         "\n";
}

std::string fitting(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
                    const TextLook& look) {
  const Table made = table(columns, rows, look);
  std::string left_out;
  for (const std::string& title : made.left_out)
    left_out += (left_out.empty() ? "" : ", ") + title;
  return made.text + (left_out.empty() ? "" : "(--json also has " + left_out + ")\n");
}

// "" if none changed.
std::string objects_table(const Compared& of, const TextLook& look) {
  using Align = TableColumn::Align;
  const std::string what = what_counts(of.measure());
  const std::vector<TableColumn> columns = {{"object", Align::left, 0, TableColumn::Cut::middle},
                                            {what + " in A", Align::right},
                                            {"in B", Align::right},
                                            {"change", Align::right},
                                            {"95 %", Align::right, 2},
                                            {"share of it", Align::right, 3},
                                            {"accesses", Align::right, 4},
                                            {"latency", Align::right, 5},
                                            {"most bytes", Align::right, 1}};
  std::vector<TableRow> rows;
  std::size_t more = 0;
  for (const ObjectChange& object : of.changes.objects)
    if (object.is_sure()) {
      if (rows.size() < k_most_changed)
        rows.push_back(row_of(of, of.name_of(object), object));
      else
        ++more;
    }
  if (of.changes.small.is_sure())
    rows.push_back(row_of(of, "small objects (under 4 KiB)", of.changes.small));
  if (of.changes.other.is_sure()) rows.push_back(row_of(of, "everything else", of.changes.other));
  if (rows.empty()) return "";
  std::string text = fitting(columns, rows, look);
  if (more > 0) text += "  … " + with_separators(more) + " more that changed (--json)\n";
  return text;
}

std::string regions_table(const Compared& of, const TextLook& look) {
  using Align = TableColumn::Align;
  const std::vector<TableColumn> columns = {{"region", Align::left, 0, TableColumn::Cut::middle},
                                            {"time in A", Align::right},
                                            {"in B", Align::right},
                                            {"change", Align::right},
                                            {"95 %", Align::right, 2},
                                            {"entries", Align::right, 1}};
  std::vector<TableRow> rows;
  for (const RegionChange& region : of.changes.regions) {
    const FigureChange& time = region.time;
    const double least = k_least_region_change * of.longer_run();
    const bool worth = region.knows_noise ? time.is_sure : std::abs(time.difference.value) >= least;
    if (!worth || rows.size() == k_most_regions) continue;
    TableRow& row = rows.emplace_back(TableRow{of.name_of(region),
                                               region.a ? format_duration(time.a.value) : "new",
                                               region.b ? format_duration(time.b.value) : "gone"});
    for (const std::string& cell : region.knows_noise
                                       ? change_cells(time, Measure::time)
                                       : std::vector<std::string>{"noise not known", "-"})
      row.push_back(cell);
    row.push_back(region.entries_a == region.entries_b ? with_separators(region.entries_b)
                                                       : with_separators(region.entries_a) + " > " +
                                                             with_separators(region.entries_b));
  }
  return rows.empty() ? "" : "\n" + fitting(columns, rows, look);
}

std::string run_text(const Compared& of) {
  const auto a = static_cast<double>(of.a.summary.nanoseconds),
             b = static_cast<double>(of.b.summary.nanoseconds);
  char times[40] = "";
  if (a > 0) std::snprintf(times, sizeof times, ": %.2f times as long", b / a);
  return "The run took " + format_duration(a) + " in A and " + format_duration(b) + " in B" +
         times + ". These are single runs: how much they vary is not known.\n\n";
}

std::string text_of(const Compared& of, const ProfileTextOptions& options) {
  const auto head = [&](const char* letter, const Side& side) {
    return std::string(letter) + ": " + side.path + ": " + report_head(side.summary, options);
  };
  const std::string changed = objects_table(of, options.look());
  return head("A", of.a) + head("B", of.b) + "\n" + run_text(of) +
         (changed.empty() ? "No object changed beyond the noise.\n"
                          : changed + unchanged_text(of)) +
         regions_table(of, options.look());
}

using Json = nlohmann::ordered_json;

Json json_of(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

Json json_of(const FigureChange& change) {
  return {{"a", json_of(change.a)},
          {"b", json_of(change.b)},
          {"difference", json_of(change.difference)},
          {"sure", change.is_sure}};
}

Json number_or_null(const std::optional<std::uint32_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_of(const Compared& of, const std::string& label, const ObjectChange& object) {
  const auto known = [](double latency) { return latency > 0 ? Json(latency) : Json(nullptr); };
  return {{"label", label},
          {"a", number_or_null(object.a)},
          {"b", number_or_null(object.b)},
          {"changed", object.is_sure()},
          {"new", object.is_new},
          {"gone", object.is_gone},
          {"cost", json_of(object.cost)},
          {"share", json_of(object.share)},
          {"accesses", object.accesses ? json_of(*object.accesses) : Json(nullptr)},
          {"latency",
           {{"a", known(latency_of(of.a, object.a))}, {"b", known(latency_of(of.b, object.b))}}},
          {"bytes", {{"a", object.bytes_a}, {"b", object.bytes_b}}}};
}

Json json_of(const Side& side) {
  std::uint64_t bytes = 0;
  double seconds = 0;
  for (const MoveSummary& move : side.summary.moves) {
    bytes += move.bytes;
    seconds += move.seconds;
  }
  const RunRecord& run = side.summary.runs.front();
  return {
      {"file", side.path},
      {"program", run.program},
      {"command_line", run.command_line},
      {"source", run.source},
      {"nanoseconds", side.summary.nanoseconds},
      {"threads", side.summary.threads},
      {"samples", side.summary.samples},
      {"moves", {{"count", side.summary.moves.size()}, {"bytes", bytes}, {"seconds", seconds}}}};
}

Json json_of(const Compared& of) {
  Json objects = Json::array(), regions = Json::array();
  for (const ObjectChange& object : of.changes.objects)
    objects.push_back(json_of(of, of.name_of(object), object));
  for (const RegionChange& region : of.changes.regions)
    regions.push_back({{"label", of.name_of(region)},
                       {"a", number_or_null(region.a)},
                       {"b", number_or_null(region.b)},
                       {"entries", {{"a", region.entries_a}, {"b", region.entries_b}}},
                       {"knows_noise", region.knows_noise},
                       {"time", json_of(region.time)}});
  return {{"version", 1},
          {"measure", title_of(of.a.summary.measure)},
          {"a", json_of(of.a)},
          {"b", json_of(of.b)},
          {"objects", std::move(objects)},
          {"small_objects", json_of(of, "small objects", of.changes.small)},
          {"other", json_of(of, "everything else", of.changes.other)},
          {"regions", std::move(regions)}};
}

// The lists are in order of what changed.
Parsed<std::string> page_of(const Compared& of, const std::string& folder) {
  Json shown = json_of(of);
  shown["objects_sure"] = std::ranges::count_if(
      of.changes.objects, [](const ObjectChange& object) { return object.cost.is_sure; });
  shown["regions_sure"] = std::ranges::count_if(
      of.changes.regions, [](const RegionChange& region) { return region.time.is_sure; });
  for (const char* list : {"objects", "regions"}) {
    const std::size_t all = shown[list].size(), kept = std::min(all, k_most_on_page);
    shown[list].erase(shown[list].begin() + static_cast<std::ptrdiff_t>(kept), shown[list].end());
    shown[std::string(list) + "_left_out"] = all - kept;
  }
  static constexpr std::array k_scripts{"figures.js", "tables.js", "drawing.js", "diff.js"};
  const std::string numbers = shown.dump(-1, ' ', false, Json::error_handler_t::replace);
  return filled_page("diff", k_scripts, in_script(numbers), folder);
}

Parsed<std::string> output_of(const Compared& of, const ProfileDiffArguments& arguments,
                              const ProfileTextOptions& options) {
  if (!arguments.page.empty()) return page_of(of, arguments.pictures);
  return arguments.json ? json_of(of).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                        : text_of(of, options);
}

} // namespace

bool is_profile(const std::string& path) {
  char begin[sizeof k_profile_magic] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin, sizeof begin) && std::memcmp(begin, k_profile_magic, sizeof begin) == 0;
}

int diff_profiles(const ProfileDiffArguments& arguments) {
  if (!arguments.page.empty())
    if (const std::string problem =
            problem_with_page(arguments.page, std::array{arguments.a, arguments.b});
        !problem.empty())
      return fail("diff", 2, "--html: " + problem);
  const Parsed<ProfileTextOptions> options = text_options({});
  if (!options) return fail("diff", 2, options.error());
  Symbols symbols;
  auto a = side_of(arguments.a, arguments.resolve, symbols);
  auto b = side_of(arguments.b, arguments.resolve, symbols);
  for (const auto* side : {&a, &b})
    if (!*side) return fail("diff", 2, side->error());
  if (const std::string why = problem_with(*a, *b, arguments.force); !why.empty())
    return fail("diff", 2, why);
  for (const auto* side : {&a, &b})
    for (const std::string& note : (*side)->summary.notes)
      std::fprintf(stderr, "omptier diff: %s\n", note.c_str());
  const ProfilePlaces in_a = places_of(a->summary, a->names, symbols),
                      in_b = places_of(b->summary, b->names, symbols);
  const bool same_build = !in_a.build.empty() && in_a.build == in_b.build;
  Compared compared{std::move(*a), std::move(*b), {}};
  compared.changes =
      compare(compared.a.summary, compared.b.summary, pairs_of(in_a.sites, in_b.sites, same_build),
              pairs_of(in_a.regions, in_b.regions, same_build));
  const Parsed<std::string> text = output_of(compared, arguments, *options);
  if (!text) return fail("diff", 2, text.error());
  return arguments.page.empty() ? write_file("diff", "-", *text)
                                : write_page("diff", arguments.page, *text);
}

} // namespace omptier
