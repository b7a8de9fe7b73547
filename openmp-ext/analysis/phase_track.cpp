// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See phase_track.hpp. Only stretches with samples are in the log, so counts come from totals.
#include "analysis/phase_track.hpp"

#include "analysis/shares.hpp"
#include "analysis/stretch_begins.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace omptier {
namespace {

using Kind = PhaseSummary::Kind;

// The stretch of its region in which a sample lies. Each region has its own, so nested ones do not
// interfere. If several overlap (a region that different threads begin): the one that ends next.
class StretchAt {
public:
  StretchAt(const Profile& profile, const std::vector<std::uint32_t>& numbers,
            const ProfileSummary& summary) {
    for (const StretchRecord& stretch : profile.stretches) {
      const std::uint32_t number = numbers[stretch.stretch];
      const PhaseSummary& phase = summary.phases[number];
      regions_[phase.kind == Kind::serial ? 0 : phase.region].stretches.push_back(
          {stretch.end - stretch.nanoseconds, stretch.end, number});
    }
    for (auto& [number, region] : regions_)
      std::ranges::stable_sort(region.stretches, {}, &Stretch::begin);
  }

  // none: if the sample lies in no phase. Samples come in order of time.
  std::uint32_t find(std::uint64_t time, std::uint32_t number, std::uint32_t none) {
    const auto at = regions_.find(number);
    if (at == regions_.end()) return none;
    Region& region = at->second;
    for (; region.next < region.stretches.size() && region.stretches[region.next].begin < time;
         ++region.next)
      region.running.push(region.stretches[region.next]);
    while (!region.running.empty() && region.running.top().end < time)
      region.running.pop();
    return region.running.empty() ? none : region.running.top().phase;
  }

private:
  struct Stretch {
    std::uint64_t begin, end;
    std::uint32_t phase;
    bool operator>(const Stretch& other) const { return end > other.end; }
  };
  struct Region {
    std::vector<Stretch> stretches; // by begin
    std::size_t next = 0;
    std::priority_queue<Stretch, std::vector<Stretch>, std::greater<>> running;
  };
  std::unordered_map<std::uint32_t, Region> regions_;
};

} // namespace

std::uint32_t PhaseTable::number_of(const PhaseSummary& phase) {
  Definition definition{phase.kind, phase.name, phase.region, phase.next_region, {}};
  for (const Frame& frame : phase.frames)
    std::get<4>(definition).emplace_back(frame.module, frame.offset);
  const auto [at, fresh] =
      numbers_.emplace(std::move(definition), static_cast<std::uint32_t>(summary_.phases.size()));
  if (fresh) summary_.phases.push_back(phase);
  return at->second;
}

std::vector<std::uint32_t> PhaseTable::number_stretches(const Profile& profile, Names& names) {
  const auto region = [&](std::uint32_t number) {
    return names.region(names.translate(profile, profile.region_definitions[number].frames));
  };
  std::vector<std::uint32_t> numbers;
  for (const StretchDefinition& stretch : profile.stretch_definitions) {
    PhaseSummary phase;
    if (stretch.kind == StretchDefinition::Kind::serial) {
      phase.kind = Kind::serial;
      phase.region = stretch.region > 0 ? region(stretch.region - 1) : 0;
      phase.next_region = stretch.next_region > 0 ? region(stretch.next_region - 1) : 0;
    } else {
      phase.kind =
          stretch.kind == StretchDefinition::Kind::barrier ? Kind::to_barrier : Kind::to_end;
      phase.region = region(stretch.region);
      if (phase.kind == Kind::to_barrier) phase.frames = names.translate(profile, {stretch.frame});
    }
    numbers.push_back(number_of(phase));
    PhaseSummary& all = summary_.phases[numbers.back()];
    all.entries += stretch.entries;
    all.nanoseconds += stretch.nanoseconds;
  }
  return numbers;
}

// One number per phase record; an empty name ends the phase before.
std::vector<std::uint32_t> PhaseTable::number_named(const Profile& profile) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < profile.phases.size(); ++i) {
    const PhaseRecord& record = profile.phases[i];
    numbers.push_back(k_none);
    if (record.name.empty()) continue;
    PhaseSummary phase;
    phase.kind = Kind::named;
    phase.name = record.name;
    numbers.back() = number_of(phase);
    PhaseSummary& all = summary_.phases[numbers.back()];
    const bool again = i > 0 && profile.phases[i - 1].name == record.name;
    all.entries += again ? 0 : 1;
    const std::uint64_t end =
        i + 1 < profile.phases.size() ? profile.phases[i + 1].time : profile.last_time;
    all.nanoseconds += end > record.time ? end - record.time : 0;
  }
  return numbers;
}

