// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See timeline.hpp. A round is a window of visits that the visits behind it follow in its cyclic
// order. Of the windows that begin next, the one that most visits follow is taken.
#include "analysis/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

namespace omptier {
namespace {

constexpr std::size_t k_looked_at = 2000; // visits, to choose a window
constexpr std::size_t k_least_rounds = 2;

struct Visit : RegionVisit {
  double time = 0;
  std::uint64_t moves = 0, bytes = 0, at_barriers = 0;
  double moving = 0;
  bool in_place = false, away = false;
};

struct Totals { // of a region
  std::uint64_t seen = 0;
  double seen_time = 0, entries = 0, time = 0;
};

std::vector<Totals> totals_of(const ProfileSummary& summary) {
  std::vector<Totals> list(summary.regions.size());
  for (const RegionVisit& visit : summary.visits) {
    ++list[visit.region].seen;
    list[visit.region].seen_time += static_cast<double>(visit.end - visit.begin);
  }
  for (std::size_t i = 1; i < list.size(); ++i) { // 0 is outside of regions
    const RegionSummary& region = summary.regions[i];
    list[i].entries = static_cast<double>(std::max(region.entries, list[i].seen));
    list[i].time = std::max(static_cast<double>(region.nanoseconds), list[i].seen_time);
  }
  return list;
}

std::vector<Visit> large_visits(const ProfileSummary& summary, const std::vector<Totals>& totals,
                                Timeline& timeline) {
  const double least = k_least_region * static_cast<double>(summary.nanoseconds);
  double seen = 0, entries = 0;
  for (std::uint32_t region = 0; region < totals.size(); ++region) {
    const Totals& all = totals[region];
    if (all.time > 0 && all.time < least) {
      ++timeline.small_regions;
      timeline.in_small_regions += all.time;
    } else if (all.time > 0 && all.seen == 0) {
      timeline.unseen.push_back(region);
    } else if (all.seen > 0) {
      seen += static_cast<double>(all.seen);
      entries += all.entries;
      const double mean = all.time / all.entries;
      if (timeline.shortest_visit <= 0 || mean < timeline.shortest_visit)
        timeline.shortest_visit = mean;
      timeline.is_folded =
          timeline.is_folded && static_cast<double>(all.seen) >= k_enough_seen * all.entries;
    }
  }
  timeline.seen = entries > 0 ? seen / entries : 1;
  std::vector<Visit> visits;
  for (const RegionVisit& visit : summary.visits)
    if (totals[visit.region].time >= least) {
      static_cast<RegionVisit&>(visits.emplace_back()) = visit;
      visits.back().time = static_cast<double>(visit.end - visit.begin);
    }
  return visits;
}

// What moves for a region wanted where.
using Wishes = std::set<std::pair<std::uint32_t, MemoryKind>>;

void add_move(Visit& visit, const MoveSummary& move) {
  if (move.region != visit.region) return;
  ++visit.moves;
  visit.at_barriers += move.at_barrier ? 1 : 0;
  visit.bytes += move.bytes;
  visit.moving += move.seconds * 1e9;
}

// Memory is moved before the visit that it is moved for, maybe while another one still runs, or at
// barriers in it. Where it was at first, its first move says.
void add_moves(std::vector<Visit>& visits, const std::vector<MoveSummary>& moves) {
  std::map<std::uint32_t, Wishes> wishes;   // by region
  std::map<std::uint32_t, MemoryKind> kind; // by site
  for (const MoveSummary& move : moves) {
    if (!move.at_barrier) wishes[move.region].emplace(move.site, move.to);
    kind.emplace(move.site, move.from);
  }
  auto next = moves.begin();
  std::vector<MoveSummary> early; // while the visit before ran
  for (Visit& visit : visits) {
    for (const MoveSummary& move : early)
      add_move(visit, move);
    early.clear();
    for (; next != moves.end() && next->begin <= visit.begin; ++next) {
      kind[next->site] = next->to;
      add_move(visit, *next);
    }
    const Wishes& wished = wishes[visit.region];
    const auto met = std::ranges::count_if(
        wished, [&](const auto& wish) { return kind[wish.first] == wish.second; });
    visit.in_place = !wished.empty() && met == std::ssize(wished);
    visit.away = !wished.empty() && met == 0;
    for (; next != moves.end() && next->begin < visit.end; ++next) {
      kind[next->site] = next->to;
      if (next->at_barrier)
        add_move(visit, *next);
      else
        early.push_back(*next);
    }
  }
}

// Visits that follow a window in its cyclic order, and the place in it of each.
struct CyclicWalk {
  std::vector<std::size_t> places; // counted on through the rounds
  std::size_t length = 0;          // of the window

