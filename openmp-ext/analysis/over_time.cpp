// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See over_time.hpp.
#include "analysis/over_time.hpp"

#include "analysis/attribution.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace omptier {
namespace {

// Steps are [k, k + 1) × nanoseconds / k_time_steps; the last one includes the end.
class Steps {
public:
  explicit Steps(std::uint64_t nanoseconds)
      : width_(std::max(1.0, static_cast<double>(nanoseconds) / double{k_time_steps})) {}

  std::size_t of(std::uint64_t time) const {
    return std::min(static_cast<std::size_t>(static_cast<double>(time) / width_), k_time_steps - 1);
  }
  double begin(std::size_t step) const { return static_cast<double>(step) * width_; }
  double width() const { return width_; }

private:
  double width_;
};

// The numbers of the `most` heaviest, heaviest first; those without weight are left out.
template <typename Weights>
std::vector<std::uint32_t> heaviest(const Weights& weights, std::size_t most) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) order.push_back(i);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) { return weights[i]; });
  order.resize(std::min(order.size(), most));
  return order;
}

struct LiveChange { // of live bytes
  std::uint64_t time = 0;
  std::int64_t bytes = 0;
};

const std::vector<LiveStep>& live_of(const ProfileSummary& summary, std::size_t site) {
  return summary.drawn_live.empty() ? summary.sites[site].live : summary.drawn_live[site];
}

std::vector<LiveChange> changes_of(const ProfileSummary& summary) {
  std::vector<LiveChange> changes;
  for (std::size_t site = 0; site < summary.sites.size(); ++site) {
    std::uint64_t before = 0;
    for (const LiveStep& step : live_of(summary, site)) {
      changes.push_back({step.time, static_cast<std::int64_t>(step.bytes - before)});
      before = step.bytes;
    }
  }
  std::ranges::sort(changes, {}, &LiveChange::time);
  return changes;
}

// The moment of each step at which most bytes are live, and how many.
std::array<LiveStep, k_time_steps> fullest_moments(const ProfileSummary& summary) {
  const Steps steps(drawn_nanoseconds(summary));
  const std::vector<LiveChange> changes = changes_of(summary);
  std::array<LiveStep, k_time_steps> moments;
  std::uint64_t live = 0;
  std::size_t next = 0;
  const auto take_moment = [&](std::uint64_t now) { // all changes up to it, which are one
    for (; next < changes.size() && changes[next].time <= now; ++next)
      live += static_cast<std::uint64_t>(changes[next].bytes);
    return LiveStep{now, live};
  };
  for (std::size_t step = 0; step < k_time_steps; ++step) {
    moments[step] = take_moment(static_cast<std::uint64_t>(steps.begin(step)));
    while (next < changes.size() && steps.of(changes[next].time) == step)
      if (const LiveStep moment = take_moment(changes[next].time);
          moment.bytes > moments[step].bytes)
        moments[step] = moment;
  }
  return moments;
}

std::uint64_t live_at(const std::vector<LiveStep>& live, std::uint64_t time) {
  const auto behind = std::ranges::upper_bound(live, time, {}, &LiveStep::time);
  return behind == live.begin() ? 0 : std::prev(behind)->bytes;
}

class RanTable {
public:
  RanTable(const ProfileSummary& summary, std::size_t numbers)
      : steps_(drawn_nanoseconds(summary)), times_(numbers) {}

  void add(std::uint32_t number, std::uint64_t begin, std::uint64_t end) {
    if (number >= times_.size() || end <= begin) return;
    times_[number] += static_cast<double>(end - begin);
    std::array<double, k_time_steps>& parts = parts_[number];
    for (std::size_t step = steps_.of(begin); step <= steps_.of(end); ++step) {
      const double from = std::max(static_cast<double>(begin), steps_.begin(step));
      const double to = std::min(static_cast<double>(end), steps_.begin(step) + steps_.width());
      parts[step] += std::max(0.0, to - from) / steps_.width();
    }
  }