void PhaseTable::keep_visits(const Profile& profile, const std::vector<std::uint32_t>& stretches,
                             const std::vector<std::uint32_t>& named) {
  const std::uint64_t start = profile.run.start_time;
  const auto keep = [&](std::uint32_t phase, std::uint64_t begin, std::uint64_t end) {
    begin = std::max(begin, start);
    if (phase != k_none && end >= begin)
      summary_.phase_visits.push_back({phase, begin - start, end - start});
  };
  for (const StretchRecord& stretch : profile.stretches)
    keep(stretches[stretch.stretch], stretch.end - stretch.nanoseconds, stretch.end);
  for (std::size_t i = 0; i < named.size(); ++i)
    keep(named[i], profile.phases[i].time,
         i + 1 < named.size() ? profile.phases[i + 1].time : profile.last_time);
  std::ranges::stable_sort(summary_.phase_visits, {}, &PhaseVisit::begin);
}

void PhaseTable::note(std::uint32_t number, const AccessSample& sample, const Attribution& at) {
  if (number == k_none) return;
  summary_.phases[number].add(sample, double{at.weight});
  if (at.site >= summary_.sites.size()) return;
  std::vector<SitePart>& parts = summary_.sites[at.site].by_phase;
  const auto [known, fresh] = parts_.emplace(std::uint64_t{at.site} << 32 | number,
                                             static_cast<std::uint32_t>(parts.size()));
  if (fresh) parts.emplace_back().of = number;
  SitePart& part = parts[known->second];
  part.add(sample, double{at.weight});
  if (at.position >= 0) part.offsets.add_at(double{at.position}, double{at.weight});
}

void PhaseTable::add(const Profile& profile, Names& names,
                     const std::vector<Attribution>& attributions) {
  const std::vector<std::uint32_t> stretches = number_stretches(profile, names);
  count_begins(profile, stretches, summary_.phases);
  const std::vector<std::uint32_t> named = number_named(profile);
  if (runs_.size() == summary_.drawn) keep_visits(profile, stretches, named);
  std::vector<Sample>& run = runs_.emplace_back();
  StretchAt stretch_at(profile, stretches, summary_);
  std::size_t next_named = 0;
  for (std::size_t i = 0; i < attributions.size(); ++i) {
    const AccessSample& sample = profile.samples[i];
    const Attribution& at = attributions[i];
    while (next_named < named.size() && profile.phases[next_named].time <= sample.time)
      ++next_named;
    run.push_back({stretch_at.find(sample.time, at.region, k_none),
                   next_named > 0 ? named[next_named - 1] : k_none, at.site, at.weight});
    note(run.back().stretch, sample, at);
    note(run.back().named, sample, at);
  }
}

// Shares of all samples; samples in no phase of this level are a group of their own.
void PhaseTable::add_shares(std::uint32_t Sample::* level) {
  const auto none = static_cast<std::uint32_t>(summary_.phases.size());
  double total = 0;
  std::vector<double> weights(none + 1, 0);
  Groups groups;
  std::vector<Groups> inside(none); // of each phase, by site
  for (const std::vector<Sample>& run : runs_) {
    groups.emplace_back();
    for (Groups& phase : inside)
      phase.emplace_back();
    for (const Sample& sample : run) {
      const std::uint32_t phase = std::min(sample.*level, none);
      groups.back().push_back({phase, sample.weight});
      weights[phase] += double{sample.weight};
      total += double{sample.weight};
      if (phase != none) inside[phase].back().push_back({sample.site, sample.weight});
    }
  }
  const std::vector<Interval> intervals = share_intervals(groups, none + 1);
  for (std::uint32_t i = 0; i < none; ++i) {
    const bool named = summary_.phases[i].kind == Kind::named;
    if (named != (level == &Sample::named)) continue;
    summary_.phases[i].share = make_share(share_of(weights[i], total), intervals[i]);
    if (weights[i] > 0) add_shares_of_sites(i, inside[i]);
  }
}

// Only sites with samples in the phase are groups: there may be many sites and many phases.
void PhaseTable::add_shares_of_sites(std::uint32_t phase, Groups& groups) {
  std::map<std::uint32_t, std::uint32_t> numbers; // of groups, by site
  std::vector<double> weights;
  double total = 0;
  for (std::vector<WeightedSample>& run : groups)
    for (WeightedSample& sample : run) {
      const auto [at, fresh] =
          numbers.emplace(sample.group, static_cast<std::uint32_t>(weights.size()));
      if (fresh) weights.push_back(0);
      sample.group = at->second;
      weights[at->second] += double{sample.weight};
      total += double{sample.weight};
    }
  const std::vector<Interval> intervals = share_intervals(groups, weights.size());
  for (const auto& [site, number] : numbers) {
    if (site >= summary_.sites.size()) continue; // in no object
    const auto part = std::ranges::find(summary_.sites[site].by_phase, phase, &SitePart::of);
    part->share = make_share(share_of(weights[number], total), intervals[number]);
  }
}

void PhaseTable::add_shares() {
  if (summary_.phases.empty()) return;
  add_shares(&Sample::stretch);
  add_shares(&Sample::named);
}

} // namespace omptier