  std::size_t steps() const { return places.empty() ? 0 : places.back() + 1; }
  std::size_t rounds() const { return (steps() + length - 1) / length; }
  std::size_t missing() const { return steps() - places.size(); }
  // Visits that it explains, less what it says beside them.
  double score() const {
    return static_cast<double>(places.size()) - static_cast<double>(missing() + length);
  }
};

CyclicWalk walk(std::span<const Visit> visits, std::size_t length, std::size_t most) {
  CyclicWalk walk{{}, length};
  std::size_t place = 0;
  for (std::size_t at = 0; at < std::min(visits.size(), most); ++at, ++place) {
    std::size_t skipped = 0;
    while (skipped < length && visits[(place + skipped) % length].region != visits[at].region)
      ++skipped;
    place += skipped;
    if (skipped == length || 3 * (place - at) > place + length) break;
    walk.places.push_back(place);
  }
  return walk;
}

struct Window { // of a round
  std::size_t begin = 0, length = 0;
};

// Length 0: none; the visits before `begin` are single ones.
Window next_rounds(std::span<const Visit> visits) {
  Window best{std::min(visits.size(), k_longest_round)};
  double score = 0;
  for (std::size_t begin = 0; begin < std::min(visits.size(), k_longest_round); ++begin)
    for (std::size_t length = 1; length <= k_longest_round; ++length) {
      const std::span<const Visit> rest = visits.subspan(begin);
      if (k_least_rounds * length > rest.size()) break;
      const CyclicWalk found = walk(rest, length, k_looked_at);
      if (found.rounds() < k_least_rounds || found.score() <= score) continue;
      score = found.score();
      best = {begin, length};
    }
  return best;
}

void add(TimelineStep& step, const Visit& visit) {
  step.region = visit.region;
  step.seen.add(visit.time);
  if (visit.in_place) step.in_place.add(visit.time);
  if (visit.away) step.away.add(visit.time);
  step.moves += visit.moves;
  step.at_barriers += visit.at_barriers;
  step.bytes += visit.bytes;
  step.moving += visit.moving;
}

TimelinePart part_of(std::span<const Visit> visits, const CyclicWalk& walk) {
  TimelinePart part;
  part.begin = visits.front().begin;
  part.end = visits[walk.places.size() - 1].end;
  part.rounds = walk.rounds();
  part.steps.resize(walk.length);
  for (std::size_t i = 0; i < walk.places.size(); ++i)
    add(part.steps[walk.places[i] % walk.length], visits[i]);
  return part;
}

void fold(std::span<const Visit> visits, std::vector<TimelinePart>& parts) {
  while (!visits.empty()) {
    const auto [begin, length] = next_rounds(visits);
    if (length > 0 && begin > 0)
      fold(visits.first(begin), parts);
    else
      for (std::size_t i = 0; i < begin; ++i)
        parts.push_back(part_of(visits.subspan(i), {{0}, 1}));
    visits = visits.subspan(begin);
    if (length == 0) continue;
    const CyclicWalk all = walk(visits, length, visits.size());
    parts.push_back(part_of(visits, all));
    visits = visits.subspan(all.places.size());
  }
}

// A part for each region, in the order of their first visits.
void list_regions(std::span<const Visit> visits, std::vector<TimelinePart>& parts) {
  std::map<std::uint32_t, std::size_t> of_region;
  for (const Visit& visit : visits) {
    const auto [at, is_new] = of_region.emplace(visit.region, parts.size());
    if (is_new) {
      parts.emplace_back().begin = visit.begin;
      parts.back().steps.resize(1);
    }
    TimelinePart& part = parts[at->second];
    part.end = std::max(part.end, visit.end);
    add(part.steps[0], visit);
  }
}

void scale_to_all(Timeline& timeline, const std::vector<Totals>& totals) {
  for (TimelinePart& part : timeline.parts)
    for (TimelineStep& step : part.steps) {
      const Totals& all = totals[step.region];
      step.entries = static_cast<double>(step.seen.count) * all.entries /
                     static_cast<double>(std::max<std::uint64_t>(all.seen, 1));
      step.time = all.seen_time > 0 ? step.seen.sum * all.time / all.seen_time : 0;
    }
}

} // namespace

double Spread::deviation() const {
  return count > 1
             ? std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean() * mean()))
             : 0;
}

Timeline timeline_of(const ProfileSummary& summary) {
  Timeline timeline;
  const std::vector<Totals> totals = totals_of(summary);
  std::vector<Visit> visits = large_visits(summary, totals, timeline);
  add_moves(visits, summary.moves);
  if (timeline.is_folded)
    fold(visits, timeline.parts);
  else
    list_regions(visits, timeline.parts);
  scale_to_all(timeline, totals);
  return timeline;
}

} // namespace omptier