  std::vector<RanOverTime> longest() {
    std::vector<std::uint32_t> order = heaviest(times_, k_ran_most);
    std::ranges::sort(order);
    std::vector<RanOverTime> list;
    for (const std::uint32_t number : order) {
      RanOverTime& ran = list.emplace_back(RanOverTime{number, parts_[number]});
      for (double& part : ran.parts)
        part = std::min(part, 1.0); // visits of several call stacks may overlap by rounding
    }
    return list;
  }

private:
  Steps steps_;
  std::vector<double> times_;
  std::map<std::uint32_t, std::array<double, k_time_steps>> parts_;
};

} // namespace

AccessesOverTime accesses_over_time(const Profile& profile,
                                    std::span<const Attribution> attributions) {
  const std::uint64_t start = std::min(profile.run.start_time, profile.last_time);
  AccessesOverTime accesses{profile.last_time - start, {}};
  std::map<std::uint32_t, double> weights; // by site
  double all = 0;
  for (const Attribution& at : attributions) {
    all += double{at.weight};
    if (at.site < k_small_objects) weights[at.site] += double{at.weight};
  }
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [site, weight] : weights)
    order.emplace_back(-weight, site);
  std::ranges::sort(order);
  order.resize(std::min(order.size(), AccessesOverTime::k_sites));
  std::map<std::uint32_t, std::size_t> places; // of a site in the list
  for (const auto& [weight, site] : order) {
    places[site] = accesses.sites.size();
    accesses.sites.emplace_back().site = site;
  }
  const Steps steps(accesses.nanoseconds);
  for (std::size_t i = 0; i < attributions.size(); ++i) {
    const Attribution& at = attributions[i];
    const auto place = places.find(at.site);
    if (place == places.end()) continue;
    AccessesOverTime::OfSite& site = accesses.sites[place->second];
    const std::uint64_t time = std::max(profile.samples[i].time, start) - start;
    const double share = double{at.weight} / all;
    const std::size_t step = steps.of(time);
    site.shares[step] += share;
    if (at.position < 0) continue;
    constexpr std::size_t k_last = AccessesOverTime::k_ranges - 1;
    const auto range = static_cast<std::size_t>(double{at.position} * (k_last + 1));
    site.ranges[step][std::min(range, k_last)] += share;
  }
  return accesses;
}

std::uint64_t drawn_nanoseconds(const ProfileSummary& summary) {
  const std::uint64_t known = summary.accesses_over_time.nanoseconds;
  return known > 0 ? known : summary.nanoseconds;
}

LiveOverTime live_over_time(const ProfileSummary& summary) {
  LiveOverTime live;
  const auto moments = fullest_moments(summary);
  std::vector<std::uint64_t> peaks;
  for (std::size_t site = 0; site < summary.sites.size(); ++site) {
    std::uint64_t& peak = peaks.emplace_back();
    for (const LiveStep& step : live_of(summary, site))
      peak = std::max(peak, step.bytes);
  }
  for (const std::uint32_t site : heaviest(peaks, k_live_sites))
    live.sites.emplace_back().site = site;
  for (std::size_t step = 0; step < k_time_steps; ++step) {
    live.all[step] = moments[step].bytes;
    if (moments[step].bytes > live.most.bytes) live.most = moments[step];
    for (LiveOverTime::OfSite& of : live.sites)
      of.bytes[step] = live_at(live_of(summary, of.site), moments[step].time);
  }
  return live;
}

std::vector<RanOverTime> regions_over_time(const ProfileSummary& summary) {
  RanTable table(summary, summary.regions.size());
  for (const RegionVisit& visit : summary.visits)
    table.add(visit.region, visit.begin, visit.end);
  return table.longest();
}

std::vector<RanOverTime> phases_over_time(const ProfileSummary& summary) {
  RanTable table(summary, summary.phases.size());
  for (const PhaseVisit& visit : summary.phase_visits)
    if (summary.phases[visit.phase].kind == PhaseSummary::Kind::named)
      table.add(visit.phase, visit.begin, visit.end);
  return table.longest();
}

} // namespace omptier
