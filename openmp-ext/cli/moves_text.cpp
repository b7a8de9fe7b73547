// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See moves_text.hpp.
#include "cli/moves_text.hpp"

#include "base/text.hpp"
#include "cli/report_text.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

namespace omptier {
namespace {

constexpr std::size_t k_most_rows = 20;

struct Row {
  const MoveSummary* first = nullptr;
  std::uint64_t count = 0, bytes = 0, last_begin = 0;
  double seconds = 0;
};

std::vector<Row> rows_of(const ProfileSummary& summary) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool, MemoryKind, MemoryKind>, Row> rows;
  for (const MoveSummary& move : summary.moves) {
    Row& row = rows[{move.site, move.region, move.at_barrier, move.from, move.to}];
    if (row.first == nullptr) row.first = &move;
    ++row.count;
    row.bytes += move.bytes;
    row.seconds += move.seconds;
    row.last_begin = move.begin;
  }
  std::vector<Row> sorted;
  for (const auto& entry : rows)
    sorted.push_back(entry.second);
  std::ranges::stable_sort(sorted, std::greater<>(), &Row::seconds);
  return sorted;
}

std::string line(const std::string& moves, const std::string& way, const std::string& bytes,
                 const std::string& time, const std::string& each, const std::string& first,
                 const std::string& last, const std::string& what) {
  return fitted(moves, 6, true) + "  " + fitted(way, 12) + fitted(bytes, 11, true) +
         fitted(time, 11, true) + fitted(each, 11, true) + fitted(first, 11, true) +
         fitted(last, 11, true) + "  " + what + "\n";
}

std::string text_of(const Row& row, const ProfileNames& names) {
  const MoveSummary& move = *row.first;
  const bool known = move.site != MoveSummary::k_no_site;
  std::string what = known ? names.sites[move.site] : "memory of no recorded object";
  if (move.region != 0)
    what += (move.at_barrier ? " at barriers of " : " for ") + names.regions[move.region];
  return line(std::to_string(row.count),
              std::string(title_of(move.from)) + " > " + std::string(title_of(move.to)),
              format_size(row.bytes), format_duration(row.seconds * 1e9),
              format_duration(row.seconds * 1e9 / static_cast<double>(row.count)),
              format_duration(static_cast<double>(move.begin)),
              format_duration(static_cast<double>(row.last_begin)), what);
}

} // namespace

std::string moves_text(const ProfileSummary& summary, const ProfileNames& names) {
  if (summary.moves.empty()) return "";
  std::string text =
      "\n" + line("moves", "from > to", "bytes", "time", "each", "first at", "last at", "object");
  const std::vector<Row> rows = rows_of(summary);
  for (std::size_t i = 0; i < std::min(rows.size(), k_most_rows); ++i)
    text += text_of(rows[i], names);
  if (rows.size() > k_most_rows)
    text += "  and " + std::to_string(rows.size() - k_most_rows) + " more rows\n";
  return text;
}

nlohmann::json moves_json(const ProfileSummary& summary) {
  nlohmann::json list = nlohmann::json::array();
  for (const MoveSummary& move : summary.moves) {
    nlohmann::json one = {{"begin", move.begin},          {"bytes", move.bytes},
                          {"from", name_of(move.from)},   {"to", name_of(move.to)},
                          {"seconds", move.seconds},      {"region", move.region},
                          {"at_barrier", move.at_barrier}};
    if (move.site != MoveSummary::k_no_site) one["site"] = move.site;
    list.push_back(std::move(one));
  }
  return list;
}

nlohmann::json all_moves_json(const ProfileSummary& summary) {
  std::uint64_t bytes = 0;
  double seconds = 0;
  for (const MoveSummary& move : summary.moves) {
    bytes += move.bytes;
    seconds += move.seconds;
  }
  return {{"count", summary.moves.size()}, {"bytes", bytes}, {"seconds", seconds}};
}

} // namespace omptier
