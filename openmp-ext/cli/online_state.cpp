// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See online_state.hpp. A look may be killed at any time, so files are written anew and renamed.
#include "cli/online_state.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace omptier {

using nlohmann::json;

static void to_json(json& to, const RegionPace& pace) {
  to = {pace.entries, pace.nanoseconds};
}
static void from_json(const json& from, RegionPace& pace) {
  from.at(0).get_to(pace.entries);
  from.at(1).get_to(pace.nanoseconds);
}
static void to_json(json& to, const OnlineMove& move) {
  to = {move.address, move.bytes, move.from};
}
static void from_json(const json& from, OnlineMove& move) {
  from.at(0).get_to(move.address);
  from.at(1).get_to(move.bytes);
  from.at(2).get_to(move.from);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OnlineState, moved_into, seconds, changes, looks_since, expected,
                                   pace, undone, refused, moves, before, at_change, settled)

std::optional<OnlineState> read_state(const OnlineFiles& files) {
  std::ifstream in(files.state());
  if (!in) return {};
  return json::parse(in).get<OnlineState>();
}

bool write_whole(const std::string& file, const std::string& text) {
  const std::string fresh = file + ".new";
  std::ofstream out(fresh);
  out << text;
  out.close();
  if (out && std::rename(fresh.c_str(), file.c_str()) == 0) return true;
  std::remove(fresh.c_str());
  return false;
}

bool write_state(const OnlineFiles& files, const OnlineState& state) {
  return write_whole(files.state(), json(state).dump());
}

namespace {

RegionPace since(const RegionPaces& then, const std::string& region, const RegionPace& now) {
  const auto at = then.find(region);
  if (at == then.end()) return now;
  return {now.entries - std::min(at->second.entries, now.entries),
          now.nanoseconds - std::min(at->second.nanoseconds, now.nanoseconds)};
}

} // namespace

double pace_since_change(const OnlineState& state, const RegionPaces& now) {
  constexpr double k_least = 0.5e9;            // nanoseconds of regions, to compare them
  constexpr std::uint64_t k_least_entries = 3; // of each
  double took = 0, would_take = 0;
  for (const auto& [region, settled] : state.settled) {
    const auto changed = state.at_change.find(region), at = now.find(region);
    if (changed == state.at_change.end() || at == now.end()) continue;
    const RegionPace before = since(state.before, region, changed->second);
    const RegionPace after = since(state.settled, region, at->second);
    if (std::min(before.entries, after.entries) < k_least_entries) continue;
    took += double(after.nanoseconds);
    would_take += double(after.entries) * double(before.nanoseconds) / double(before.entries);
  }
  return std::min(took, would_take) >= k_least ? took / would_take : 0;
}

} // namespace omptier
