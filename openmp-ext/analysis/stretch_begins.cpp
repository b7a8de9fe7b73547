// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See stretch_begins.hpp.
#include "analysis/stretch_begins.hpp"

#include <algorithm>
#include <unordered_map>

namespace omptier {
namespace {

using Kind = PhaseSummary::Kind;
using Begin = PhaseSummary::Begin;

constexpr std::uint64_t k_clock = 2000; // nanoseconds between two readings for one event
constexpr double k_known = 0.9;         // of the stretches, at least
constexpr double k_rare = 0.05;         // of their begins: not counted
constexpr double k_sure = 0.8;          // of the time of what begins there

bool is_of_region(const PhaseSummary& phase) {
  return phase.kind == Kind::to_barrier || phase.kind == Kind::to_end;
}

// When regions began, by the thread that met them.
using RegionBegins = std::unordered_map<std::uint32_t, std::vector<std::uint64_t>>;

RegionBegins begins_of_regions(const Profile& profile) {
  RegionBegins begins;
  for (const RegionRecord& record : profile.regions)
    if (record.begin) begins[record.thread].push_back(record.time);
  return begins;
}

// The last one until then; 0: none.
std::uint64_t begun_by(const std::vector<std::uint64_t>& begins, std::uint64_t time) {
  const auto later = std::ranges::upper_bound(begins, time);
  return later != begins.begin() ? *(later - 1) : 0;
}

void count(PhaseSummary& phase, std::uint32_t behind, std::uint64_t nanoseconds) {
  auto known = std::ranges::find(phase.begins, behind, &Begin::behind);
  if (known == phase.begins.end())
    known = phase.begins.insert(known, {behind, 0, 0});
  ++known->count;
  known->nanoseconds += nanoseconds;
}

// Whether two phases are ended by the same barrier: the plan knows it by these frames alone.
bool end_alike(const PhaseSummary& one, const PhaseSummary& other) {
  const auto same = [](const Frame& a, const Frame& b) {
    return a.module == b.module && a.offset == b.offset;
  };
  return one.kind == Kind::to_barrier && other.kind == Kind::to_barrier &&
         std::ranges::equal(one.frames, other.frames, same);
}

// All that was seen to begin at the same place.
Begin all_there(const ProfileSummary& summary, const PhaseSummary& phase, const Begin& begin) {
  Begin all{begin.behind, 0, 0};
  for (const PhaseSummary& other : summary.phases)
    for (const Begin& at : other.begins) {
      const bool region = begin.behind == Begin::k_region;
      const bool here =
          region ? at.behind == Begin::k_region && other.region == phase.region
                 : at.behind != Begin::k_region &&
                       end_alike(summary.phases[at.behind], summary.phases[begin.behind]);
      if (!here) continue;
      all.count += at.count;
      all.nanoseconds += at.nanoseconds;
    }
  return all;
}

// By time: a short stretch at a region's end, behind the barrier of its loop, changes nothing.
bool mostly_this(const Begin& begin, const Begin& all) {
  return static_cast<double>(begin.nanoseconds) >= k_sure * static_cast<double>(all.nanoseconds);
}

} // namespace

void count_begins(const Profile& profile, const std::vector<std::uint32_t>& numbers,
                  std::vector<PhaseSummary>& phases) {
  struct Last {
    std::uint64_t end = 0;
    std::uint32_t phase = 0;
  };
  std::unordered_map<std::uint32_t, Last> last_of_thread;
  RegionBegins region_begins = begins_of_regions(profile);
  for (const StretchRecord& stretch : profile.stretches) {
    const std::uint32_t number = numbers[stretch.stretch];
    PhaseSummary& phase = phases[number];
    if (!is_of_region(phase)) continue;
    const std::uint64_t begin = stretch.end - stretch.nanoseconds;
    const std::uint64_t gap = stretch.nanoseconds / 20 + k_clock;
    const std::uint64_t run = begun_by(region_begins[stretch.thread], begin + k_clock);
    Last& last = last_of_thread[stretch.thread];
    const bool in_same_run = last.end > run && phases[last.phase].region == phase.region &&
                             phases[last.phase].kind == Kind::to_barrier;
    ++phase.logged;
    if (last.end != 0 && in_same_run && begin <= last.end + gap)
      count(phase, last.phase, stretch.nanoseconds);
    else if (run != 0 && (last.end == 0 || last.end <= run) && begin <= run + gap)
      count(phase, Begin::k_region, stretch.nanoseconds);
    last = {stretch.end, number};
  }
}

std::optional<Beginning> beginning_of(const ProfileSummary& summary, std::uint32_t number) {
  const PhaseSummary& phase = summary.phases[number];
  if (!is_of_region(phase) || phase.region == 0) return {};
  double known = 0;
  for (const Begin& begin : phase.begins)
    known += static_cast<double>(begin.count);
  if (!(known > 0) || known < k_known * static_cast<double>(phase.logged)) return {};
  Beginning found;
  double anew = 0;
  for (const Begin& begin : phase.begins) {
    const bool rare = static_cast<double>(begin.count) < k_rare * known;
    const Begin all = rare ? begin : all_there(summary, phase, begin);
    if (begin.behind != number) anew += static_cast<double>(all.count);
    if (rare) continue;
    if (!mostly_this(begin, all)) return {};
    if (begin.behind == Begin::k_region)
      found.at_region = true;
    else
      found.barriers.push_back(begin.behind);
  }
  found.anew = anew / known;
  return found;
}

} // namespace omptier
